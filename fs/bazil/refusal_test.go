package bazil

import (
	"io"
	"log/slog"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"bazil.org/fuse"
	"golang.org/x/sys/unix"

	"github.com/sandboxfs/sandboxfs/fs"
	"github.com/sandboxfs/sandboxfs/metrics"
	"github.com/sandboxfs/sandboxfs/policy"
)

// undecided are the requests that ask for nothing that a policy could refuse:
// they give something back, or end something.
var undecided = []string{"release", "releasedir", "forget", "interrupt", "destroy"}

// unreached are the requests that this kernel sends to no view like ours; they
// are tried on the wire.
var unreached = []string{"access"}

// TestMatrixIsComplete fails for a request of the transport, a refusal of it or
// an operation of policies that is tried nowhere.
func TestMatrixIsComplete(t *testing.T) {
	tried := slices.Concat(undecided, unreached, []string{"metrics", "other"})
	var ops policy.OpSet
	for _, r := range rows {
		tried = append(tried, r.request)
		ops |= r.op.Set()
	}
	for _, r := range heldRows {
		tried = append(tried, r.request)
		ops |= r.op.Set()
	}
	served := reflect.TypeFor[operations]()
	for i := range served.NumField() {
		if name := served.Field(i).Name; !slices.Contains(tried, name) {
			t.Errorf("request %s has no row in the matrix", name)
		}
	}
	for op := range policy.Op(policy.NumOps) {
		if !ops.Has(op) {
			t.Errorf("operation %s has no row in the matrix", op)
		}
	}
	for _, name := range refusalNames(t) {
		if _, ok := fallbacks[name]; !ok {
			t.Errorf("the refusal of %s is not tried", name)
		}
	}
}

// refusalNames returns the names of all refusals in operations.go.
func refusalNames(t *testing.T) []string {
	t.Helper()
	source, err := os.ReadFile("operations.go")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`\{"([a-z_0-9]+)", syscall\.`).FindAllStringSubmatch(string(source), -1) {
		names = append(names, m[1])
	}
	if len(names) <= len(refusals) {
		t.Fatalf("%d refusals found in operations.go, want more than the %d by opcode", len(names), len(refusals))
	}
	return names
}

// fallback is what becomes of an operation that the transport refuses.
type fallback struct {
	errno syscall.Errno // that the kernel gets
	why   string        // no system call reaches it; else ""

	// act does it on a file and a directory of a view, and says what of the
	// outcome is not as it should be.
	act func(w *view, fd int) string
}

var fallbacks = map[string]fallback{
	"bmap":               {errno: syscall.ENOSYS, why: "only of a view on a block device"},
	"readdirplus":        {errno: syscall.ENOSYS, why: "only if negotiated"},
	"setupmapping":       {errno: syscall.ENOSYS, why: "only of virtiofs"},
	"removemapping":      {errno: syscall.ENOSYS, why: "only of virtiofs"},
	"syncfs":             {errno: syscall.ENOSYS, why: "only of virtiofs"},
	"getlk":              {errno: syscall.ENOSYS, why: "record locks are the kernel's own"},
	"unknown":            {errno: syscall.ENOSYS, why: "a request of a library that is newer than this"},
	"copy_file_range_64": {errno: syscall.EOPNOTSUPP, why: "what newer kernels ask for in place of copy_file_range"},

	"flush": {errno: syscall.ENOSYS, act: func(w *view, fd int) string {
		return expect(unix.Close(reopened(fd)), nil)
	}},
	"poll": {errno: syscall.ENOSYS, act: func(w *view, fd int) string {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLOUT}}, 0)
		if n != 1 {
			return "poll says that the file is not ready"
		}
		return expect(err, nil)
	}},
	"ioctl": {errno: syscall.ENOSYS, act: func(w *view, fd int) string {
		_, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
		return expect(err, unix.ENOTTY)
	}},
	"rename2": {errno: syscall.EINVAL, act: func(w *view, fd int) string {
		for _, flags := range []uint{unix.RENAME_NOREPLACE, unix.RENAME_WHITEOUT} {
			if err := unix.Renameat2(unix.AT_FDCWD, w.at+"/file", unix.AT_FDCWD, w.at+"/new", flags); err != unix.EINVAL {
				return expect(err, unix.EINVAL)
			}
		}
		return expect(unix.Renameat2(unix.AT_FDCWD, w.at+"/file", unix.AT_FDCWD, w.at+"/other", unix.RENAME_EXCHANGE), unix.EINVAL)
	}},
	"lseek": {errno: syscall.ENOSYS, act: func(w *view, fd int) string {
		data, err := unix.Seek(fd, 2, unix.SEEK_DATA)
		hole, err2 := unix.Seek(fd, 2, unix.SEEK_HOLE)
		if data != 2 || hole != int64(len("content")) || err2 != nil {
			return "the file is not all data"
		}
		return expect(err, nil)
	}},
	"copy_file_range": {errno: syscall.EOPNOTSUPP, act: func(w *view, fd int) string {
		from, to := int64(0), int64(0)
		n, err := unix.CopyFileRange(fd, &from, fd, &to, 0, 0)
		if n != 0 || err != nil {
			return expect(err, nil)
		}
		to = 3
		n, err = unix.CopyFileRange(fd, &from, fd, &to, 3, 0) // "con" over "ten", and back
		if n != 3 {
			return "copy_file_range did not fall back: " + expect(err, nil)
		}
		_, err = unix.Pwrite(fd, []byte("content"), 0)
		return expect(err, nil)
	}},
	"tmpfile": {errno: syscall.EOPNOTSUPP, act: func(w *view, fd int) string {
		_, err := unix.Open(w.at, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		return expect(err, unix.EOPNOTSUPP)
	}},
	"statx": {errno: syscall.ENOSYS, act: func(w *view, fd int) string {
		var sx unix.Statx_t
		err := unix.Statx(unix.AT_FDCWD, w.at+"/file", 0, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &sx)
		if sx.Size != 7 || sx.Mask&unix.STATX_BTIME != 0 {
			return "statx without a birth time did not fall back"
		}
		return expect(err, nil)
	}},
}

func expect(got, want error) string {
	if got != want {
		return "it gave " + strconv.Quote(errText(got)) + ", want " + strconv.Quote(errText(want))
	}
	return ""
}

func errText(err error) string {
	if err == nil {
		return "no error"
	}
	return err.Error()
}

// reopened opens what fd holds once more; -1 where that fails.
func reopened(fd int) int {
	again, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return again
}

// TestRefusedRequests brings about by system calls what the transport refuses:
// the kernel falls back, or the caller gets an errno; nothing of it is decided.
func TestRefusedRequests(t *testing.T) {
	for name, f := range fallbacks {
		if f.act == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := mount(t, allowAll())
			makeFile(t, w.at+"/file", "content")
			makeFile(t, w.at+"/other", "other")
			fd, err := unix.Open(w.at+"/file", unix.O_RDWR|unix.O_CLOEXEC, 0)
			check(t, err, nil, "open")
			defer unix.Close(fd)
			if wrong := f.act(w, fd); wrong != "" {
				t.Error(wrong)
			}
			counted := w.counters("sandboxfs_unsupported_total")
			if counted[name]+counted[name+"_64"] == 0 {
				t.Errorf("the refusal is not counted: %v", counted)
			}
			if w.records.count() > 0 {
				t.Errorf("events: %v", w.records.since(0))
			}
			if got, err := os.ReadFile(w.backing + "/file"); string(got) != "content" || err != nil {
				t.Errorf("the backing has %q, %v", got, err)
			}
			if got := namesIn(t, w.backing); !slices.Equal(got, []string{"file", "other"}) {
				t.Errorf("the backing holds %q", got)
			}
		})
	}
}

// TestUndecidedRequests gives back what is open under a policy that by now
// denies everything: nobody is asked.
func TestUndecidedRequests(t *testing.T) {
	w := mount(t, allowAll())
	makeFile(t, w.at+"/file", "content")
	var fds []int
	for _, path := range []string{w.at, w.at + "/file"} {
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		check(t, err, nil, "open("+path+")")
		fds = append(fds, fd)
	}
	if err := w.server.Swap(rootView(t, w.backing, parsePolicy(t, []string{"nothing deny * /**"}))); err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		check(t, unix.Close(fd), nil, "close")
	}
	eventually(t, "nothing is open", func() bool { return w.server.OpenHandles() == 0 })
	eventually(t, "both were released", func() bool {
		requests := w.counters("sandboxfs_requests_total")
		return requests["release"] > 0 && requests["releasedir"] > 0
	})
	if w.records.count() > 0 {
		t.Errorf("events: %v", w.records.since(0))
	}
}

// TestRefusalsTellNothing uses what the transport refuses to ask for a hidden
// name: the answer is that of a name that is not there. X-06.
func TestRefusalsTellNothing(t *testing.T) {
	w := mount(t, parsePolicy(t, []string{"secret hide * /hidden*", "all allow * /**"}))
	makeFile(t, w.backing+"/hidden", "secret")
	makeFile(t, w.at+"/file", "content")
	for name, call := range map[string]func(path string) error{
		"renameat2(NOREPLACE)": func(p string) error {
			return unix.Renameat2(unix.AT_FDCWD, w.at+"/file", unix.AT_FDCWD, p, unix.RENAME_NOREPLACE)
		},
		"renameat2(EXCHANGE)": func(p string) error {
			return unix.Renameat2(unix.AT_FDCWD, w.at+"/file", unix.AT_FDCWD, p, unix.RENAME_EXCHANGE)
		},
		"statx": func(p string) error {
			return unix.Statx(unix.AT_FDCWD, p, 0, unix.STATX_BTIME, new(unix.Statx_t))
		},
		"open(O_TMPFILE)": func(p string) error {
			_, err := unix.Open(p, unix.O_TMPFILE|unix.O_RDWR, 0o600)
			return err
		},
		"statfs": func(p string) error { return unix.Statfs(p, new(unix.Statfs_t)) },
	} {
		there, absent := call(w.at+"/hidden"), call(w.at+"/hidden-not-there")
		if there != absent {
			t.Errorf("%s of a hidden name = %v if it is there, and %v if not", name, there, absent)
		}
	}
}

// wire is a worker whose answers are read back, without a kernel.
type wire struct {
	*worker
	answers int // descriptor
}

// newWire returns a wire to a server of a view of one file, "file".
func newWire(t *testing.T, w *view) *wire {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	check(t, err, nil, "socketpair")
	t.Cleanup(func() { unix.Close(pair[0]); unix.Close(pair[1]) })
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	l := newLoop(nil, pair[0], w.server, metrics.New(metrics.NewRegistry(), "test"), log)
	to := &wire{newWorker(l), pair[1]}
	to.serial = 1 // of no request that is under way: Yield starts nobody
	return to
}

// ask lets the worker answer a request and returns the errno and the payload.
func (w *wire) ask(t *testing.T, req fuse.Request) (syscall.Errno, []byte) {
	t.Helper()
	req.Hdr().ID, w.request = 77, 77
	w.dispatch(&fs.Caller{Pid: uint32(os.Getpid()), Thread: w}, req)
	buf := make([]byte, headerSize+maxReply)
	n, err := unix.Read(w.answers, buf)
	check(t, err, nil, "read of the answer")
	if n < headerSize || int(order.Uint32(buf)) != n || order.Uint64(buf[8:]) != 77 {
		t.Fatalf("the answer of %d bytes begins with % x", n, buf[:min(n, headerSize)])
	}
	return syscall.Errno(-int32(order.Uint32(buf[4:]))), buf[headerSize:n]
}

// TestRefusalsOnTheWire sends every opcode that is refused, and some that
// nobody has thought of.
func TestRefusalsOnTheWire(t *testing.T) {
	w := newWire(t, mount(t, allowAll()))
	sent := map[string]fuse.Request{
		"flush": &fuse.FlushRequest{}, "poll": &fuse.PollRequest{}, "getlk": &fuse.QueryLockRequest{},
		"unknown": &fuse.NotifyReply{},
	}
	for opcode, r := range refusals {
		sent[r.name] = &fuse.UnrecognizedRequest{Opcode: opcode}
	}
	for name, req := range sent {
		if errno, payload := w.ask(t, req); errno != fallbacks[name].errno || len(payload) > 0 {
			t.Errorf("%s is answered with %v and %d bytes, want %v", name, errno, len(payload), fallbacks[name].errno)
		}
	}
	for _, opcode := range []uint32{0, 7, 19, 54, 99, 4096, 1<<32 - 1} {
		if errno, _ := w.ask(t, &fuse.UnrecognizedRequest{Opcode: opcode}); errno != syscall.ENOSYS {
			t.Errorf("opcode %d is answered with %v, want ENOSYS", opcode, errno)
		}
	}
	for _, name := range refusalNames(t) {
		if sent[name] == nil {
			t.Errorf("%s was not sent", name)
		}
	}
}

// TestAccessOnTheWire asks what the kernel does not under default_permissions.
func TestAccessOnTheWire(t *testing.T) {
	v := mount(t, parsePolicy(t, []string{"no-stat deny stat /file", "all allow * /**"}))
	makeFile(t, v.backing+"/file", "")
	w := newWire(t, v)
	root := fuse.Header{Node: fuse.NodeID(fs.RootID)}
	if errno, _ := w.ask(t, &fuse.AccessRequest{Header: root}); errno != 0 {
		t.Errorf("access of the root = %v", errno)
	}
	if errno, _ := w.ask(t, &fuse.AccessRequest{Header: fuse.Header{Node: 999}}); errno != syscall.ESTALE {
		t.Errorf("access of a node that is not there = %v, want ESTALE", errno)
	}
	open := &fuse.CreateRequest{Header: root, Name: "made", Mode: 0o600, Flags: fuse.OpenReadWrite | fuse.OpenCreate}
	if errno, payload := w.ask(t, open); errno != 0 || len(payload) != entrySize+openSize {
		t.Fatalf("create = %v and %d bytes", errno, len(payload))
	} else {
		node := fuse.NodeID(order.Uint64(payload))
		if err := v.server.Swap(rootView(t, v.backing, parsePolicy(t, []string{"no-made deny stat /made", "all allow * /**"}))); err != nil {
			t.Fatal(err)
		}
		if errno, _ := w.ask(t, &fuse.AccessRequest{Header: fuse.Header{Node: node}}); errno != syscall.EACCES {
			t.Errorf("access of what is denied = %v, want EACCES", errno)
		}
		w.ask(t, &fuse.ReleaseRequest{Handle: fuse.HandleID(order.Uint64(payload[entrySize:]))})
	}
	events := v.records.since(0)
	if len(events) != 1 || !strings.HasPrefix(events[0].Verdict.Rule.Name, "no-") {
		t.Errorf("events: %v", events)
	}
}
