package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// benchImage is made of busybox, and removed afterwards.
const benchImage = "sandboxfs-bench:1"

// pair is the same work by docker alone and by sandboxfs.
type pair struct {
	name          string
	docker, views []string
}

// compareContainers prints the time of a command in a container, beside that of
// docker alone with the same view bound in, each in turn. Where there is no
// engine it says so.
func compareContainers(ctx context.Context, w io.Writer, dir, sandboxfs string, rounds int) (err error) {
	if out, err := exec.CommandContext(ctx, "docker", "version").CombinedOutput(); err != nil {
		_, err = fmt.Fprintf(w, "\nContainers are not compared: %s\n", strings.TrimSpace(string(out)))
		return err
	}
	if err := importImage(ctx, dir); err != nil {
		return err
	}
	later := func(name string, args ...string) {
		if out, runErr := exec.Command(name, args...).CombinedOutput(); runErr != nil && err == nil {
			err = fmt.Errorf("%s %q: %w: %s", name, args, runErr, out)
		}
	}
	defer later("docker", "rmi", benchImage)
	view, profile, err := containerView(dir, sandboxfs)
	if err != nil {
		return err
	}
	if err := view.fresh(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, view.stop()) }()
	name := filepath.Base(dir)
	bind := view.dir + ":" + view.dir
	limits := []string{"--init", "--network", "none", "--read-only", "--user", "1000:1000", "--cap-drop", "ALL", "-w", view.dir, "-v", bind}
	start := append(append([]string{"run", "-d", "--name", name}, limits...), benchImage, "sleep", "100000")
	if err := command(ctx, dir, "docker", start...); err != nil {
		return err
	}
	defer later("docker", "rm", "-f", name)
	pairs := []pair{
		{"a command in a running container", []string{"docker", "exec", name, "true"},
			[]string{sandboxfs, "exec", "--image", benchImage, view.dir, "--", "true"}},
		{"a container for one command", append(append([]string{"docker", "run", "--rm"}, limits...), benchImage, "true"),
			[]string{sandboxfs, "run", "--image", benchImage, profile, "--", "true"}},
	}
	fmt.Fprint(w, "\nContainers, in milliseconds:\n\n| | docker | sandboxfs | sandboxfs / docker |\n|---|---:|---:|---:|\n")
	for _, p := range pairs {
		if err := p.print(ctx, w, dir, 5*rounds); err != nil {
			return err
		}
	}
	return nil
}

// print measures n times, after one time that is not counted.
func (p pair) print(ctx context.Context, w io.Writer, dir string, n int) error {
	var times [2][]time.Duration
	for i := range n + 1 {
		for k := range 2 {
			k = (k + i) % 2
			argv := [][]string{p.docker, p.views}[k]
			began := time.Now()
			if err := command(ctx, dir, argv[0], argv[1:]...); err != nil {
				return err
			}
			if i > 0 {
				times[k] = append(times[k], time.Since(began))
			}
		}
	}
	docker, views := median(times[0]), median(times[1])
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	_, err := fmt.Fprintf(w, "| %s | %.0f | %.0f | %.2f |\n", p.name, ms(docker), ms(views), ms(views)/ms(docker))
	return err
}

// containerView returns a view that is not mounted yet, and its profile.
func containerView(dir, sandboxfs string) (*candidate, string, error) {
	profile, at := filepath.Join(dir, "containers.yaml"), filepath.Join(dir, "mnt-containers")
	for _, d := range []string{at, filepath.Join(dir, "shown")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, "", err
		}
	}
	err := os.WriteFile(profile, []byte("version: 1\nroot: ./shown\n"), 0o600)
	return &candidate{name: "sandboxfs", dir: at, start: []string{sandboxfs, "mount", "--metrics", "off", profile, at}}, profile, err
}

// importImage makes benchImage.
func importImage(ctx context.Context, dir string) error {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return fmt.Errorf("%w; apt install busybox-static", err)
	}
	bin := filepath.Join(dir, "image", "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	if err := command(ctx, bin, "cp", busybox, "busybox"); err != nil {
		return err
	}
	for _, name := range []string{"sleep", "true"} {
		if err := os.Symlink("busybox", filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return command(ctx, dir, "sh", "-c", "tar -C image -c . | docker import - "+benchImage)
}
