package policy

import (
	"fmt"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

// longPolicy has n rules of the kinds that people write, none of which decides
// benchPath but the last.
func longPolicy(n int) []*Policy {
	shapes := []string{"/w/project/dir%d/**", "/**/secret%d", "/**/*.ext%d", "/w/*/build%d/**", "/home/u/.config/app%d", "/w/project/src/**/gen%d/*.go"}
	rules := make([]BuiltinRule, n)
	for i := range rules {
		rules[i] = BuiltinRule{Name: fmt.Sprint("r", i), Paths: []string{fmt.Sprintf(shapes[i%len(shapes)], i)}, Ops: AllOps, Decision: Decision(i % NumDecisions)}
	}
	rules[n-1] = BuiltinRule{Name: "all", Paths: []string{"/**"}, Ops: AllOps, Decision: Allow}
	return []*Policy{Builtin("long", rules...)}
}

const benchPath vpath.Path = "/w/project/src/internal/server/handler_test.go"

func BenchmarkDecide(b *testing.B) {
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			layers := longPolicy(n)
			b.ReportAllocs()
			for b.Loop() {
				if Decide(layers, benchPath, Read).Decision != Allow {
					b.Fatal("not allowed")
				}
			}
		})
	}
}

func BenchmarkAllowed(b *testing.B) {
	for _, n := range []int{1, 20, 200} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			layers := longPolicy(n)
			b.ReportAllocs()
			for b.Loop() {
				if Allowed(layers, benchPath) != AllOps {
					b.Fatal("not all allowed")
				}
			}
		})
	}
}

func TestDecidingAllocatesNothing(t *testing.T) {
	layers := append(longPolicy(200), longPolicy(10)...)
	if n := testing.AllocsPerRun(100, func() { Decide(layers, benchPath, Read) }); n != 0 {
		t.Errorf("Decide allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { Allowed(layers, benchPath) }); n != 0 {
		t.Errorf("Allowed allocates %v times", n)
	}
	if n := testing.AllocsPerRun(100, func() { Alike(layers, benchPath, "/w/x"); MayHide(layers, benchPath) }); n != 0 {
		t.Errorf("Alike and MayHide allocate %v times", n)
	}
}
