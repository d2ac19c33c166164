package integration

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// dind is the program in a container of the site's engine. The host's directory
// volume is /var/sandboxes in it.
type dind struct {
	*site
	volume string
	name   string
}

// newDind makes an image of the program, and a volume on a shared mount with a
// profile at work.yaml whose root is work.
func newDind(t *testing.T) *dind {
	t.Helper()
	s := newSite(t)
	d := &dind{site: s, volume: s.mkdir("volume"), name: "daemon"}
	s.mkdir("image/lib64")
	s.write("image/etc/passwd", "root:x:0:0::/:/bin/sh\n")
	for _, program := range []string{executable, strings.TrimSpace(s.run(t, "sh", "-c", "command -v fusermount3"))} {
		s.run(t, "cp", program, s.path("image/bin/"))
		libraries, _, _ := s.try("ldd", program) // a static one has none
		for _, library := range regexp.MustCompile(`/\S+`).FindAllString(libraries, -1) {
			s.run(t, "sh", "-c", `mkdir -p "$2$(dirname "$1")" && cp -L "$1" "$2$1"`, "sh", library, s.path("image"))
		}
	}
	must(t, os.Rename(s.path("image/bin/"+fileName(executable)), s.path("image/bin/sandboxfs")))
	must(t, os.MkdirAll(s.path("image/tmp"), 0o755))
	s.run(t, "sh", "-c", `tar -C "$1" -c . | docker import - "$2"`, "sh", s.path("image"), s.image)
	s.write("volume/work/f", "through the view\n")
	s.write("volume/work/.env", "TOKEN=1\n")
	s.write("volume/policies/agent.yaml", policyText("agent", []string{rule("no-dotenv", "deny", `"*"`, "/**/.env"), allowAll}))
	s.write("volume/work.yaml", "version: 1\nroot: ./work\npolicy: agent\npolicies: [./policies]\n")
	s.run(t, s.in("sh", "-c", `mount --bind "$1" "$1" && mount --make-rshared "$1"`, "sh", d.volume)...)
	return d
}

func fileName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// start runs the container, with the volume mounted as propagation says.
func (d *dind) start(propagation string, flags ...string) {
	d.t.Helper()
	argv := []string{
		"docker", "run", "-d", "--name", d.name, "--network", "none", "--cap-add", "SYS_ADMIN", "--device", "/dev/fuse",
		"--security-opt", "apparmor=unconfined", "--security-opt", "seccomp=unconfined",
		"-v", d.volume + ":/var/sandboxes" + propagation, "-v", d.engine + "/docker.sock:/var/run/docker.sock",
	}
	d.run(d.t, append(append(argv, flags...), d.image, "sleep", "100000")...)
	d.t.Cleanup(d.stop)
}

func (d *dind) stop() { d.try("docker", "rm", "-f", d.name) }

// inside runs the program in its container, with variables of the environment.
func (d *dind) inside(env []string, args ...string) (stdout, stderr string, code int) {
	argv := []string{"docker", "exec"}
	for _, e := range env {
		argv = append(argv, "-e", e)
	}
	return d.try(append(append(argv, d.name, "sandboxfs"), args...)...)
}

// work is a command line of run.
func (d *dind) work(script string, flags ...string) []string {
	args := append([]string{"run", "--image", d.image}, flags...)
	return append(args, "/var/sandboxes/work.yaml", "--", "sh", "-c", script)
}

// TestDaemonInContainerPaths has the program in a container find, be told, or
// be told wrongly, what its directory is on the host: S3-01, S3-02.
func TestDaemonInContainerPaths(t *testing.T) {
	d := newDind(t)
	d.start(":rshared")
	root, host := "SANDBOX_ROOT=/var/sandboxes", "SANDBOX_HOST_PATH="
	d.write("volume/config.yaml", "sandbox_root: /var/sandboxes\nsandbox_host_path: "+d.volume+"\n")
	const script = "cat f; cat .env; echo made >made; sed -n 's/.* \\(fuse.sandboxfs\\) .*/\\1/p' /proc/self/mountinfo"
	for _, tt := range []struct {
		name  string
		env   []string
		flags []string
	}{
		{"found by inspection", []string{root}, nil},
		{"right", []string{root, host + d.volume}, nil},
		{"of the config", []string{"XDG_CONFIG_HOME=/run/xdg"}, nil},
		{"isolated", []string{root}, []string{"--network", "isolated"}}, // resolv.conf is bound as well
	} {
		d.run(t, "docker", "exec", d.name, "sh", "-c", "mkdir -p /run/xdg/sandboxfs; cp /var/sandboxes/config.yaml /run/xdg/sandboxfs")
		out, errs, code := d.inside(tt.env, d.work(script, tt.flags...)...)
		if code != 0 || out != "through the view\nfuse.sandboxfs\n" || !strings.Contains(errs, "Permission denied") {
			t.Errorf("%s: run = %d\n%s%s", tt.name, code, out, errs)
		}
		if !strings.Contains(errs, "sandbox root /var/sandboxes is "+d.volume+" on the engine's host") {
			t.Errorf("%s: the start does not tell both paths:\n%s", tt.name, errs)
		}
		if got := read(t, d.path("volume/work/made")); got != "made\n" {
			t.Errorf("%s: the host has %q", tt.name, got)
		}
		must(t, os.Remove(d.path("volume/work/made")))
	}
	// The host has a directory at the path that a view has in the container.
	d.write("trap/secret", "of the host\n")
	trap := d.path("trap")
	d.run(t, "docker", "exec", d.name, "mkdir", "-p", trap)
	for _, tt := range []struct {
		name  string
		env   []string
		flags []string
		want  []string
	}{
		{"wrong", []string{root, host + d.path("root")}, nil, []string{"/var/sandboxes", d.path("root"), "does not have"}},
		{"absent", []string{root, host + "/nowhere"}, nil, []string{"/var/sandboxes", "/nowhere"}},
		{"not absolute", []string{root, host + "volume"}, nil, []string{"sandbox_host_path \"volume\" is not a clean absolute path"}},
		{"host path alone", []string{host + d.volume}, nil, []string{"without sandbox_root"}},
		{"none", nil, []string{"--at", trap}, []string{"set SANDBOX_ROOT"}},
		{"outside", []string{root}, []string{"--at", trap}, []string{trap, "not within sandbox_root /var/sandboxes", d.volume}},
		{"no volume", []string{"SANDBOX_ROOT=/etc"}, nil, []string{"/etc is not on a volume of this container"}},
	} {
		out, errs, code := d.inside(tt.env, d.work("ls; cat secret; echo made >made", append(tt.flags, "--backend", "docker")...)...)
		last := errs[strings.LastIndex(strings.TrimSpace(errs), "\n")+1:]
		for _, want := range tt.want {
			if code != 1 || out != "" || !strings.HasPrefix(last, "sandboxfs: ") || !strings.Contains(last, want) {
				t.Errorf("%s: run = %d\n%s%s\nwant a last line with %q", tt.name, code, out, errs, want)
			}
		}
		for _, made := range []string{"volume/work/made", "trap/made"} {
			if _, err := os.Stat(d.path(made)); err == nil {
				t.Errorf("%s: the command ran and made %s", tt.name, made)
			}
		}
	}
	d.stop()
	d.start("") // private, as Docker has it by default
	if out, errs, code := d.inside([]string{root}, d.work("echo made >made")...); code != 1 || !strings.Contains(errs, "/var/sandboxes does not pass mounts on") {
		t.Errorf("run on a volume that is not shared = %d\n%s%s", code, out, errs)
	}
	d.stop()
	d.start(":rshared", "-v", trap+":/var/sandboxes/other")
	d.run(t, "docker", "exec", d.name, "mkdir", "-p", "/var/sandboxes/other/at")
	if out, errs, code := d.inside([]string{root}, d.work("echo made >made", "--at", "/var/sandboxes/other/at")...); code != 1 || !strings.Contains(errs, "on the mount /var/sandboxes/other") {
		t.Errorf("run on another volume = %d\n%s%s", code, out, errs)
	}
	d.stop()
	if left := names(t, d.path("volume/.sandboxfs")); len(left) > 0 {
		t.Errorf("left in the volume: %q", left)
	}
	d.left()
}

// TestDaemonInContainerNested has a view of a daemon in a container be seen by
// the host and by containers of both, and outlive the daemon's container as a
// dead mount that the host clears: S3-01, S3-02.
func TestDaemonInContainerNested(t *testing.T) {
	d := newDind(t)
	d.start(":rshared", "-e", "SANDBOX_ROOT=/var/sandboxes")
	must(t, os.Chmod(d.path("volume/work"), 0o777))
	for _, name := range []string{"one", "two"} {
		d.mkdir("volume/" + name)
		if out, errs, code := d.inside(nil, "mount", "--background", "--metrics", "off", "/var/sandboxes/work.yaml", "/var/sandboxes/"+name); code != 0 {
			t.Fatalf("mount = %d\n%s%s", code, out, errs)
		}
	}
	// The host sees the view, under its policy.
	out, errs, _ := d.try(d.in("sh", "-c", "cd "+d.volume+"/one && cat f .env")...)
	if out != "through the view\n" || !strings.Contains(errs, "ermission denied") {
		t.Errorf("the host sees %q, %q", out, errs)
	}
	// A bind by hand works with the host's path alone.
	for source, want := range map[string]int{d.volume + "/one": 0, "/var/sandboxes/one": 125} {
		out, errs, code := d.try("docker", "run", "--rm", "--mount", "type=bind,source="+source+",target=/data", d.image, "cat", "/data/f")
		if code != want || want == 0 && out != "through the view\n" {
			t.Errorf("docker run with a bind of %s = %d\n%s%s", source, code, out, errs)
		}
	}
	exec := func(name, script string) (string, string, int) {
		return d.inside(nil, "exec", "--image", d.image, "/var/sandboxes/"+name, "--", "sh", "-c", script)
	}
	for _, name := range []string{"one", "two"} {
		out, errs, code := exec(name, "cat f .env; echo "+name+" >made; hostname")
		if code != 0 || !strings.HasPrefix(out, "through the view\n") || !strings.Contains(errs, "ermission denied") || read(t, d.path("volume/work/made")) != name+"\n" {
			t.Errorf("exec = %d\n%s%s", code, out, errs)
		}
	}
	// gc of the host knows no record of these views, and leaves them alone.
	first, _, _ := exec("one", "hostname")
	if out, errs, code := d.sandboxfs("gc"); code != 0 || strings.Contains(out, "removed container ") || strings.Contains(out, d.volume) {
		t.Errorf("gc on the host of live views = %d\n%s%s", code, out, errs)
	}
	if second, errs, _ := exec("one", "hostname"); first == "" || second != first {
		t.Errorf("exec after gc on the host was in %q, before in %q\n%s", second, first, errs)
	}
	d.stop()
	for _, name := range []string{"one", "two"} {
		if _, errs, code := d.try(d.in("ls", d.volume+"/"+name)...); code == 0 || !strings.Contains(errs, "not connected") {
			t.Errorf("the view %s of a daemon whose container is gone: %d %s", name, code, errs)
		}
	}
	if out, errs, code := d.sandboxfs("umount", d.volume+"/one"); code != 0 {
		t.Errorf("umount on the host = %d\n%s%s", code, out, errs)
	}
	d.env = append(d.env, "SANDBOX_ROOT="+d.volume)
	out, errs, code := d.sandboxfs("gc")
	for _, want := range []string{"removed mount " + d.volume + "/two", "removed container sandboxfs-", "removed record " + d.volume + "/.sandboxfs/"} {
		if code != 0 || !strings.Contains(out, want) {
			t.Errorf("gc on the host = %d\n%s%s\nwant %q", code, out, errs, want)
		}
	}
	for _, name := range []string{"one", "two"} {
		if out, errs, code := d.try(d.in("ls", d.volume+"/"+name)...); code != 0 || out != "" {
			t.Errorf("the mountpoint %s after it was cleared: %d %s%s", name, code, out, errs)
		}
	}
	if left := names(t, d.path("volume/.sandboxfs")); len(left) > 0 {
		t.Errorf("left in the volume: %q", left)
	}
	d.left()
	if mounts := d.run(t, d.in("cat", "/proc/self/mountinfo")...); strings.Contains(mounts, "fuse.sandboxfs work") {
		t.Errorf("left behind: a mount of the view\n%s", mounts)
	}
}
