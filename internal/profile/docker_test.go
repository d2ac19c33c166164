package profile

import (
	"reflect"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// blockOf returns a block in which every key has a value, which name tells from
// that of others.
func blockOf(t *testing.T, name string) *Docker {
	t.Helper()
	d := &Docker{Pos: strictyaml.Pos{File: name, Line: 1}}
	v := reflect.ValueOf(d).Elem()
	for i := range v.NumField() {
		text := strictyaml.String{V: name, Pos: d.Pos}
		switch f := v.Field(i).Addr().Interface().(type) {
		case *strictyaml.Pos:
		case *strictyaml.String:
			*f = text
		case *strictyaml.Bool:
			*f = strictyaml.Bool{V: true, Pos: d.Pos}
		case *[]strictyaml.String:
			*f = []strictyaml.String{text}
		default:
			t.Fatalf("key %s is a %T", v.Type().Field(i).Name, f)
		}
	}
	return d
}

// Every key of the one block stands before that of the other, and one that is
// left out takes over the other's, for good values as for false and empty ones.
func TestDockerOver(t *testing.T) {
	own, base := blockOf(t, "own"), blockOf(t, "base")
	if got := own.Over(base); !reflect.DeepEqual(got, own) {
		t.Errorf("Over = %+v, want %+v", got, own)
	}
	silent := &Docker{Pos: own.Pos}
	got := silent.Over(base)
	got.Pos = base.Pos
	if !reflect.DeepEqual(got, base) {
		t.Errorf("Over of a silent block = %+v, want %+v", got, base)
	}
	if !reflect.DeepEqual(silent, &Docker{Pos: own.Pos}) {
		t.Errorf("Over changed the block to %+v", silent)
	}
	no := &Docker{ReadOnly: strictyaml.Bool{Pos: own.Pos}, IsolatedDNSServers: []strictyaml.String{}, Image: own.Image}
	if got := no.Over(base); got.ReadOnly.V || len(got.IsolatedDNSServers) > 0 || got.Tag.Set() {
		t.Errorf("Over = %+v, want what says no to stay, and no tag for another image", got)
	}
	if (*Docker)(nil).Over(base) != base || own.Over(nil) != own {
		t.Error("Over of no block is another one")
	}
}
