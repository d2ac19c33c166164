package integration

import (
	"archive/tar"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// dockerImage makes the image of this run's containers: a tree of this host's
// programs (a shell with its tools, git, go, python3, node and ed), which is
// made once, and without a registry.
var dockerImage = sync.OnceValue(func() error {
	return importImage(nil, dockerImageName(), func(i *image) {
		i.busybox()
		i.git()
		i.golang()
		i.python()
		i.program("node")
		i.program("ed")
	})
})

// dockerImageName is the name of dockerImage, whether it is there or not.
func dockerImageName() string {
	return "sandboxfs-integration:" + strings.ToLower(strings.TrimPrefix(filepath.Base(tempRoot), "sandboxfs-it-"))
}

// needEngine skips the test where no container engine answers.
func needEngine(t *testing.T) {
	t.Helper()
	if _, errs, code := (command{}).try("docker", "version"); code != 0 {
		t.Skipf("no container engine answers: %s", strings.TrimSpace(errs))
	}
}

// needImage returns the image for containers, or skips the test where no engine
// answers.
func needImage(t *testing.T) string {
	t.Helper()
	needEngine(t)
	must(t, dockerImage())
	return dockerImageName()
}

// dropImage removes the image that needImage has made.
func dropImage() {
	if docker, err := exec.LookPath("docker"); err == nil {
		exec.Command(docker, "rmi", "-f", dockerImageName()).Run()
	}
}

// importImage makes an image of what fill puts into it, on the engine that env
// or the default leads to.
func importImage(env []string, name string, fill func(*image)) error {
	cmd := exec.Command("docker", "import", "-", name)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(in, 1<<20)
	i := &image{tar: tar.NewWriter(buffered), has: map[string]bool{}}
	i.text("etc/passwd", "root:x:0:0::/:/bin/sh\nagent:x:1000:1000::/tmp:/bin/sh\n")
	i.dir("run")
	i.link("var/run", "/run")
	fill(i)
	i.failed(i.tar.Close())
	i.failed(buffered.Flush())
	in.Close()
	if err := cmd.Wait(); err != nil && i.err == nil {
		return fmt.Errorf("docker import: %w: %s", err, out.String())
	}
	return i.err
}

// image is a tree that is being written, with the names that it has already. It
// keeps the first error.
type image struct {
	tar *tar.Writer
	has map[string]bool
	err error
}

func (i *image) failed(err error) bool {
	if i.err == nil && err != nil {
		i.err = err
	}
	return i.err != nil
}

// begin writes a header, after those of the directories above, unless there is
// one of that name.
func (i *image) begin(h tar.Header) bool {
	h.Name = strings.TrimPrefix(h.Name, "/")
	if i.err != nil || i.has[h.Name] {
		return false
	}
	if dir := filepath.Dir(h.Name); dir != "." {
		i.dir(dir)
	}
	i.has[h.Name] = true
	return !i.failed(i.tar.WriteHeader(&h))
}

func (i *image) dir(name string) {
	i.begin(tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755})
}

func (i *image) link(name, target string) {
	i.begin(tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target})
}

func (i *image) text(name, text string) {
	if i.begin(tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}) {
		_, err := io.WriteString(i.tar, text)
		i.failed(err)
	}
}

// file copies what the host path name leads to, under that name.
func (i *image) file(name string) {
	f, err := os.Open(name)
	if i.failed(err) {
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if i.failed(err) || !i.begin(tar.Header{Name: name, Mode: int64(info.Mode().Perm() | 0o444), Size: info.Size()}) {
		return
	}
	_, err = io.Copy(i.tar, f)
	i.failed(err)
}

// tree copies a directory of the host but what has one of the names in without.
func (i *image) tree(dir string, without ...string) {
	i.failed(filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		for _, w := range without {
			if d.Name() == w && d.IsDir() {
				return filepath.SkipDir
			}
		}
		switch {
		case d.Type() == fs.ModeSymlink:
			target, err := os.Readlink(name)
			i.failed(err)
			i.link(name, target)
		case d.IsDir():
			i.dir(name)
		case d.Type().IsRegular():
			i.file(name)
		}
		return i.err
	}))
}

var libraryPath = regexp.MustCompile(`(?m)(/[^ ]+) \(0x`)

// binary copies a program of the host with the libraries that it is linked to.
func (i *image) binary(name string) {
	i.file(name)
	list, _ := exec.Command("ldd", name).Output() // fails for a static one
	for _, lib := range libraryPath.FindAllSubmatch(list, -1) {
		i.file(string(lib[1]))
	}
}

// program copies a program that is found by its name, to where it is and to
// /usr/bin.
func (i *image) program(name string) {
	found, err := exec.LookPath(name)
	if i.failed(err) {
		return
	}
	i.installed(name, found)
}

func (i *image) installed(name, file string) {
	real, err := filepath.EvalSymlinks(file)
	if i.failed(err) {
		return
	}
	i.binary(real)
	i.link("usr/bin/"+name, real)
}

// says returns what a program of the host prints, without the line's end.
func (i *image) says(argv ...string) string {
	out, err := exec.Command(argv[0], argv[1:]...).Output()
	i.failed(err)
	return strings.TrimSpace(string(out))
}

// busybox gives every name of busybox that no other program has.
func (i *image) busybox() {
	found, err := exec.LookPath("busybox")
	if i.failed(err) {
		return
	}
	i.binary(found)
	for name := range strings.FieldsSeq(i.says(found, "--list")) {
		i.link("bin/"+name, found)
	}
}

func (i *image) git() {
	i.program("git")
	i.tree(i.says("git", "--exec-path"))
	i.tree("/usr/share/git-core/templates")
}

func (i *image) golang() {
	root := i.says("go", "env", "GOROOT")
	i.tree(root+"/src", "testdata", "cmd")
	i.tree(root + "/pkg/tool")
	i.tree(root + "/pkg/include")
	for _, name := range []string{"/VERSION", "/go.env", "/bin/go"} {
		i.file(root + name)
	}
	i.link("usr/bin/go", root+"/bin/go")
}

func (i *image) python() {
	i.installed("python3", i.says("python3", "-c", "import sys; print(sys.executable)"))
	stdlib := i.says("python3", "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))")
	i.tree(stdlib, "site-packages", "dist-packages", "__pycache__", "test")
	modules, _ := filepath.Glob(stdlib + "/lib-dynload/*.so")
	for _, m := range modules {
		i.binary(m)
	}
}
