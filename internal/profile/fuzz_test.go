package profile

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzProfile has any text either be a profile or come to problems, each with a
// line of it.
func FuzzProfile(f *testing.F) {
	examples, err := filepath.Glob("../../configs/examples/*.yaml")
	if err != nil || examples == nil {
		f.Fatalf("no examples: %v", err)
	}
	for _, name := range examples {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("version: 1\nroot: .\nzones: {a: {path: /, mode: rw, write: ask}}\nowner: {uid: 4294967295, gid: -1}\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		d, problems := parse("p.yaml", text)
		if d.Pos.Line == 0 {
			if len(problems) == 0 {
				t.Fatal("nothing was read, and nothing is wrong")
			}
			return
		}
		_, more := validate(withDefaults(d, "p"), around(dir))
		for _, problem := range append(problems, more...) {
			if problem.Message == "" || problem.Pos.File != "p.yaml" {
				t.Errorf("a problem without text or place: %+v", problem)
			}
		}
	})
}
