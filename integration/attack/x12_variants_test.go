package attack

import "testing"

var _ = register("TestX12_Variants", func(string, func()) []attempt {
	var attempts []attempt
	for _, name := range []string{".GIT", ".Git", ".gi\u200ct", ".gıt", "\u202e.git", ".git ", ".git."} {
		p := "new-" + name
		// On a case-sensitive backing none of them is the guarded name: whatever is
		// made under it must not appear under that.
		attempts = append(attempts, attempt{"stat(.git), after a directory " + p, "ENOENT", func() error {
			if err := mkdir(name)(); err == nil {
				defer unlinkDir(name)
			}
			return stat(".git")()
		}})
	}
	return attempts
})

// TestX12_Variants makes names that look like a guarded one, or are it where
// case does not count.
func TestX12_Variants(t *testing.T) {
	w := newWorld(t)
	v := w.mount(w.profile("p.yaml", "root: ./root\n"), launch{})
	attack(t, w, v, nil, nil)
}
