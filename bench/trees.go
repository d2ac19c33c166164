package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// trees is what the work is done on: a repository with the source of the
// standard library, and an archive of small files. It is the same every time.
type trees struct {
	backing string // the directory that every candidate shows
	archive string // outside of it
	files   int    // of the repository
}

// repo is the repository's name in backing.
const repo = "repo"

func (t *trees) make(ctx context.Context, s scale) error {
	dst := filepath.Join(t.backing, repo)
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	for i := range s.copies {
		n, err := copySource(filepath.Join(strings.TrimSpace(string(goroot)), "src"), filepath.Join(dst, fmt.Sprint("copy", i)))
		if err != nil {
			return err
		}
		t.files += n
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"commit", "-q", "-m", "all"}, {"gc", "-q"}} {
		if err := command(ctx, dst, "git", append([]string{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "maintenance.auto=false"}, args...)...); err != nil {
			return err
		}
	}
	return writeArchive(t.archive, s.small)
}

// copySource copies the regular files, and says how many there are.
func copySource(src, dst string) (n int, err error) {
	err = fs.WalkDir(os.DirFS(src), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dst, name), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		n++
		text, err := os.ReadFile(filepath.Join(src, name))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dst, name), text, 0o644)
	})
	return n, err
}

// writeArchive writes n files of up to 8 KiB, a hundred in each directory.
func writeArchive(file string, n int) error {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		text := bytes.Repeat([]byte{byte('a' + i%26)}, random.IntN(8<<10))
		h := &tar.Header{Name: fmt.Sprintf("small/%03d/%05d", i/100, i), Mode: 0o644, Size: int64(len(text)), ModTime: time.Unix(1e9, 0)}
		if err := w.WriteHeader(h); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.WriteFile(file, b.Bytes(), 0o600)
}

// machine says where the numbers come from.
func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return fmt.Sprintf("%d cores, Linux %s, %s", runtime.NumCPU(), bytes.TrimSpace(kernel), runtime.Version())
}

// command runs a program in dir, and tells what it said if it fails.
func command(ctx context.Context, dir, name string, args ...string) error {
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, &said
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w %s", name, err, bytes.TrimSpace(said.Bytes()))
	}
	return nil
}
