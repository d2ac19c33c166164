package profile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/internal/vpath"
	"github.com/sandboxfs/sandboxfs/policy"
)

const agentConfig = `mount_profiles:
  claude-agent:
    base_policy: default
    mounts:
      - {path: "%DIR%/workspace", policy: workspace-rw}
      - {path: "%DIR%/claude", policy: config-readonly}
  broken:
    mounts:
      - {path: "%DIR%/absent", policy: workspace-rw}
`

func TestFind(t *testing.T) {
	dir := tree(t, map[string]string{
		"proj/named/": "", "proj/p.yaml": "root: .\n", "conf/sandboxfs/": "",
		"workspace/": "", "claude/": "", "${odd} dir/": "",
	})
	writeFile(t, dir+"/conf/sandboxfs/config.yaml", strings.ReplaceAll(agentConfig, "%DIR%", dir))
	t.Chdir(dir + "/proj")
	t.Setenv("XDG_CONFIG_HOME", dir+"/conf")

	tests := []struct {
		arg, name, file string
		root            string // source of the first mount
	}{
		{".", "workspace", "", dir + "/proj"},
		{"named", "workspace", "", dir + "/proj/named"},
		{dir + "/${odd} dir", "workspace", "", dir + "/${odd} dir"},
		{"p.yaml", "p", dir + "/proj/p.yaml", dir + "/proj"},
		{"../proj/p.yaml", "p", dir + "/proj/p.yaml", dir + "/proj"},
		{"claude-agent", "claude-agent", dir + "/conf/sandboxfs/config.yaml", dir + "/workspace"},
	}
	for _, tt := range tests {
		p, problems := Find(tt.arg, "")
		if len(problems) > 0 {
			t.Errorf("Find(%q): %v", tt.arg, problems)
			continue
		}
		if p.Name != tt.name || p.File != tt.file || p.Mounts[0].Source != tt.root {
			t.Errorf("Find(%q) = %s of %s with %s, want %s of %s with %s",
				tt.arg, p.Name, p.File, p.Mounts[0].Source, tt.name, tt.file, tt.root)
		}
		if again, problems := p.Reread(); len(problems) > 0 || !again.SameMounts(p) {
			t.Errorf("Find(%q): Reread: %v, want the same mounts", tt.arg, problems)
		}
	}
}

func TestFindNothing(t *testing.T) {
	dir := tree(t, map[string]string{"empty/": "", "c.yaml": "mount_profiles: {}\n", "list.yaml": "- a\n", "work.yaml": workPolicy})
	t.Setenv("XDG_CONFIG_HOME", dir+"/empty")
	tests := []struct{ arg, config, want string }{
		{"absent.yaml", "", "absent.yaml: no such file or directory"},
		{"./absent", "", "./absent: no such file or directory"},
		{"absent", dir + "/c.yaml", dir + `/c.yaml: there is no profile "absent"; it has none`},
		{"absent", dir + "/d.yaml", dir + "/d.yaml: no such file or directory"},
		{dir + "/list.yaml", "", dir + "/list.yaml:1:1: expects keys with values, got a list"},
		{dir + "/work.yaml", "", dir + "/work.yaml:1:1: this is a policy and no profile; name it in one, as policy: NAME with its directory in policies"},
		{dir + "/c.yaml", "", dir + "/c.yaml:1:1: this is a config and no profile; give the name of one of its profiles, and the file with --config"},
	}
	for _, tt := range tests {
		if _, problems := Find(tt.arg, tt.config); len(problems) == 0 || problems[0].Error() != tt.want {
			t.Errorf("Find(%q, %q): %v, want %s", tt.arg, tt.config, problems, tt.want)
		}
	}
}

// S1-01, S1-02: profiles of a config, with the policies beside it.
func TestConfig(t *testing.T) {
	dir := tree(t, map[string]string{
		"workspace/": "", "claude/": "", "policies/work.yaml": workPolicy,
	})
	writeFile(t, dir+"/config.yaml", strings.ReplaceAll(agentConfig, "%DIR%", dir))
	c, problems := LoadConfig(dir + "/config.yaml")
	if len(problems) > 0 || !slices.Equal(c.Names, []string{"broken", "claude-agent"}) {
		t.Fatalf("LoadConfig: %v, %v", c, problems)
	}
	p, problems := c.Profile("claude-agent")
	if len(problems) > 0 || !slices.Equal(p.PolicyDirs, []string{dir + "/policies"}) {
		t.Fatalf("Profile: policies in %q, problems %v", p.PolicyDirs, problems)
	}
	view, _ := buildView(t, p)
	settings, file := vpath.Path(dir+"/claude/settings.json"), vpath.Path(dir+"/workspace/file.txt")
	expectVerdicts(t, view, []verdict{
		{policy.Write, settings, policy.Deny, "no-changes"},
		{policy.Read, file, policy.Allow, "work"},
		{policy.Read, "/etc/passwd", policy.Deny, "builtin:unmounted"},
	})
	if _, problems := c.Profile("broken"); len(problems) != 1 || problems[0].Pos.Line != 9 {
		t.Errorf("Profile(broken): %v, want one problem in line 9", problems)
	}
}

// S3-01: both roots are keys of the config.
func TestConfigRoots(t *testing.T) {
	dir := tree(t, map[string]string{})
	t.Setenv("HOST_DIR", "/srv/data")
	writeFile(t, dir+"/config.yaml", "sandbox_root: /var/sandboxes\nsandbox_host_path: ${HOST_DIR}/boxes\n")
	c, problems := LoadConfig(dir + "/config.yaml")
	if len(problems) > 0 || c.SandboxRoot != "/var/sandboxes" || c.SandboxHostPath != "/srv/data/boxes" {
		t.Errorf("LoadConfig = %+v, %v, want both roots", c, problems)
	}
	writeFile(t, dir+"/config.yaml", "sandbox_root: sandboxes\nsandbox_host_path: /a/../b\n")
	if r := Check(dir + "/config.yaml"); r.Kind != KindConfig || len(r.Problems) != 2 || r.Problems[0].Pos.Line != 1 || r.Problems[1].Pos.Line != 2 {
		t.Errorf("Check = %+v, want a problem with each", r)
	}
}

// S4-02: settings of containers are a key of the config.
func TestConfigDocker(t *testing.T) {
	dir := tree(t, map[string]string{})
	writeFile(t, dir+"/config.yaml", "mount_profiles: {}\ndocker:\n  isolatedDnsServers: [dns.example]\n")
	if r := Check(dir + "/config.yaml"); r.Kind != KindConfig || len(r.Problems) != 1 || r.Problems[0].Pos.Line != 3 {
		t.Errorf("Check = %+v, want a problem in line 3", r)
	}
	writeFile(t, dir+"/config.yaml", "docker: {image: tools}\n")
	if r := Check(dir + "/config.yaml"); r.Kind != KindConfig || len(r.Problems) != 0 {
		t.Errorf("Check of a config of this alone = %+v, want no problem", r)
	}
	if c, problems := LoadConfig(dir + "/config.yaml"); len(problems) > 0 || c.Docker == nil || c.Docker.Image.V != "tools" {
		t.Errorf("LoadConfig = %+v, %v, want the image", c, problems)
	}
}

func TestCheck(t *testing.T) {
	dir := tree(t, map[string]string{
		"workspace/": "", "claude/": "",
		"work.yaml":    workPolicy,
		"bad.yaml":     "version: 1\nfile_rule:\n  - {}\n",
		"p.yaml":       "root: nowhere\npolicy: absent\nx: 1\n",
		"zones.yaml":   "zones: {a: {path: claude, mode: wr}, b: {path: claude, approval: {write: no, delete: yes}}}\n",
		"other.yaml":   "services: {}\n",
		"notyaml.yaml": "a: [\n",
		"empty.yaml":   "",
	})
	writeFile(t, dir+"/config.yaml", strings.ReplaceAll(agentConfig, "%DIR%", dir))
	tests := []struct {
		file string
		kind Kind
		want []string // what each problem begins with
	}{
		{"work.yaml", KindPolicy, nil},
		{"bad.yaml", KindPolicy, []string{"1:1: a policy needs", `2:1: unknown key "file_rule"`}},
		{"p.yaml", KindProfile, []string{"1:7: root", `2:9: there is no policy "absent"`, `3:1: unknown key "x"`}},
		{"zones.yaml", KindProfile, []string{"1:33: mode:", "1:74: write:", "1:86: delete:"}},
		{"config.yaml", KindConfig, []string{"9:16: source"}},
		{"other.yaml", KindUnknown, []string{"1:1: this is no profile"}},
		{"notyaml.yaml", KindUnknown, []string{"1:1: not valid YAML"}},
		{"empty.yaml", KindUnknown, []string{"1:1: this is no profile"}},
		{"absent.yaml", KindUnknown, []string{" no such file or directory"}},
	}
	for _, tt := range tests {
		r := Check(filepath.Join(dir, tt.file))
		if r.Kind != tt.kind || !begin(r.Problems, tt.want) {
			t.Errorf("Check(%s) = %s with\n%v\nwant %s with %q", tt.file, r.Kind, r.Problems, tt.kind, tt.want)
		}
	}
}

// TestCheckOfNoFile has neither a pipe that nobody writes to, nor what has no
// end, hold anybody up.
func TestCheckOfNoFile(t *testing.T) {
	dir := tree(t, map[string]string{"root/": ""})
	if err := unix.Mkfifo(dir+"/fifo.yaml", 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", dir+"/zero.yaml"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{"fifo.yaml": "1:1: this is no profile", "zero.yaml": " holds more than 16 MiB"} {
		if r := Check(filepath.Join(dir, file)); r.Kind != KindUnknown || !begin(r.Problems, []string{want}) {
			t.Errorf("Check(%s) = %s with\n%v\nwant %q", file, r.Kind, r.Problems, want)
		}
	}
}

// TestCheckOfPipe has each kind of file be read once, as a pipe can be.
func TestCheckOfPipe(t *testing.T) {
	dir := tree(t, map[string]string{"root/": ""})
	for kind, text := range map[Kind]string{
		KindProfile: "root: " + dir + "/root\n",
		KindConfig:  "mount_profiles: {p: {root: " + dir + "/root}}\n",
		KindPolicy:  strings.Replace(workPolicy, "name: work\n", "", 1),
	} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(w, text)
		w.Close()
		if got := Check(fmt.Sprintf("/proc/self/fd/%d", r.Fd())); got.Kind != kind || len(got.Problems) > 0 {
			t.Errorf("Check of a pipe = %s with %v, want a valid %s", got.Kind, got.Problems, kind)
		}
		r.Close()
	}
}

// begin reports whether each problem, without its file, begins with the text of
// the same index.
func begin(problems strictyaml.Problems, texts []string) bool {
	return slices.EqualFunc(problems, texts, func(p strictyaml.Problem, text string) bool {
		return strings.HasPrefix(strings.TrimPrefix(p.Error(), p.Pos.File+":"), text)
	})
}

// Every file that ships is valid.
func TestShippedFiles(t *testing.T) {
	files, err := filepath.Glob("../../configs/*/*.yaml")
	deeper, _ := filepath.Glob("../../configs/*/*/*.yaml")
	if files = append(files, deeper...); err != nil || len(files) == 0 {
		t.Fatalf("no files found: %v", err)
	}
	for _, file := range files {
		if r := Check(file); r.Kind == KindUnknown || len(r.Problems) > 0 {
			t.Errorf("Check(%s) = %s with %v", file, r.Kind, r.Problems)
		}
	}
}
