package strictyaml

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

type sample struct {
	Pos Pos
	common
	Version Value[int]                `yaml:"version"`
	Flag    Bool                      `yaml:"flag"`
	Count   uint8                     `yaml:"count"`
	Wait    time.Duration             `yaml:"wait"`
	Words   []string                  `yaml:"words"`
	Marked  Value[[]String]           `yaml:"marked"`
	Zones   map[string]*zone          `yaml:"zones"`
	Owner   *owner                    `yaml:"owner"`
	CapAdd  []string                  `yaml:"cap_add" alias:"capAdd"`
	Nested  map[string]map[string]int `yaml:"nested"`
	Ignored string                    `yaml:"-"`
	Bare    string
}

type common struct {
	Pos  Pos
	Name String `yaml:"name"`
}

type zone struct {
	Pos  Pos
	Mode string `yaml:"mode"`
}

type owner struct {
	UID int32 `yaml:"uid"`
}

func TestDecode(t *testing.T) {
	const text = `# a comment first
version: 1
name: x
flag: true
count: 0x10
wait: 1m30s
words: [a, 1.20, 2001-01-01, "yes", yes, 0755]
marked:
  - one
  - &later two
zones:
  drafts: &z {mode: rw}
  again: *z
owner:
  uid: -7
capAdd: [NET_ADMIN]
nested: {a: {b: 1}}
`
	var got sample
	if problems := Decode("f.yaml", []byte(text), &got); problems != nil {
		t.Fatal(problems)
	}
	at := func(line, col int) Pos { return Pos{"f.yaml", line, col} }
	want := sample{
		Pos:     at(2, 1),
		common:  common{at(2, 1), String{"x", at(3, 7)}},
		Version: Value[int]{1, at(2, 10)},
		Flag:    Bool{true, at(4, 7)},
		Count:   16,
		Wait:    90 * time.Second,
		Words:   []string{"a", "1.20", "2001-01-01", "yes", "yes", "0755"},
		Marked:  Value[[]String]{[]String{{"one", at(9, 5)}, {"two", at(10, 5)}}, at(9, 3)},
		Zones:   map[string]*zone{"drafts": {at(12, 3), "rw"}, "again": {at(13, 3), "rw"}},
		Owner:   &owner{-7},
		CapAdd:  []string{"NET_ADMIN"},
		Nested:  map[string]map[string]int{"a": {"b": 1}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Decode =\n%+v\nwant\n%+v", got, want)
	}
	if !got.Flag.Set() || (sample{}).Flag.Set() {
		t.Error("Set tells a key that is there from one that is not, or does not")
	}
}

func TestDecodeNothing(t *testing.T) {
	for _, text := range []string{"", "\n\n", "# only a comment\n"} {
		var got sample
		if problems := Decode("f.yaml", []byte(text), &got); problems != nil || got.Pos != (Pos{"f.yaml", 1, 1}) {
			t.Errorf("Decode(%q) = %v, placed at %s, want nothing, at the top", text, problems, got.Pos)
		}
	}
}

func TestDecodeProblems(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"nmae: x\n", `f.yaml:1:1: unknown key "nmae" (did you mean "name"?)`},
		{"capadd: []\n", `f.yaml:1:1: unknown key "capadd" (did you mean "cap_add"?)`},
		{"owner: {group: 1}\n", `f.yaml:1:9: unknown key "group" (known are uid)`},
		{"name: a\nflag: true\nname: b\n", `f.yaml:3:1: key "name" is given twice, first in line 1`},
		{"zones: {a: {mode: x}, a: {mode: y}}\n", `f.yaml:1:23: key "a" is given twice, first in line 1`},
		{"cap_add: []\ncapAdd: []\n", `f.yaml:2:1: key "capAdd" is given already, as "cap_add" in line 1`},
		{"capAdd: []\ncap_add: []\n", `f.yaml:2:1: key "cap_add" is given already, as "capAdd" in line 1`},
		{"flag: yes\n", `f.yaml:1:7: flag: expects true or false, got "yes"`},
		{"name: true\n", `f.yaml:1:7: name: expects text, got the word true; write "true" with quotes if that is meant`},
		{"name: [a]\n", `f.yaml:1:7: name: expects text, got a list`},
		{"name:\n", `f.yaml:1:6: name: expects text, got nothing`},
		{"words: a\n", `f.yaml:1:8: words: expects a list, got "a"`},
		{"words: [a, {b: c}]\n", `f.yaml:1:12: words: expects text, got keys with values`},
		{"zones: [a]\n", `f.yaml:1:8: zones: expects keys with values, got a list`},
		{"zones: {a: }\n", `f.yaml:1:12: a: expects keys with values, got nothing`},
		{"owner: me\n", `f.yaml:1:8: owner: expects keys with values, got "me"`},
		{"version: 1.5\n", `f.yaml:1:10: version: expects a whole number, got "1.5"`},
		{"version: 99999999999999999999\n", `f.yaml:1:10: version: expects a whole number, got "99999999999999999999"`},
		{"count: 256\n", `f.yaml:1:8: count: the number 256 is out of range`},
		{"count: -1\n", `f.yaml:1:8: count: expects a whole number that is not negative, got "-1"`},
		{"owner: {uid: 3000000000}\n", `f.yaml:1:14: uid: the number 3000000000 is out of range`},
		{"wait: 5\n", `f.yaml:1:7: wait: expects a duration such as 30s, 5m or 2h, got "5"`},
		{"wait: \n", `f.yaml:1:6: wait: expects a duration such as 30s, 5m or 2h, got nothing`},
		{"name: !mine x\n", `f.yaml:1:7: name: expects text, got the tag "!mine"`},
		{"? [a]\n: b\n", `f.yaml:1:3: a key is a single word, got a list`},
		{"owner: &o {uid: 1}\nzones: {<<: *o}\n", `f.yaml:2:9: merge keys (<<) are not supported; write the keys out`},
		{"- a\n", `f.yaml:1:1: expects keys with values, got a list`},
		{"name: a\n---\nname: b\n", `f.yaml:3:1: a second document begins here; a file holds one`},
		{"name: a\nflag: true\n  count: 1\n", `f.yaml:3:3: not valid YAML: mapping values are not allowed in this context`},
		{"name: a\n\tflag: true\n", `f.yaml:2:1: not valid YAML: found a tab character that violates indentation; YAML is indented with spaces, never with tabs`},
		{"words:\n\t- a\n", `f.yaml:2:1: not valid YAML: found character that cannot start any token; YAML is indented with spaces, never with tabs`},
		{"words: [a,\nname: b\n", `f.yaml:2:1: not valid YAML: did not find expected ',' or ']'`},
		{"name: a\nflag\ncount: 1\n", `f.yaml:2:1: not valid YAML: could not find expected ':'`},
		{"name: *nowhere\n", `f.yaml:1:1: not valid YAML: unknown anchor 'nowhere' referenced`},
		{"name: a\nwords: [*]\n", `f.yaml:2:1: not valid YAML: did not find expected alphabetic or numeric character; a value that begins with * or & needs quotes, as in "*"`},
		{"name: \"\xff\"\n", `f.yaml:1:1: not valid YAML: invalid leading UTF-8 octet`},
		{"\"a\\tb\": 1\n", `f.yaml:1:1: unknown key "a\tb" (known are name, version, flag, count, wait, words, marked, zones, owner, cap_add, nested)`},
		{"flag: " + strings.Repeat("x", 100) + "\n", `got "` + strings.Repeat("x", 60) + `…"`},
	} {
		var dst sample
		problems := Decode("f.yaml", []byte(tt.text), &dst)
		if len(problems) != 1 || !strings.HasSuffix(problems.Error(), tt.want) {
			t.Errorf("Decode(%q) = %v, want %s", tt.text, problems, tt.want)
		}
	}
}

func TestDecodeGoesOn(t *testing.T) {
	var dst sample
	problems := Decode("f.yaml", []byte("flag: 1\nversion: one\nname: good\nnested: {a: {b: c}, d: 1}\nwait: x\n"), &dst)
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Pos.Line)
	}
	if want := []int{1, 2, 4, 4, 5}; !reflect.DeepEqual(lines, want) {
		t.Errorf("Decode found problems in lines %v, want %v:\n%v", lines, want, problems)
	}
	if dst.Name.V != "good" {
		t.Errorf("Decode left name = %q, want good", dst.Name.V)
	}
}

// TestSortedTellsCausesOnly has what follows from a value that could not be
// read left out, and what stands beside it kept.
func TestSortedTellsCausesOnly(t *testing.T) {
	var dst sample
	problems := Decode("f.yaml", []byte("zones:\n  b: [x]\nversion: one\n"), &dst)
	problems.Add(dst.Version.Pos, "the version is 0")
	problems.Add(dst.Zones["b"].Pos, "the zone has no mode")
	problems.Add(dst.Pos, "there is no name")
	problems.Add(Pos{File: "e.yaml"}, "cannot be read")
	got := problems.Sorted().Error()
	want := `e.yaml: cannot be read
f.yaml:1:1: there is no name
f.yaml:2:6: b: expects keys with values, got a list
f.yaml:3:10: version: expects a whole number, got "one"`
	if got != want {
		t.Errorf("Sorted() =\n%s\nwant\n%s", got, want)
	}

	problems = Decode("f.yaml", []byte("name: [\n"), &dst)
	problems.Add(dst.Pos, "there is no version")
	if got := problems.Sorted(); len(got) != 1 {
		t.Errorf("of a file that is no YAML, Sorted() = %v, want the syntax error alone", got)
	}
}

func TestAliasesAreBounded(t *testing.T) {
	type lists struct {
		Words []string   `yaml:"words"`
		Lists [][]string `yaml:"lists"`
	}
	text := "words: &w [" + strings.Repeat("x,", 500) + "x]\nlists: [" + strings.Repeat("*w,", 500) + "*w]\n"
	problems := Decode("f.yaml", []byte(text), &lists{})
	if len(problems) != 1 || !strings.Contains(problems.Error(), "aliases expand to more than 10000 values") {
		t.Errorf("Decode of a file whose aliases expand = %v, want one problem", problems)
	}

	type tree struct {
		Kids []tree `yaml:"kids"`
	}
	problems = Decode("f.yaml", []byte("kids: &k [{kids: *k}]\n"), &tree{})
	if len(problems) != 1 || !strings.Contains(problems.Error(), "aliases expand") {
		t.Errorf("Decode of an alias within itself = %v, want one problem", problems)
	}
}

func TestUnsupportedTypePanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Decode into a float did not panic")
		}
	}()
	Decode("f.yaml", []byte("f: 1.5\n"), &struct {
		F float64 `yaml:"f"`
	}{})
}

func TestNearest(t *testing.T) {
	known := []string{"policy", "policies", "base_policy", "root", "read", "uid"}
	for _, tt := range []struct{ word, want string }{
		{"polcy", "policy"}, {"basePolicy", "base_policy"}, {"base-policy", "base_policy"}, {"POLICIES", "policies"},
		{"roots", "root"}, {"raed", "read"}, {"xyz", ""}, {"", ""}, {"id", ""}, {"completely_different", ""},
	} {
		if got, ok := Nearest(tt.word, known); got != tt.want || ok != (tt.want != "") {
			t.Errorf("Nearest(%q) = %q, %t, want %q", tt.word, got, ok, tt.want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("name: x\nzones: {a: &a {mode: b}, c: *a}\nnested: {a: {b: 1}}\n")
	f.Add("? *x\n: &x [*x]\n---\n")
	f.Add("words: [!!binary aGk=, !!str 1, ~]\nwait: 5m\n<<: {}\n")
	f.Fuzz(func(t *testing.T, text string) {
		var dst sample
		last := Pos{}
		for _, p := range Decode("f.yaml", []byte(text), &dst) {
			if p.Pos.Line < 1 || p.Message == "" || p.Pos.compare(last) < 0 {
				t.Errorf("Decode(%q) has the problem %v after %v", text, p, last)
			}
			last = p.Pos
		}
	})
}
