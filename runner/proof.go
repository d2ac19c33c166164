package runner

import (
	"archive/tar"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
)

var errMismatch = errors.New("the engine's host does not have")

// prove writes a file with a word that nobody can guess into p.Root, and reads
// it at p.HostRoot through a container that is made for that and never started,
// so that any image will do.
func (d *Docker) prove(ctx context.Context, p HostPaths) error {
	word := rand.Text()
	file := filepath.Join(p.Root, ".sandboxfs-proof-"+word[:8])
	if err := os.WriteFile(file, []byte(word), 0o600); err != nil {
		return fmt.Errorf("sandbox_root: %w; make it a directory that this user can write to", err)
	}
	defer os.Remove(file)
	got, err := d.readThrough(ctx, p.HostRoot, filepath.Base(file))
	switch {
	case errors.Is(err, ErrImage) || errors.Is(err, ErrEngine) || ctx.Err() != nil:
		return err
	case err != nil || got != word:
		return fmt.Errorf("%w at sandbox_host_path %s what this process has at sandbox_root %s; set SANDBOX_HOST_PATH to the directory of the host that is mounted here", errMismatch, p.HostRoot, p.Root)
	}
	return nil
}

// readThrough reads the file name in dir of the engine's host.
func (d *Docker) readThrough(ctx context.Context, dir, name string) (string, error) {
	image, err := d.imageID(ctx)
	if err != nil {
		return "", err
	}
	config := &container.Config{
		Image: image, Entrypoint: keepAlive,
		Labels: map[string]string{labelRunner: "true", labelInstance: d.settings.Instance},
	}
	host := &container.HostConfig{
		NetworkMode: "none",
		Mounts: []mount.Mount{{
			Type: mount.TypeBind, Source: dir, Target: "/proof", ReadOnly: true, BindOptions: &mount.BindOptions{NonRecursive: true},
		}},
	}
	probe := namePrefix + "proof-" + rand.Text()[:10]
	created, err := d.engine.ContainerCreate(ctx, config, host, nil, nil, probe)
	if err != nil {
		return "", d.explain(err)
	}
	defer d.undo(probe)
	archive, _, err := d.engine.CopyFromContainer(ctx, created.ID, "/proof/"+name)
	if err != nil {
		return "", d.explain(err)
	}
	defer archive.Close()
	files := tar.NewReader(archive)
	if _, err := files.Next(); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(files, 1024))
	return string(text), err
}
