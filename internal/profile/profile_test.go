package profile

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// tree makes files below a new directory: a name that ends in "/" is a
// directory, contents that begin with "->" are the target of a link. It returns
// the directory without symbolic links.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		at, content := filepath.Join(dir, name), files[name]
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(content, "->"); ok {
			err = os.Symlink(target, at)
		} else if strings.HasSuffix(name, "/") {
			err = os.MkdirAll(at, 0o755)
		} else {
			err = os.WriteFile(at, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// inDir are the surroundings of a profile in dir.
func inDir(dir string) surroundings {
	env := map[string]string{"HOME": dir + "/home", "PROJECT": dir + "/proj"}
	return surroundings{
		dir:    dir,
		lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
		system: []string{"/usr", "/etc/hosts"},
		packs:  []string{"git", "shell"},
	}
}

// from takes text through the three steps, as the file "p.yaml" in dir.
func from(dir, text string) (*Profile, strictyaml.Problems) {
	d, problems := parse("p.yaml", []byte(text))
	p, more := validate(withDefaults(d, "p"), inDir(dir))
	return p, append(problems, more...).Sorted()
}

func messages(problems strictyaml.Problems) []string {
	var lines []string
	for _, p := range problems {
		lines = append(lines, p.Error())
	}
	return lines
}

// S1-08: every problem is reported at once, at its place.
func TestProblems(t *testing.T) {
	dir := tree(t, map[string]string{
		"proj/a": "x", "cache/": "", "home/.npm/": "", "file": "x", "policies/": "", "loop": "->loop",
	})
	tests := []struct {
		name, text string
		want       []string // %DIR% stands for dir
	}{
		{"nothing to show", "name: x\n", []string{
			"p.yaml:1:1: the profile shows nothing; give it a root, mounts or zones"}},
		{"unknown key", "root: proj\nreadonyl: true\n", []string{
			`p.yaml:2:1: unknown key "readonyl" (did you mean "readonly"?)`}},
		{"unknown key of a mount", "mounts:\n  - {source: cache, target: /c, read: true}\n", []string{
			`p.yaml:2:33: unknown key "read" (known are source, target, path, readonly, policy)`}},
		{"root missing", "root: nowhere\n", []string{
			"p.yaml:1:7: root %DIR%/nowhere: no such file or directory"}},
		{"root is a file", "root: file\n", []string{
			"p.yaml:1:7: root %DIR%/file is a file; the root must be a directory"}},
		{"root empty", "root: ''\n", []string{
			`p.yaml:1:7: root: "" is not the path of a file or directory`}},
		{"loop of links", "root: loop\n", []string{
			"p.yaml:1:7: root %DIR%/loop: too many levels of symbolic links"}},
		{"device", "root: /dev/null\n", []string{
			"p.yaml:1:7: root /dev/null is neither a directory nor a file"}},
		{"variable unset", "root: ${NOPE}/x\n", []string{
			"p.yaml:1:7: root: the variable NOPE is not set; set it, or give a fallback: ${NOPE:-…}"}},
		{"relative target", "root: proj\nmounts:\n  - source: cache\n    target: cache\n", []string{
			`p.yaml:4:13: target path "cache" is not absolute`}},
		{"target above the root", "root: proj\nmounts:\n  - {source: cache, target: /../x}\n", []string{
			`p.yaml:3:29: target path "/../x": outside sandbox`}},
		{"relative path", "mounts:\n  - path: cache\n", []string{
			`p.yaml:2:11: target path "cache" is not absolute`}},
		{"duplicate target", "mounts:\n  - {source: cache, target: /c}\n  - {source: proj, target: /c}\n", []string{
			"p.yaml:3:28: duplicate target /c, first in line 2"}},
		{"duplicate target after cleaning", "mounts:\n  - {source: cache, target: /c}\n  - {source: proj, target: //c/./d/..}\n", []string{
			"p.yaml:3:28: duplicate target /c, first in line 2"}},
		{"duplicate of the root", "root: proj\nmounts:\n  - {source: cache, target: /}\n", []string{
			"p.yaml:3:29: duplicate target /, first in line 1"}},
		{"duplicate of a zone", "mounts:\n  - {source: cache, target: /z}\nzones:\n  z: {path: proj}\n", []string{
			"p.yaml:4:3: duplicate target /z, first in line 2"}},
		{"path and source", "mounts:\n  - {path: /x, source: cache}\n", []string{
			"p.yaml:2:12: path stands for source and target alike; give either path, or source and target"}},
		{"source alone", "mounts:\n  - {source: cache}\n", []string{
			"p.yaml:2:5: a mount needs source and target, or path for both"}},
		{"readonly of another type", "root: proj\nreadonly: 1\n", []string{
			`p.yaml:2:11: readonly: expects true or false, got "1"`}},
		{"policy without a root", "policy: x\nreadonly: true\nmounts:\n  - {source: cache, target: /c}\n", []string{
			"p.yaml:1:9: policy is that of the root, and there is no root; name it in the mounts, or as base_policy",
			"p.yaml:2:11: readonly speaks of the root, and there is no root; say it in the mounts"}},
		{"policy without a name", "root: proj\npolicy: ''\n", []string{
			"p.yaml:2:9: policy: the name is empty; leave the key out for no policy"}},
		{"unknown guard", "root: proj\nguards: [git, gti]\n", []string{
			`p.yaml:2:15: guards: there is no pack "gti"; the packs are git, shell`}},
		{"words", "root: proj\nsymlinks: folow\nreload: never\nsystem_mounts: of\n", []string{
			`p.yaml:2:11: symlinks: "folow" is none of follow, inside, reject (did you mean follow?)`,
			`p.yaml:3:9: reload: "never" is none of live, pin`,
			`p.yaml:4:16: system_mounts: "of" is none of auto, on, off`}},
		{"owner", "root: proj\nowner: {uid: 1000}\n", []string{
			"p.yaml:2:1: owner needs both uid and gid"}},
		{"owner out of range", "root: proj\nowner: {uid: -1, gid: 4294967295}\n", []string{
			"p.yaml:2:14: owner: -1 is not the number of a user or group"}},
		{"version", "version: 2\nroot: proj\n", []string{
			"p.yaml:1:10: version 2 is not known; this release reads version 1"}},
		{"name", "name: \"a\\nb\"\nroot: proj\n", []string{
			`p.yaml:1:7: the name "a\nb" is empty or cannot be printed`}},
		{"system mount", "mounts:\n  - {source: cache, target: /usr/local}\n  - {source: proj, target: /etc}\n", []string{
			"p.yaml:2:29: target /usr/local is at, above or inside the system mount /usr; choose another one, or system_mounts: off",
			"p.yaml:3:28: target /etc is at, above or inside the system mount /etc/hosts; choose another one, or system_mounts: off"}},
		{"policies", "root: proj\npolicies: [nowhere, file]\n", []string{
			"p.yaml:2:12: policies %DIR%/nowhere: no such file or directory",
			"p.yaml:2:21: policies %DIR%/file is a file; name the directory that holds the policies"}},
		{"zones", "zones:\n  z: {path: cache, mode: wr, approval: {write: yes please, delete: never}}\n  y: {}\n  a/b: {path: cache}\n  f: {path: file}\n", []string{
			`p.yaml:2:26: mode: "wr" is none of ro, rw`,
			`p.yaml:2:48: write: "yes please" is none of preApproved, ask, blocked`,
			`p.yaml:2:68: delete: "never" is none of preApproved, ask, blocked`,
			"p.yaml:3:3: zone y needs a path",
			`p.yaml:4:3: zone "a/b": the name is shown below / and must be one plain name`,
			"p.yaml:5:13: path %DIR%/file is a file; a zone is a directory"}},
		{"nesting", "mounts:\n  - {source: file, target: /f}\n  - {source: cache, target: /f/c}\n", []string{
			"p.yaml:3:5: target /f/c lies below /f, where a file is mounted"}},
		{"file at the root", "mounts:\n  - {source: file, target: /}\n", []string{
			"p.yaml:2:5: source %DIR%/file is a file; what is mounted at / must be a directory"}},
		{"skills", "root: proj\nskills: nowhere\n", []string{
			"p.yaml:2:9: skills %DIR%/nowhere: no such file or directory"}},
		{"skills in a file", "root: proj\nskills: file\n", []string{
			"p.yaml:2:9: skills %DIR%/file is a file; name the directory that holds the skills"}},
		{"skills twice", "root: proj\nmounts:\n  - {source: cache, target: /shared/skills}\nskills: cache\n", []string{
			"p.yaml:4:9: duplicate target /shared/skills, first in line 3"}},
		{"skills alone", "skills: cache\n", []string{
			"p.yaml:1:1: the profile shows nothing; give it a root, mounts or zones"}},
		{"docker", "root: proj\ndocker:\n  image: a b\n  capAdd: [net admin]\n  isolated_dns_servers: [dns.example]\n  socketPath: docker.sock\n  privileged: true\n", []string{
			`p.yaml:3:10: docker: image "a b" is not a name`,
			`p.yaml:4:12: docker: "net admin" is not a capability; they look like NET_ADMIN or CAP_NET_ADMIN`,
			`p.yaml:5:26: docker: "dns.example" is not the IP address of a DNS server`,
			`p.yaml:6:15: docker: the socket's path "docker.sock" is not absolute`,
			`p.yaml:7:3: unknown key "privileged" (known are enabled, image, tag, socket_path, runtime, enable_weaker_nested_sandbox, read_only, unconfined_security, cap_add, cap_drop, allow_local_networking, allow_local_networking_for_users, isolated_dns_servers, local_dns_servers)`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, problems := from(dir, tt.text)
			p.File = dir + "/p.yaml"
			library, _ := p.Library()
			p.Build(library) // as check does, for what is wrong besides: it must bear what is left
			got := strings.ReplaceAll(strings.Join(messages(problems), "\n"), dir, "%DIR%")
			if want := strings.Join(tt.want, "\n"); got != want {
				t.Errorf("problems of\n%s\ngot:\n%s\nwant:\n%s", tt.text, got, want)
			}
		})
	}
}

func TestMounts(t *testing.T) {
	dir := tree(t, map[string]string{
		"proj/a": "x", "cache/": "", "home/.npm/": "", "file": "x", "link": "->cache", "home/l": "->../link",
	})
	p, problems := from(dir, `
root: ${PROJECT}
readonly: true
policy: work
mounts:
  - {source: ~/.npm, target: /npm, readonly: true}
  - {source: ./file, target: /etc/file, policy: pol}
  - {source: ~/l, target: "${NOPE:-/cache}/"}
zones:
  b: {path: cache, mode: rw, approval: {write: preApproved}}
  a: {path: ./cache}
skills: ~/l
owner: {uid: 1000, gid: 100}
docker: {enabled: true, capDrop: [MKNOD], allowLocalNetworkingFor: [u]}
`)
	if len(problems) > 0 {
		t.Fatalf("problems: %v", problems)
	}
	type row struct {
		target   vpath.Path
		source   string
		kind     overlay.Kind
		readOnly bool
		policy   string
		links    []string
		zone     bool
	}
	want := []row{
		{"/", dir + "/proj", overlay.KindDir, true, "work", nil, false},
		{"/npm", dir + "/home/.npm", overlay.KindDir, true, "", nil, false},
		{"/etc/file", dir + "/file", overlay.KindFile, false, "pol", nil, false},
		{"/cache", dir + "/cache", overlay.KindDir, false, "", []string{dir + "/home/l", dir + "/link"}, false},
		{"/a", dir + "/cache", overlay.KindDir, true, "", nil, true},
		{"/b", dir + "/cache", overlay.KindDir, false, "", nil, true},
		{"/shared/skills", dir + "/cache", overlay.KindDir, true, "config-readonly", []string{dir + "/home/l", dir + "/link"}, false},
	}
	if len(p.Mounts) != len(want) {
		t.Fatalf("%d mounts, want %d: %+v", len(p.Mounts), len(want), p.Mounts)
	}
	for i, m := range p.Mounts {
		w := want[i]
		if m.Target != w.target || m.Source != w.source || m.Kind != w.kind || m.ReadOnly != w.readOnly ||
			m.Policy.V != w.policy || !slices.Equal(m.links, w.links) || (m.Zone != nil) != w.zone {
			t.Errorf("mount %d = %+v, want %+v", i, m, w)
		}
	}
	if b := p.Mounts[5].Zone; b.Write != overlay.ApprovalPre || b.Delete != overlay.ApprovalAsk {
		t.Errorf("zone b = %+v, want write preApproved, delete ask", b)
	}
	if *p.Owner != (Owner{1000, 100}) || !p.Docker.Enabled.V || p.Docker.LocalNetworkingForUsers[0].V != "u" {
		t.Errorf("owner %v, docker %+v", p.Owner, p.Docker)
	}
}

func TestDefaults(t *testing.T) {
	dir := tree(t, map[string]string{"proj/": "", "cache/": ""})
	tests := []struct {
		text   string
		system bool
		guards string
	}{
		{"root: proj", false, "git,shell"},
		{"mounts: [{source: cache, target: /c}]", true, "git,shell"},
		{"mounts: [{source: cache, target: /.}]", false, "git,shell"},
		{"zones: {c: {path: cache}}\nguards: []", true, ""},
		{"root: proj\nsystem_mounts: on\nguards: [shell]", true, "shell"},
		{"mounts: [{source: cache, target: /usr}]\nsystem_mounts: off", false, "git,shell"},
	}
	for _, tt := range tests {
		p, problems := from(dir, tt.text)
		var guards []string
		for _, g := range p.Guards {
			guards = append(guards, g.V)
		}
		if len(problems) > 0 || p.SystemMounts != tt.system || strings.Join(guards, ",") != tt.guards {
			t.Errorf("%s: system mounts %v, guards %v, problems %v, want %v, %s, none",
				tt.text, p.SystemMounts, guards, problems, tt.system, tt.guards)
		}
		if p.Name != "p" || p.Symlinks != SymlinksFollow || p.Reload != ReloadLive || p.Owner != nil {
			t.Errorf("%s: %+v, want the defaults", tt.text, p)
		}
	}
}

func TestUnreadableSource(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("root reads everything: the message is not seen here, only that nothing is refused")
	}
	dir := tree(t, map[string]string{"proj/": ""})
	if err := os.Chmod(dir+"/proj", 0); err != nil {
		t.Fatal(err)
	}
	_, problems := from(dir, "root: proj")
	if want := os.Geteuid() != 0; (len(problems) == 1) != want {
		t.Errorf("problems of an unreadable root: %v, want one: %v", problems, want)
	}
}

// A key, its field and its row in the documentation come and go together.
func TestKeysAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []any{document{}, mountEntry{}, zoneEntry{}, ownerEntry{}, Docker{}, configDocument{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(block)) {
			key := f.Tag.Get("yaml")
			if key == "" || key == "mount_profiles" || key == "approval" {
				continue // they stand in the examples
			}
			if !strings.Contains(string(text), "`"+key+"`") {
				t.Errorf("docs/config.md does not mention `%s`", key)
			}
		}
	}
}
