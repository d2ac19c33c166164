package strictyaml

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

var durationType = reflect.TypeFor[time.Duration]()

// scalar stores the single value n in dst.
func (d *decoder) scalar(n node, dst reflect.Value) {
	switch {
	case dst.Type() == durationType:
		d.duration(n, dst)
	case dst.Kind() == reflect.String:
		d.text(n, dst)
	case dst.Kind() == reflect.Bool:
		var b bool
		if d.expect(n, yaml.ScalarNode, "!!bool", "true or false") && d.plain(n, &b, "true or false") {
			dst.SetBool(b)
		}
	case dst.CanInt():
		var i int64
		if !d.expect(n, yaml.ScalarNode, "!!int", "a whole number") || !d.plain(n, &i, "a whole number") {
			return
		}
		if dst.OverflowInt(i) {
			d.unread(n, n.pos, "the number %s is out of range", n.Value)
			return
		}
		dst.SetInt(i)
	case dst.CanUint():
		var u uint64
		const want = "a whole number that is not negative"
		if !d.expect(n, yaml.ScalarNode, "!!int", want) || !d.plain(n, &u, want) {
			return
		}
		if dst.OverflowUint(u) {
			d.unread(n, n.pos, "the number %s is out of range", n.Value)
			return
		}
		dst.SetUint(u)
	default:
		panic(fmt.Sprintf("strictyaml: key %q has the unsupported type %s", n.key, dst.Type()))
	}
}

// plain decodes n into out by the library's own reading of its tag.
func (d *decoder) plain(n node, out any, want string) bool {
	if err := n.Decode(out); err != nil {
		d.unread(n, n.pos, "expects %s, got %s", want, quote(n.Value))
		return false
	}
	return true
}

// text stores a string. A number or a date is taken as it is written: the tag
// 1.20 of an image is "1.20" and not 1.2.
func (d *decoder) text(n node, dst reflect.Value) {
	if n.Kind == yaml.ScalarNode {
		switch n.ShortTag() {
		case "!!str", "!!int", "!!float", "!!timestamp":
			dst.SetString(n.Value)
			return
		case "!!bool":
			d.unread(n, n.pos, "expects text, got the word %s; write %q with quotes if that is meant", n.Value, n.Value)
			return
		}
	}
	d.expect(n, yaml.ScalarNode, "!!str", "text")
}

func (d *decoder) duration(n node, dst reflect.Value) {
	const want = "a duration such as 30s, 5m or 2h"
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		d.expect(n, yaml.ScalarNode, "!!str", want)
		return
	}
	v, err := time.ParseDuration(n.Value)
	if err != nil {
		d.unread(n, n.pos, "expects %s, got %s", want, quote(n.Value))
		return
	}
	dst.SetInt(int64(v))
}

// expect reports whether n is of the kind and has the tag; if not, it records
// what was wanted.
func (d *decoder) expect(n node, kind yaml.Kind, tag, want string) bool {
	if n.Kind == kind && n.ShortTag() == tag {
		return true
	}
	d.unread(n, n.pos, "expects %s, got %s", want, describe(n.Node))
	return false
}

// label returns "key: ", the beginning of a message about n.
func (n node) label() string {
	if n.key == "" {
		return ""
	}
	return strings.Trim(quote(n.key), `"`) + ": "
}

// describe says what n is, for a message.
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.MappingNode:
		return "keys with values"
	case n.Kind == yaml.AliasNode:
		return "the alias *" + n.Value
	case n.ShortTag() == "!!null":
		return "nothing"
	case !strings.HasPrefix(n.ShortTag(), "!!"):
		return "the tag " + quote(n.Tag)
	}
	return quote(n.Value)
}

// quote returns s in quotes, shortened, with control characters escaped.
func quote(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return strconv.Quote(s)
}
