package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestLoadLibrary(t *testing.T) {
	good := rules(everything)
	builtin := fstest.MapFS{"default.yaml": {Data: []byte(good)}, "README.md": {Data: []byte("no policy")}}
	one, two := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"mine.yaml": good, "yours.yml": good, "default.yaml": good, "broken.yaml": "version: 1\nfile_rules: 1\n",
		"notes.txt": "no policy", ".hidden.yaml": "{", "mine.yaml~": "{",
	} {
		writeFile(t, filepath.Join(one, name), text)
	}
	writeFile(t, filepath.Join(two, "mine.yaml"), good)
	if err := os.Mkdir(filepath.Join(two, "dir.yaml"), 0o755); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(two, "large.yaml"), good)
	if err := os.Truncate(filepath.Join(two, "large.yaml"), 1<<40); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", filepath.Join(two, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	lib, problems := LoadLibrary([]string{one, one + "/", two, "/nonexistent"}, builtin)
	if got, want := strings.Join(lib.Names(), " "), "default mine yours"; got != want {
		t.Errorf("Names() = %s, want %s", got, want)
	}
	for _, want := range []string{
		one + `/broken.yaml:2:13: file_rules: expects a list, got "1"`,
		one + `/default.yaml:1:1: the name "default" is taken by builtin/policies/default.yaml; choose another`,
		two + `/mine.yaml:1:1: the name "mine" is taken by ` + one + `/mine.yaml; choose another`,
		two + `/dir.yaml: the policy cannot be read: it is not a regular file`,
		two + `/large.yaml: the policy cannot be read: it is larger than 16 MiB`,
		two + `/link.yaml: the policy cannot be read: no such file or directory`,
		`/nonexistent: the directory of policies cannot be read: no such file or directory`,
	} {
		if !strings.Contains(problems.Error()+"\n", want+"\n") {
			t.Errorf("LoadLibrary lacks the problem\n%s", want)
		}
	}
	if len(problems) != 7 {
		t.Errorf("LoadLibrary found %d problems, want 7:\n%v", len(problems), problems)
	}
	if f, ok := lib.File("default"); !ok || f.Path != "builtin/policies/default.yaml" {
		t.Errorf("File(default) = %+v, %t, want the built-in one", f, ok)
	}
	if !lib.Broken("absent") {
		t.Error("Broken(absent) with a directory that cannot be read = false, though it could be there")
	}
	lib, _ = LoadLibrary([]string{one, two}, builtin)
	if _, ok := lib.File("broken"); ok || !lib.Broken("broken") || lib.Broken("mine") || lib.Broken("absent") {
		t.Error("Broken tells a policy that cannot be used from one that is not there, or does not")
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
