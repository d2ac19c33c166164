package integration

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// TestSelftest has every attempt be tried and none get through, X-01 to X-12,
// as root and without rights, and nothing be left.
func TestSelftest(t *testing.T) {
	for name, uid := range map[string]uint32{"root": 0, "unprivileged": 1000} {
		t.Run(name, func(t *testing.T) {
			if uid != 0 {
				needRoot(t) // to become that user
			}
			w := newRunWorld(t, uid, allowAll)
			var result struct {
				Tried, Through int
				Rows           []struct{ ID, Attempt, Reason string }
			}
			out, errs, code := w.try(executable, "selftest", "--json")
			if err := json.Unmarshal([]byte(out), &result); err != nil || code != 0 || errs != "" {
				t.Fatalf("selftest: code %d, %v\n%s%s", code, err, out, errs)
			}
			if result.Tried < 500 || result.Through != 0 {
				t.Errorf("%d tried, %d got through", result.Tried, result.Through)
			}
			for _, r := range result.Rows {
				if r.Reason != "" {
					t.Errorf("%s %s was not tried: %s", r.ID, r.Attempt, r.Reason)
				}
			}
			w.left()
		})
	}
}

// TestSelftestProfiles runs the rules of each example.
func TestSelftestProfiles(t *testing.T) {
	w := newRunWorld(t, 0, allowAll)
	examples, err := filepath.Glob("../configs/examples/*.yaml")
	must(t, err)
	for _, file := range append(examples, t.TempDir(), w.path("profile.yaml")) {
		at, err := filepath.Abs(file)
		must(t, err)
		if out, errs, code := w.try(executable, "selftest", at); code != 0 || !strings.Contains(out, ", 0 got through\n") {
			t.Errorf("selftest %s: code %d\n%s%s", file, code, out, errs)
		}
	}
	if _, errs, code := w.try(executable, "selftest", "absent.yaml"); code != 1 || errs != "sandboxfs: absent.yaml: no such file or directory\n" {
		t.Errorf("selftest of an absent profile: code %d, %q", code, errs)
	}
	w.left()
}

// TestSelftestKilled has gc remove what a killed self-test leaves.
func TestSelftestKilled(t *testing.T) {
	w := newRunWorld(t, 0, allowAll)
	eventually(t, "a self-test that is killed while it is mounted", func() error {
		cmd := w.cmd(context.Background(), executable, "selftest")
		must(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for {
			select {
			case <-ended:
				return errors.New("it was over before it was seen")
			default:
			}
			if len(mountsBelow(w.Dir)) > 0 {
				cmd.Process.Kill()
				<-ended
				return nil
			}
		}
	})
	w.run(t, executable, "gc")
	w.left()
}
