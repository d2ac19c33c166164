package fs

import (
	"bytes"
	"log/slog"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/internal/backing"
	"github.com/sandboxfs/sandboxfs/overlay"
	"github.com/sandboxfs/sandboxfs/policy"
)

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		verdict policy.Verdict
		want    syscall.Errno
	}{
		{policy.Verdict{}, syscall.EACCES},
		{policy.Verdict{Decision: policy.Deny, Rule: &policy.Rule{Name: "mine"}}, syscall.EACCES},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.DefaultDeny}, syscall.EACCES},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.Unmounted}, syscall.EACCES},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.NoApprover}, syscall.EACCES},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.SymlinkEscape}, syscall.EACCES},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.ReadonlyMount}, syscall.EROFS},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.Mountpoint}, syscall.EBUSY},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.CrossMount}, syscall.EXDEV},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.Subtree}, syscall.EXDEV},
		{policy.Verdict{Decision: policy.Deny, Rule: policy.Device}, syscall.EPERM},
		{policy.Verdict{Decision: policy.Hide, Rule: &policy.Rule{Name: "mine"}}, syscall.ENOENT},
		{policy.Verdict{Decision: policy.Hide, Rule: policy.ReadonlyMount}, syscall.ENOENT},
	} {
		if got := refusal(c.verdict); got != c.want {
			t.Errorf("refusal(%v by %v) = %v, want %v", c.verdict.Decision, c.verdict.Rule, name(got), name(c.want))
		}
	}
}

func TestAskIsADenial(t *testing.T) {
	w := newWorld(t, "asked ask chmod /**", allowAll)
	w.fill(t, "file")
	mode := uint32(0o600)
	var a Attr
	want(t, w.Setattr(caller(), w.at(t, "/file"), &SetattrIn{Mode: &mode}, &a), syscall.EACCES, "chmod")
	if got := w.records.got[0].Detail; got != "the rule asked asks for approval, and nobody is connected to give it" {
		t.Errorf("the event says %q, and not which rule asks", got)
	}
	w.wantEvents(t, "chmod /file builtin:no-approver")
	if got := unanswered(&policy.Rule{Name: "r", Message: "why"}); !strings.HasSuffix(got, ": why") {
		t.Errorf("of a rule with a message the event says %q", got)
	}
}

func TestAuditGoesAheadAndIsRecorded(t *testing.T) {
	w := newWorld(t, "watched audit * /dir/**", allowAll)
	w.fill(t, "dir/", "dir/file", "plain")
	h := w.open(t, "/dir/file", unix.O_RDONLY)
	w.wantEvents(t, "stat /dir watched", "stat /dir/file watched", "open /dir/file watched", "read /dir/file watched")
	if n, errno := w.Read(caller(), h, make([]byte, 10), 0); n != 8 || errno != 0 {
		t.Errorf("Read = %d, %v", n, name(errno))
	}
	w.wantEvents(t, "read /dir/file watched")
	w.open(t, "/plain", unix.O_RDONLY)
	w.wantEvents(t)
}

// TestUnrecordedAuditDoesNotHappen: what must be recorded and cannot be is EIO,
// and nothing is done; a denial stays one. X-10.
func TestUnrecordedAuditDoesNotHappen(t *testing.T) {
	w := newWorld(t, "watched audit unlink,mkdir,write /**", "never deny rmdir /**", allowAll)
	w.fill(t, "file", "dir/")
	h := w.open(t, "/file", unix.O_RDONLY)
	w.records.fail = true
	var e Entry
	var o Opened
	want(t, w.Unlink(caller(), RootID, "file"), syscall.EIO, "unlink")
	want(t, w.Mkdir(caller(), RootID, "new", 0o755, &e), syscall.EIO, "mkdir")
	want(t, w.Open(caller(), w.at(t, "/file"), unix.O_WRONLY, &o), syscall.EIO, "open to write")
	want(t, w.Rmdir(caller(), RootID, "dir"), syscall.EACCES, "rmdir")
	if _, errno := w.Read(caller(), h, make([]byte, 10), 0); errno != 0 {
		t.Errorf("a read that is plainly allowed = %v", name(errno))
	}
	if !w.has(t, "file") || !w.has(t, "dir") || w.has(t, "new") || w.content(t, "file") != "file" {
		t.Error("the backing has changed")
	}
}

// TestHideOnOtherOperations: a hide rule that does not speak of stat is a deny.
func TestHideOnOtherOperations(t *testing.T) {
	w := newWorld(t, "no-write hide write /file", allowAll)
	w.fill(t, "file")
	var o Opened
	want(t, w.Open(caller(), w.at(t, "/file"), unix.O_WRONLY, &o), syscall.EACCES, "open to write")
	w.wantEvents(t, "write /file no-write")
}

// TestOrderOfRefusals: hide comes before readonly, readonly before deny.
func TestOrderOfRefusals(t *testing.T) {
	view := viewWith(t, overlay.Mount{Target: "/", Source: "/memory", ReadOnly: true,
		Layers: layers(t, "hidden hide * /hidden", "denied deny * /denied", allowAll)})
	w := serve(t, Config{View: view, Trees: []backing.Tree{backing.NewMemory()}})
	for path, errno := range map[string]syscall.Errno{"hidden": syscall.ENOENT, "denied": syscall.EROFS, "free": syscall.EROFS} {
		var e Entry
		want(t, w.Mkdir(caller(), RootID, path, 0o755, &e), errno, "mkdir of "+path)
	}
	var e Entry
	w.fill(t, "denied")
	want(t, w.Lookup(caller(), RootID, "denied", &e), syscall.EACCES, "lookup of what is denied on a readonly mount")
}

// TestNegativeEntries: the kernel may remember that a name is not there, but
// never that one is hidden.
func TestNegativeEntries(t *testing.T) {
	w := newWorld(t, "hidden hide * /hidden*", "denied deny stat /denied*", allowAll)
	w.fill(t, "hidden-there", "denied-there", "dir/")
	for _, c := range []struct {
		path  string
		errno syscall.Errno
		kept  bool
	}{
		{"/none", syscall.ENOENT, true}, {"/dir/none", syscall.ENOENT, true}, {"/denied-none", syscall.ENOENT, true},
		{"/hidden-there", syscall.ENOENT, false}, {"/hidden-none", syscall.ENOENT, false}, {"/denied-there", syscall.EACCES, false},
	} {
		e, errno := w.walk(c.path)
		if errno != c.errno || e.Node != 0 || (e.Valid > 0) != c.kept {
			t.Errorf("lookup of %s = %v, node %d, valid for %v", c.path, name(errno), e.Node, e.Valid)
		}
	}
}

// TestWarmAndColdAgree compares the verdict of a warm node, which is cached,
// with that of a cold one.
func TestWarmAndColdAgree(t *testing.T) {
	w := newWorld(t, "no-chmod deny chmod /file", allowAll)
	w.fill(t, "file")
	n, _ := w.node(w.at(t, "/file"))
	for op := range policy.Op(policy.NumOps) {
		cold := w.gateNode(caller(), n, access{op: op, path: "/file"})
		if got := w.gate(caller(), n, op); got != cold {
			t.Errorf("gate(%s) = %v from the cache, %v from the rules", op, name(got), name(cold))
		}
		if want := op != policy.Chmod; n.allows(w.Generation(), op) != want {
			t.Errorf("the node's cache says %t of %s", !want, op)
		}
	}
}

// TestSwapTurnsTheCache: a verdict of an older generation is worth nothing.
func TestSwapTurnsTheCache(t *testing.T) {
	w := newWorld(t, allowAll)
	w.fill(t, "file")
	h := w.open(t, "/file", unix.O_RDWR)
	if err := w.Swap(viewOf(t, "no-read deny read,write /file", allowAll)); err != nil {
		t.Fatal(err)
	}
	_, errno := w.Read(caller(), h, make([]byte, 10), 0)
	want(t, errno, syscall.EACCES, "read")
	_, errno = w.Write(caller(), h, []byte("x"), 0, WriteIn{})
	want(t, errno, syscall.EACCES, "write")
	if err := w.Swap(viewOf(t, allowAll)); err != nil {
		t.Fatal(err)
	}
	_, errno = w.Read(caller(), h, make([]byte, 10), 0)
	want(t, errno, 0, "read under the third policy")
	if got := w.Generation(); got != 3 {
		t.Errorf("Generation() = %d, want 3", got)
	}
	other := viewWith(t, overlay.Mount{Target: "/other", Source: "/memory", Layers: layers(t, allowAll)})
	if err := w.Swap(other); err == nil {
		t.Error("Swap took a view of other mounts")
	}
}

// TestSecurityAttributes: the kernel asks for security.capability before every
// first write; nobody is asked and nothing is told.
func TestSecurityAttributes(t *testing.T) {
	w := newWorld(t, "no-xattr deny getxattr,setxattr /**", allowAll)
	w.fill(t, "file")
	n := w.at(t, "/file")
	for name, errno := range map[string]syscall.Errno{
		"security.capability": syscall.ENODATA, "security.selinux": syscall.ENODATA, "trusted.x": syscall.ENOTSUP,
		"system.posix_acl_access": syscall.ENOTSUP,
	} {
		_, got := w.Getxattr(caller(), n, name)
		want(t, got, errno, "getxattr of "+name)
	}
	w.wantEvents(t)
	_, got := w.Getxattr(caller(), n, "user.x")
	want(t, got, syscall.EACCES, "getxattr of user.x")
	want(t, w.Setxattr(caller(), n, "security.capability", nil, 0), syscall.EACCES, "setxattr")
	w.wantEvents(t, "getxattr /file no-xattr", "setxattr /file no-xattr")
}

// TestUnrecordedOnce has the log say once that nothing can be recorded, and once
// that it can again.
func TestUnrecordedOnce(t *testing.T) {
	w := newWorld(t, "no deny write /secret", "seen audit open /seen", allowAll)
	w.fill(t, "secret", "seen")
	var log bytes.Buffer
	w.log = slog.New(slog.NewTextHandler(&log, nil))
	open := func(path string, flags uint32, errno syscall.Errno) {
		t.Helper()
		var o Opened
		got := w.Open(caller(), w.at(t, path), flags, &o)
		if got == 0 {
			w.Release(o.Handle)
		}
		want(t, got, errno, "open of "+path)
	}
	open("/seen", unix.O_RDONLY, 0)
	w.records.fail = true
	for range 3 {
		open("/secret", unix.O_WRONLY, syscall.EACCES)
		open("/seen", unix.O_RDONLY, syscall.EIO)
	}
	w.records.fail = false
	open("/seen", unix.O_RDONLY, 0)
	open("/seen", unix.O_RDONLY, 0)
	if got := strings.Count(log.String(), "could not be recorded"); got != 1 {
		t.Errorf("%d lines say that nothing is recorded, want 1:\n%s", got, &log)
	}
	if got := strings.Count(log.String(), "recorded again\" missing=6"); got != 1 {
		t.Errorf("%d lines say that 6 are missing, want 1:\n%s", got, &log)
	}
}

// TestRefuseNeverAllows has a refusal deny whatever its rule says elsewhere.
func TestRefuseNeverAllows(t *testing.T) {
	w := newWorld(t, allowAll)
	for decision, errno := range map[policy.Decision]syscall.Errno{policy.Allow: syscall.EACCES, policy.Audit: syscall.EACCES, policy.Ask: syscall.EACCES, policy.Deny: syscall.EACCES, policy.Hide: syscall.ENOENT} {
		rule := &policy.Rule{Name: "refused", Ops: policy.AllOps, Decision: decision}
		want(t, w.refuse(caller(), access{op: policy.Write, path: "/f"}, rule), errno, "refuse by a rule of decision "+decision.String())
	}
}
