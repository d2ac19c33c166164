package overlay

import (
	"fmt"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

const benchPath vpath.Path = "/home/user/project/src/pkg/file.go"

// twenty is a view of 20 mounts with two layers each.
func twenty(tb testing.TB) *View {
	base := rules("base", "deny * /**/.env", "hide * /**/secret", "deny write /**/.git/hooks/*", "allow * /**")
	mounts := []Mount{dir("/", "/host"), dir("/home/user/project", "/p", allowAll, base)}
	for i := range 18 {
		mounts = append(mounts, dir(vpath.Path(fmt.Sprintf("/home/user/other%d/deep/er", i)), fmt.Sprintf("/x%d", i), allowAll, base))
	}
	return newView(tb, mounts...)
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	v := twenty(t)
	for name, f := range map[string]func(){
		"Resolve": func() { v.Resolve(benchPath) },
		"Decide":  func() { v.Decide(benchPath, policy.Write) },
		"Allowed": func() { v.Allowed(benchPath) },
		"Names":   func() { v.Names("/home/user") },
		"Pinned":  func() { v.Pinned(benchPath) },
		"Aliases": func() { v.Aliases(benchPath) },
		"MayHide": func() { v.MayHide(benchPath) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s(%s) allocates %v times, want never", name, benchPath, n)
		}
	}
}

func BenchmarkResolve(b *testing.B) {
	v := twenty(b)
	b.ReportAllocs()
	for b.Loop() {
		v.Resolve(benchPath)
	}
}

func BenchmarkDecide(b *testing.B) {
	v := twenty(b)
	b.ReportAllocs()
	for b.Loop() {
		v.Decide(benchPath, policy.Write)
	}
}

func BenchmarkAllowed(b *testing.B) {
	v := twenty(b)
	b.ReportAllocs()
	for b.Loop() {
		v.Allowed(benchPath)
	}
}

// BenchmarkDecideAliased is the price of sources that overlap.
func BenchmarkDecideAliased(b *testing.B) {
	v := newView(b, dir("/", "/p"), dir("/alias", "/p/home"))
	b.ReportAllocs()
	for b.Loop() {
		v.Decide(benchPath, policy.Write)
	}
}
