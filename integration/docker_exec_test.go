package integration

import "testing"

// TestExecKeepsTheImage has an exec that names no image use the container that an
// earlier one was given, and a failed one change nothing.
func TestExecKeepsTheImage(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	m := w.mount("profile.yaml")
	plain := []string{executable, "exec", "mnt", "--", "cat", "/proc/sys/kernel/hostname"}
	first := w.run(t, append([]string{executable, "exec", "--image", w.image}, plain[2:]...)...)
	if _, _, code := w.try(executable, "exec", "--image", "sandboxfs-nowhere:1", "mnt", "--", "true"); code == 0 {
		t.Error("exec in an image that is not there = 0, want a failure")
	}
	if again := w.run(t, plain...); again != first {
		t.Errorf("exec without an image was on %s, want %s, the container of the view", again, first)
	}
	local := append([]string{executable, "exec", "--backend", "local"}, plain[2:]...)
	if here := w.run(t, local...); here == first {
		t.Errorf("exec --backend local was in the container %s", first)
	}
	m.stop()
	w.left()
}
