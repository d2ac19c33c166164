package main

import (
	"os/exec"
	"strings"
	"testing"
)

// What each shell is given is a script, and names the program.
func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, stdout, stderr := cli("completion", shell)
		if code != exitOK || stderr != "" || !strings.Contains(stdout, "sandboxfs") {
			t.Errorf("completion %s = %d, %d bytes, %q", shell, code, len(stdout), stderr)
		}
		if shell == "bash" {
			check := exec.Command("bash", "-n")
			check.Stdin = strings.NewReader(stdout)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("completion bash is no script for bash: %v\n%s", err, out)
			}
		}
	}
}

// The line that a shell's script asks for words.
func TestCompletes(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want string // one word of the answer
	}{
		{[]string{"um"}, "umount"},
		{[]string{"explain", "p.yaml", "un"}, "unlink"},
		{[]string{"mount", "--log-format", ""}, "json"},
		{[]string{"run", "--network", ""}, "isolated"},
		{[]string{"exec", "--backend", ""}, "local"},
		{[]string{"completion", ""}, "zsh"},
	} {
		_, stdout, _ := cli(append([]string{"__complete"}, tt.args...)...)
		if !strings.Contains(stdout, tt.want) {
			t.Errorf("completion of %q:\n%s\nwant %s", tt.args, stdout, tt.want)
		}
	}
}
