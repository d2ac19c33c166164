package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// tree makes files below a new directory and returns that; a name that ends in
// "/" is a directory, contents that begin with "->" are the target of a link.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		at := filepath.Join(dir, name)
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

// cli runs one command line and returns what it printed.
func cli(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &err)
	return code, out.String(), err.String()
}

// expectJSON decodes what a command printed.
func expectJSON(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
}

func TestUsage(t *testing.T) {
	tests := []struct {
		args   []string
		code   int
		stdout string // what it begins with
		stderr string
	}{
		{[]string{}, exitOK, "sandboxfs serves directories", ""},
		{[]string{"--help"}, exitOK, "sandboxfs serves directories", ""},
		{[]string{"--version"}, exitOK, "sandboxfs version " + version, ""},
		{[]string{"mount", "--help"}, exitOK, "mount serves the view", ""},
		{[]string{"frob"}, exitUsage, "", "sandboxfs: unknown command \"frob\" for \"sandboxfs\" (see sandboxfs --help)\n"},
		{[]string{"completion", "tcsh"}, exitUsage, "", "sandboxfs: there is no completion for \"tcsh\", but for bash, zsh, fish and powershell (see sandboxfs completion --help)\n"},
		{[]string{"version", "--frob"}, exitUsage, "", "sandboxfs: unknown flag: --frob (see sandboxfs version --help)\n"},
		{[]string{"mount", "p.yaml"}, exitUsage, "", "sandboxfs: mount wants PROFILE MOUNTPOINT, not 1 argument (see sandboxfs mount --help)\n"},
		{[]string{"umount"}, exitUsage, "", "sandboxfs: umount wants MOUNTPOINT, not 0 arguments (see sandboxfs umount --help)\n"},
		{[]string{"check"}, exitUsage, "", "sandboxfs: check wants FILE…, not 0 arguments (see sandboxfs check --help)\n"},
		{[]string{"mount", "p.yaml", ""}, exitUsage, "", "sandboxfs: mount: MOUNTPOINT is empty (see sandboxfs mount --help)\n"},
		{[]string{"check", "p.yaml", ""}, exitUsage, "", "sandboxfs: check: FILE… is empty (see sandboxfs check --help)\n"},
		{[]string{"run", "", "--", "sh"}, exitUsage, "", "sandboxfs: run: PROFILE is empty (see sandboxfs run --help)\n"},
		{[]string{"doctor", "a", "b"}, exitUsage, "", "sandboxfs: doctor wants [PROFILE], not 2 arguments (see sandboxfs doctor --help)\n"},
		{[]string{"gc", "x"}, exitUsage, "", "sandboxfs: gc wants no arguments, not 1 argument (see sandboxfs gc --help)\n"},
		{[]string{"help", "mount"}, exitOK, "mount serves the view", ""},
		{[]string{"help", "frob"}, exitUsage, "", "sandboxfs: unknown command \"frob\" for \"sandboxfs\" (see sandboxfs help --help)\n"},
		{[]string{"run", "--backend", "local", "--network", "isolated", "p", "--", "sh"}, exitUsage, "", "sandboxfs: --network isolated is for containers"},
		{[]string{"mount", "--log-format", "xml", "p", "m"}, exitUsage, "", "sandboxfs: --log-format \"xml\" is neither text nor json (see sandboxfs mount --help)\n"},
		{[]string{"mount", "--metrics", "", "p", "m"}, exitUsage, "", "sandboxfs: --metrics \"\" is no address such as 127.0.0.1:9464, and not off (see sandboxfs mount --help)\n"},
		{[]string{"mount", "--metrics", "127.0.0.1:65536", "p", "m"}, exitUsage, "", "sandboxfs: --metrics \"127.0.0.1:65536\" is no address such as 127.0.0.1:9464, and not off (see sandboxfs mount --help)\n"},
		{[]string{"run", "--metrics", "9464", "p", "--", "true"}, exitUsage, "", "sandboxfs: --metrics \"9464\" is no address such as 127.0.0.1:9464, and not off (see sandboxfs run --help)\n"},
		{[]string{"mount", "--metrics", "9464", "p", "m"}, exitUsage, "", "sandboxfs: --metrics \"9464\" is no address such as 127.0.0.1:9464, and not off (see sandboxfs mount --help)\n"},
		{[]string{"run", "p", "sh", "-c", "true"}, exitUsage, "", "sandboxfs: unknown shorthand flag: 'c' in -c; CMD and its flags come after -- (see sandboxfs run --help)\n"},
		{[]string{"run", "--env", "NOT_SET_HERE", "p", "--", "true"}, exitUsage, "", "sandboxfs: --env NOT_SET_HERE: want NAME=value, or the name of a variable that is set (see sandboxfs run --help)\n"},
		{[]string{"explain", "p.yaml", "reed", "/x"}, exitUsage, "", "sandboxfs: there is no operation \"reed\" (did you mean read?)"},
	}
	for _, tt := range tests {
		code, stdout, stderr := cli(tt.args...)
		if code != tt.code || !strings.HasPrefix(stdout, tt.stdout) || !strings.HasPrefix(stderr, tt.stderr) || (tt.stderr == "") != (stderr == "") {
			t.Errorf("sandboxfs %q = %d\n%s\n%s\nwant %d\n%s\n%s", tt.args, code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
		}
	}
}

// fullDisk takes nothing.
type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, unix.ENOSPC }

// TestFullDisk has no command succeed whose output is lost.
func TestFullDisk(t *testing.T) {
	dir := tree(t, map[string]string{"root/": "", "p.yaml": "root: root\n"})
	for _, args := range [][]string{
		{"version"}, {"version", "--json"}, {"--help"}, {"--version"}, {"help", "mount"}, {"completion", "bash"},
		{"check", dir + "/p.yaml"}, {"explain", dir + "/p.yaml", "read", "/x"}, {"resolve", dir + "/p.yaml", "/x"},
	} {
		var stderr strings.Builder
		code := run(args, strings.NewReader(""), fullDisk{}, &stderr)
		if code != exitFailed || strings.Count(stderr.String(), "\n") != 1 || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%q on a full disk = %d, %q, want %d and one line", args, code, &stderr, exitFailed)
		}
	}
}

func TestVersion(t *testing.T) {
	code, stdout, _ := cli("version")
	if code != exitOK || !strings.HasPrefix(stdout, "sandboxfs "+version+" (go") {
		t.Errorf("version = %d, %q", code, stdout)
	}
	var got release
	_, stdout, _ = cli("version", "--json")
	expectJSON(t, stdout, &got)
	if got.Version != version || got.Go == "" || got.Commit == "" {
		t.Errorf("version --json = %+v", got)
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\nb\tc":     "a b c",
		"\x1b[31mred": "\uFFFD[31mred",
		"\u009b1m":    "\uFFFD1m",
		"ä/日本":        "ä/日本",
	} {
		if got := oneLine(in); got != want {
			t.Errorf("oneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

// Bad input of mount is one clear line each, before anything is mounted.
func TestMountRefuses(t *testing.T) {
	dir := tree(t, map[string]string{
		"p.yaml": "root: proj\n", "proj/sub/": "", "mnt/": "", "full/x": "", "file": "",
		"two.yaml": "root: nowhere\npolicy: absent\n", "typo.yaml": "root: proj\nreadonyl: true\n",
		"warn.yaml": "root: file\n",
	})
	t.Chdir(dir)
	tests := []struct {
		args   []string
		stderr []string // what each line begins with
	}{
		{[]string{"absent.yaml", "mnt"}, []string{"absent.yaml: no such file or directory"}},
		{[]string{"two.yaml", "mnt"}, []string{"two.yaml:1:7: root " + dir + "/nowhere: no such file", `two.yaml:2:9: there is no policy "absent"`}},
		{[]string{"typo.yaml", "mnt"}, []string{`typo.yaml:2:1: unknown key "readonyl" (did you mean "readonly"?)`}},
		{[]string{"warn.yaml", "mnt"}, []string{"warn.yaml:1:7: root " + dir + "/file is a file"}},
		{[]string{"p.yaml", "absent"}, []string{"the mountpoint absent does not exist"}},
		{[]string{"p.yaml", "full"}, []string{"the mountpoint " + dir + "/full is not empty"}},
		{[]string{"p.yaml", "proj/sub"}, []string{"the mountpoint " + dir + "/proj/sub lies inside"}},
		{[]string{"--socket", "proj/s", "p.yaml", "mnt"}, []string{"the socket " + dir + "/proj/s would lie in the view"}},
		{[]string{"--socket", "mnt/s", "p.yaml", "mnt"}, []string{dir + "/mnt/s would lie below the mountpoint"}},
		{[]string{"absent\nname.yaml", "mnt"}, []string{"absent name.yaml: no such file or directory"}},
	}
	for _, tt := range tests {
		code, stdout, stderr := cli(append([]string{"mount"}, tt.args...)...)
		lines := strings.Split(strings.TrimSuffix(stderr, "\n"), "\n")
		ok := code == exitFailed && stdout == "" && len(lines) == len(tt.stderr)
		for i := 0; ok && i < len(lines); i++ {
			ok = strings.HasPrefix(lines[i], "sandboxfs: "+tt.stderr[i])
		}
		if !ok {
			t.Errorf("sandboxfs mount %q = %d\n%s%swant %d and lines that begin with %q", tt.args, code, stdout, stderr, exitFailed, tt.stderr)
		}
	}
}

// A command, a flag and its row in the documentation come and go together.
func TestFlagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, cmd := range (&app{}).rootCommand().Commands() {
		if !strings.Contains(string(text), "## "+strings.TrimSuffix(cmd.Use, " [flags]")+"\n") {
			t.Errorf("docs/cli.md has no section on %q", cmd.Use)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !strings.Contains(string(text), "`--"+f.Name) {
				t.Errorf("docs/cli.md does not mention --%s of %s", f.Name, cmd.Name())
			}
		})
	}
}
