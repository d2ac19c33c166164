package attack

import (
	"errors"
	"fmt"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The part of linux/userfaultfd.h that is needed.
const (
	uffdAPI      = 0xaa
	uffdioAPI    = 0xc018aa3f
	uffdRegister = 0xc020aa00
	uffdMissing  = 1
)

// stall returns n pages that block whoever touches them, the kernel as well,
// until release is called.
func stall(n int) (pages []byte, release func(), err error) {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC, 0, 0)
	if errno != 0 {
		return nil, nil, errno
	}
	release = func() { unix.Close(int(fd)) }
	pages, err = unix.Mmap(-1, 0, n*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, nil, err
	}
	api := [3]uint64{uffdAPI}
	register := [4]uint64{uint64(uintptr(unsafe.Pointer(&pages[0]))), uint64(n * 4096), uffdMissing}
	for _, call := range []struct {
		request uintptr
		arg     unsafe.Pointer
	}{{uffdioAPI, unsafe.Pointer(&api)}, {uffdRegister, unsafe.Pointer(&register)}} {
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, call.request, uintptr(call.arg)); errno != 0 {
			return nil, nil, errno
		}
	}
	return pages, release, nil
}

// TestX05_HeldDirectories holds the locks of many directories, in listings that
// never end, so that the kernel cannot drop names in them: pages of an open
// file must be dropped all the same.
func TestX05_HeldDirectories(t *testing.T) {
	const directories = 80
	needRoot(t)
	w := newWorld(t)
	for i := range directories {
		w.write(fmt.Sprintf("root/%d/f", i), "x")
	}
	w.write("root/secret", "secret")
	w.policy("agent", allowAll)
	v := w.mount(w.profile("p.yaml", agent), launch{})
	fd, err := unix.Open(v.Path+"/secret", unix.O_RDONLY, 0)
	must(t, err)
	defer unix.Close(fd)
	page, err := unix.Mmap(fd, 0, 4, unix.PROT_READ, unix.MAP_SHARED)
	must(t, err)
	defer unix.Munmap(page)
	must(t, mapped(page)())
	pages, release, err := stall(directories)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
		t.Skip("no userfaultfd: ", err)
	}
	must(t, err)
	for i := range directories {
		must(t, stat(fmt.Sprintf("%s/%d/f", v.Path, i))())
		dir, err := unix.Open(fmt.Sprintf("%s/%d", v.Path, i), unix.O_RDONLY, 0)
		must(t, err)
		defer unix.Close(dir)
		go unix.Getdents(dir, pages[i*4096:(i+1)*4096])
	}
	defer release()
	time.Sleep(200 * time.Millisecond) // until they hold their directories; a shorter one tests less
	w.policy("agent", rule("names", "deny", `"*"`, "/*/f"), allowAll)
	time.Sleep(1500 * time.Millisecond) // until the notices of names wait for those; likewise
	w.policy("agent", rule("secret", "deny", `"*"`, "/secret"), rule("names", "deny", `"*"`, "/*/f"), allowAll)
	if err := within(mapped(page))(); errnoName(err) != "EACCES" {
		t.Errorf("a page that is mapped, after a denial = %s, want EACCES", errnoName(err))
	}
}
