package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// work is one thing to measure.
type work struct {
	name string
	cold bool // on a fresh mount
	each int  // the result is the time of one of so many steps; 0 means the time of all

	// prepare brings about the state that run starts from, and is not measured.
	prepare func(context.Context, *candidate) error
	run     func(context.Context, *candidate) error
}

// works returns what people do all day. They read one tree, and each candidate
// writes in a directory of its own, where one work uses what another one made.
func works(t trees, s scale) []work {
	type task = func(context.Context, *candidate) error
	tree := func(name string, args ...string) task {
		return func(ctx context.Context, c *candidate) error {
			return command(ctx, filepath.Join(c.dir, repo), name, args...)
		}
	}
	own := func(name string, args ...string) task {
		return func(ctx context.Context, c *candidate) error { return command(ctx, c.own(), name, args...) }
	}
	gone := func(name string) task {
		return func(_ context.Context, c *candidate) error { return os.RemoveAll(filepath.Join(c.own(), name)) }
	}
	find := tree("find", ".", "-ls")
	grep := tree("grep", "-rc", "--exclude-dir=.git", "func main()", ".")
	status := tree("git", "status", "--porcelain")
	clone := own("git", "clone", "-q", "--no-hardlinks", "../"+repo, "clone")
	extract := own("tar", "-xf", t.archive)
	return []work{
		{name: "find -ls, cold", cold: true, run: find},
		{name: "find -ls, warm", prepare: find, run: find},
		{name: "grep -r, cold", cold: true, run: grep},
		{name: "grep -r, warm", prepare: grep, run: grep},
		{name: "git status", prepare: status, run: status},
		{name: "git clone", prepare: gone("clone"), run: clone},
		{name: fmt.Sprintf("tar -x, %d files", s.small), prepare: gone("small"), run: extract},
		{name: "rm -rf of them", run: own("rm", "-rf", "small")},
		{name: "create", each: s.micro, prepare: gone("micro"), run: each(s.micro, create)},
		{name: "stat", each: s.micro, prepare: each(s.micro, stat), run: each(s.micro, stat)},
		{name: "open, read, close", each: s.micro, prepare: each(s.micro, read), run: each(s.micro, read)},
	}
}

// each returns work that does step to n files in one directory.
func each(n int, step func(file string) error) func(context.Context, *candidate) error {
	return func(ctx context.Context, c *candidate) error {
		dir := filepath.Join(c.own(), "micro")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for i := range n {
			if err := step(fmt.Sprintf("%s/%05d", dir, i)); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
}

func create(file string) error { return os.WriteFile(file, []byte("a small file\n"), 0o644) }

func stat(file string) error {
	_, err := os.Lstat(file)
	return err
}

func read(file string) error {
	_, err := os.ReadFile(file)
	return err
}

// take runs the work once on a candidate.
func (w work) take(ctx context.Context, c *candidate) (time.Duration, requests, error) {
	if w.cold || c.start != nil && c.cmd == nil {
		if err := c.fresh(); err != nil {
			return 0, nil, err
		}
	}
	if w.prepare != nil {
		if err := w.prepare(ctx, c); err != nil {
			return 0, nil, err
		}
	}
	before, err := c.requests()
	if err != nil {
		return 0, nil, err
	}
	begin := time.Now()
	if err := w.run(ctx, c); err != nil {
		return 0, nil, fmt.Errorf("%s on %s: %w", w.name, c.name, err)
	}
	took := time.Since(begin)
	if w.each > 0 {
		took /= time.Duration(w.each)
	}
	after, err := c.requests()
	return took, after.since(before), err
}
