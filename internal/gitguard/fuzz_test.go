package gitguard

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// FuzzParse compares what is accepted with what git makes of it: every entry, in
// order, with the same name and value.
func FuzzParse(f *testing.F) {
	if _, err := exec.LookPath("git"); err != nil {
		f.Skip("needs git")
	}
	for _, text := range []string{
		made, husky, "[a \"b\\\"c\\\\d\"]\n\te = \"f # g\" ; h\n", "[a \"\"]\nb=\n", "[a]\n\tb = \"\" c\n", "[a]\n\tb = c  d  \n",
		"[a]\n\tb = \\n\\t\\\\\\\"\n", "[A \"B.c\"]\n\tD-1\n", "[a]\n\tb = \"  c  \"  \n", "# x\n[a]\n\n ; y\n\tb=c#d", "[a]\n\tb = \"c\"d\"e\"\n",
		"[a \"b\"]\n\tc = \xff\n", "[-]\n\ta = 1\n", "[a]\n\tb = c \"\" \n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		entries, refusal := parse(text)
		if refusal != nil {
			return
		}
		var want bytes.Buffer
		for _, e := range entries {
			want.WriteString(e.name())
			if e.isSet {
				want.WriteString("\n" + e.value)
			}
			want.WriteByte(0)
		}
		cmd := exec.Command("git", "config", "--no-includes", "--list", "-z", "--file", "-")
		cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
		cmd.Dir = "/"
		cmd.Stdin = bytes.NewReader(text)
		var errs strings.Builder
		cmd.Stderr = &errs
		got, err := cmd.Output()
		if err != nil {
			t.Fatalf("parse accepts %q, git does not: %v %s", text, err, errs.String())
		}
		if !bytes.Equal(got, want.Bytes()) {
			t.Fatalf("parse(%q) = %q, git says %q", text, want.Bytes(), got)
		}
	})
}
