package strictyaml

import (
	"reflect"
	"strings"
)

// fields is what a struct value offers to a mapping.
type fields struct {
	byKey     map[string]field // under every spelling
	keys      []string         // the first spelling of each, in the struct's order
	positions []*Pos           // of this struct and of those embedded in it
}

type field struct {
	key   string // its first spelling
	value reflect.Value
}

var posType = reflect.TypeFor[Pos]()

// fieldsOf lists the fields of the addressable struct v.
func fieldsOf(v reflect.Value) *fields {
	fs := &fields{byKey: map[string]field{}}
	fs.add(v)
	return fs
}

func (fs *fields) add(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case f.Type == posType && f.IsExported():
			fs.positions = append(fs.positions, v.Field(i).Addr().Interface().(*Pos))
		case key == "-":
		case key != "":
			fs.keys = append(fs.keys, key)
			for _, name := range append(spellings(f.Tag), key) {
				fs.byKey[name] = field{key, v.Field(i)}
			}
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			fs.add(v.Field(i))
		}
	}
}

// place tells the struct where it stands.
func (fs *fields) place(at Pos) {
	for _, p := range fs.positions {
		*p = at
	}
}

// spellings returns the further names that a field's alias tag gives.
func spellings(tag reflect.StructTag) []string {
	alias, ok := tag.Lookup("alias")
	if !ok {
		return nil
	}
	return strings.Split(alias, ",")
}
