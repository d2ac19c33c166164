package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"

	"gopkg.in/yaml.v3"
)

// aliasBudget bounds the values that are reached through aliases, so that a
// short file cannot expand into a long one.
const aliasBudget = 10_000

// Decode reads the one YAML document of data into the struct that dst points
// to, and returns every problem of it in the order of the file. File is the
// name that positions carry. What could be read is in dst even where there are
// problems; an empty document leaves dst as it was.
//
// A field takes part when it has a tag `yaml:"key"`; other spellings of the key
// may follow in a tag `alias:"a,b"`. An embedded struct without a tag counts as
// if its fields stood in the struct that embeds it. A field of type Pos is no
// key: it is given the place of the struct itself. Fields may be strings,
// bools, integers, time.Duration ("5m"), structs, and slices, maps with string
// keys, pointers and Values of these; Decode panics at any other type. A
// pointer stays nil and a Value is not Set when the key is absent.
//
// A key without a value is a problem and not an absent key. Numbers and dates
// are taken for strings as they are written; the words true and false are not.
// Merge keys ("<<") are not supported.
func Decode(file string, data []byte, dst any) Problems {
	d := decoder{file: file}
	v := reflect.ValueOf(dst).Elem()
	if root := d.parse(data); root != nil {
		at := d.pos(root)
		d.value(node{root, "", at, at}, v)
	} else if v.Kind() == reflect.Struct {
		fieldsOf(v).place(d.top())
	}
	return d.problems.Sorted()
}

// decoder is the state of one Decode.
type decoder struct {
	file     string
	problems Problems

	aliases int // values reached through aliases so far
	inAlias int // depth of aliases that are being followed
}

// node is a YAML node together with what its parent knows of it.
type node struct {
	*yaml.Node
	key string // the key it belongs to; "" of the document
	at  Pos    // of the key in a mapping, else of the node
	pos Pos    // of the node; of an alias where it stands, not what it stands for
}

// parse returns the content of the only document, or nil when there is none or
// the text is not YAML.
func (d *decoder) parse(data []byte) *yaml.Node {
	in := yaml.NewDecoder(bytes.NewReader(data))
	var first, second yaml.Node
	if err := in.Decode(&first); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		d.syntax(data, err)
		return nil
	}
	if err := in.Decode(&second); err == nil {
		d.problems.Add(d.pos(second.Content[0]), "a second document begins here; a file holds one")
	} else if !errors.Is(err, io.EOF) {
		d.syntax(data, err)
	}
	return first.Content[0]
}

// top is the place of a document that is empty or cannot be read.
func (d *decoder) top() Pos { return Pos{File: d.file, Line: 1, Col: 1} }

func (d *decoder) pos(n *yaml.Node) Pos { return Pos{File: d.file, Line: n.Line, Col: n.Column} }

// unread records that n could not be decoded into a value whose Pos is at, so
// that nothing more needs to be said of that value.
func (d *decoder) unread(n node, at Pos, format string, args ...any) {
	d.problems.Add(n.pos, "%s%s", n.label(), fmt.Sprintf(format, args...))
	d.problems[len(d.problems)-1].unread = at
}

// value stores n in dst, whatever its type.
func (d *decoder) value(n node, dst reflect.Value) {
	if v, ok := dst.Addr().Interface().(positioned); ok {
		content, pos := v.parts()
		*pos = n.pos
		d.value(n, reflect.ValueOf(content).Elem())
		return
	}
	if n.Kind == yaml.AliasNode {
		d.inAlias++
		defer func() { d.inAlias-- }()
		n.Node = n.Alias
	}
	if d.inAlias > 0 {
		if d.aliases++; d.aliases == aliasBudget+1 {
			d.problems.Add(n.at, "aliases expand to more than %d values", aliasBudget)
		}
		if d.aliases > aliasBudget {
			return
		}
	}
	switch dst.Kind() {
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		d.value(n, dst.Elem())
	case reflect.Struct:
		d.structure(n, dst)
	case reflect.Map:
		d.mapping(n, dst)
	case reflect.Slice:
		d.list(n, dst)
	default:
		d.scalar(n, dst)
	}
}

// positioned is implemented by Value.
type positioned interface {
	parts() (content any, pos *Pos)
}

func (v *Value[T]) parts() (any, *Pos) { return &v.V, &v.Pos }

func (d *decoder) list(n node, dst reflect.Value) {
	if !d.expect(n, yaml.SequenceNode, "!!seq", "a list") {
		return
	}
	list := reflect.MakeSlice(dst.Type(), len(n.Content), len(n.Content))
	for i, element := range n.Content {
		at := d.pos(element)
		d.value(node{element, n.key, at, at}, list.Index(i))
	}
	dst.Set(list)
}

func (d *decoder) mapping(n node, dst reflect.Value) {
	if !d.expect(n, yaml.MappingNode, "!!map", "keys with values") {
		return
	}
	m := reflect.MakeMapWithSize(dst.Type(), len(n.Content)/2)
	d.eachKey(n.Node, func(key, value *yaml.Node) {
		v := reflect.New(dst.Type().Elem()).Elem()
		d.value(node{value, key.Value, d.pos(key), d.pos(value)}, v)
		m.SetMapIndex(reflect.ValueOf(key.Value).Convert(dst.Type().Key()), v)
	})
	dst.Set(m)
}

func (d *decoder) structure(n node, dst reflect.Value) {
	fields := fieldsOf(dst)
	fields.place(n.at)
	if n.Kind != yaml.MappingNode || n.ShortTag() != "!!map" {
		d.unread(n, n.at, "expects keys with values, got %s", describe(n.Node))
		return
	}
	given := map[string]*yaml.Node{}
	d.eachKey(n.Node, func(key, value *yaml.Node) {
		f, ok := fields.byKey[key.Value]
		switch {
		case !ok:
			d.problems.Add(d.pos(key), "unknown key %s%s", quote(key.Value), suggest(key.Value, fields.keys))
		case given[f.key] != nil:
			d.problems.Add(d.pos(key), "key %q is given already, as %q in line %d", key.Value, given[f.key].Value, given[f.key].Line)
		default:
			given[f.key] = key
			d.value(node{value, key.Value, d.pos(key), d.pos(value)}, f.value)
		}
	})
}

// eachKey calls do for every key of the mapping n, with aliases among the keys
// followed. A key that comes again is a problem and not handed on.
func (d *decoder) eachKey(n *yaml.Node, do func(key, value *yaml.Node)) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		at := d.pos(n.Content[i])
		line, again := lines[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode:
			d.problems.Add(at, "a key is a single word, got %s", describe(key))
		case key.ShortTag() == "!!merge":
			d.problems.Add(at, "merge keys (<<) are not supported; write the keys out")
		case again:
			d.problems.Add(at, "key %s is given twice, first in line %d", quote(key.Value), line)
		default:
			lines[key.Value] = at.Line
			do(key, n.Content[i+1])
		}
	}
}
