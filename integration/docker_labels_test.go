package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// labels are those of a container.
func (w *dockerWorld) labels(id string) map[string]string {
	w.t.Helper()
	var labels map[string]string
	must(w.t, json.Unmarshal([]byte(w.docker("inspect", "-f", "{{json .Config.Labels}}", id)), &labels))
	return labels
}

// TestDockerLabels has exec find a container of the right name and image whose
// labels are not all right, one after the other, and replace it with the reason.
// S4-04.
func TestDockerLabels(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	m := w.mount("profile.yaml")
	w.run(t, w.execArgs("true")...)
	id := w.container()
	right := w.labels(id)
	name := strings.TrimPrefix(strings.TrimSpace(w.docker("inspect", "-f", "{{.Name}}", id)), "/")
	suffixes := []string{
		"image.version", "image.id", "security.profile", "capabilities", "readonly", "network", "dns.profile", "dns.servers",
		"tmpfs.tmp", "tmpfs.run", "tmpfs.var_tmp", "tmpfs.var_run", "mounts",
	}
	for _, s := range suffixes {
		if right["sandboxfs."+s] == "" {
			t.Errorf("the container has no label sandboxfs.%s: %q", s, right)
		}
	}
	for i, key := range slices.Sorted(maps.Keys(right)) {
		wrong := maps.Clone(right)
		want := "label " + key + ` is "another"`
		if wrong[key] = "another"; i%2 == 0 {
			delete(wrong, key)
			want = "label " + key + " is missing"
		}
		args := []string{"create", "--name", name, "--network", "none"}
		for k, v := range wrong {
			args = append(args, "--label", k+"="+v)
		}
		w.docker("rm", "-f", name)
		stale := w.docker(append(args, w.image, "true")...)
		_, errs, code := w.try(w.execArgs("true")...)
		if code != 0 || !strings.Contains(errs, "the container is made anew: "+want) {
			t.Errorf("exec with %s = %d\n%s\nwant the reason %s", key, code, errs, want)
		}
		now := strings.TrimSpace(w.docker("inspect", "-f", "{{.Id}}", name))
		if now == strings.TrimSpace(stale) || !maps.Equal(w.labels(name), right) {
			t.Errorf("exec with %s has container %s of %q, want another one with all labels", key, now, w.labels(name))
		}
	}
	m.stop()
	w.left()
}

// setting is an edit of the profile or another flag, and what comes of it.
type setting struct {
	docker string   // a line for the profile's block docker, kept for those after
	flags  []string // of exec, kept as well
	reason string   // label that is named
	shown  string   // what of the container docker inspect is to show
	want   string
}

// TestDockerSettings changes the settings of a view's container one by one: each
// one replaces the container and is in force, and without a change it stays. S4-02,
// S4-03, S4-04.
func TestDockerSettings(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	must(t, os.Chmod(w.path("root"), 0o777))
	image := "sandboxfs-integration-settings:" + strings.ToLower(w.Dir[len(w.Dir)-8:])
	w.docker("tag", w.image, image)
	t.Cleanup(func() { w.docker("rmi", "-f", image) })
	base := "root: ./root\npolicy: agent\npolicies: [./policies]\ndocker:\n  image: " + image + "\n"
	w.profile(base)
	m := w.mount("profile.yaml")
	flags := []string{}
	exec := func() (id, errs string) {
		t.Helper()
		argv := slices.Concat([]string{executable, "exec"}, flags, []string{"mnt", "--", "sh", "-c", "cat /etc/resolv.conf; id -u"})
		out, errs, code := w.try(argv...)
		if code != 0 {
			t.Fatalf("%q = %d\n%s%s", argv, code, out, errs)
		}
		return w.container(), out + errs
	}
	last, _ := exec()
	for _, s := range []setting{
		{docker: "read_only: false", reason: "sandboxfs.readonly", shown: ".HostConfig.ReadonlyRootfs", want: "false"},
		{docker: "cap_drop: [MKNOD]", reason: "sandboxfs.capabilities", shown: ".HostConfig.CapDrop", want: "MKNOD"},
		{docker: "capAdd: [CAP_NET_RAW]", reason: "sandboxfs.capabilities", shown: ".HostConfig.CapAdd", want: "NET_RAW"},
		{docker: "unconfined_security: true", reason: "sandboxfs.security.profile", shown: ".HostConfig.SecurityOpt", want: "seccomp=unconfined apparmor=unconfined"},
		{docker: "runtime: runc", reason: "sandboxfs.runtime", shown: ".HostConfig.Runtime", want: "runc"},
		{flags: []string{"--network", "local"}, reason: "sandboxfs.network", shown: ".HostConfig.NetworkMode", want: "sandboxfs-local"},
		{docker: "local_dns_servers: [192.0.2.1]", reason: "sandboxfs.dns.profile", shown: "out", want: "nameserver 192.0.2.1\n"},
		{flags: []string{"--network", "isolated"}, reason: "sandboxfs.dns.profile", shown: "out", want: "nameserver 1.1.1.1\nnameserver 8.8.8.8\n"},
		{docker: "isolatedDnsServers: [192.0.2.2]", reason: "sandboxfs.dns.servers", shown: "out", want: "nameserver 192.0.2.2\n"},
		{flags: []string{"--image", w.image}, reason: "", shown: ".HostConfig.Tmpfs", want: "/var/tmp"}, // the same image by another name
	} {
		if s.docker != "" {
			base += "  " + s.docker + "\n"
			w.profile(base)
		}
		flags = append(flags, s.flags...)
		id, out := exec()
		if anew := strings.Contains(out, "the container is made anew: label "+s.reason); anew != (s.reason != "") || (id != last) != anew {
			t.Errorf("%q %q: container %s after %s and\n%s\nwant another one because of %s", s.docker, s.flags, id, last, out, s.reason)
		}
		if s.shown != "out" {
			out = w.docker("inspect", "-f", "{{"+s.shown+"}}", id)
		}
		if !strings.Contains(out, s.want) {
			t.Errorf("%q %q: %s is\n%s\nwant %q", s.docker, s.flags, s.shown, out, s.want)
		}
		if again, out := exec(); again != id || strings.Contains(out, "anew") {
			t.Errorf("%q %q: without a change there is container %s after %s:\n%s", s.docker, s.flags, again, id, out)
		}
		last = id
	}
	w.profile(base + "owner: {uid: 1001, gid: 1001}\n")
	if id, out := exec(); id == last || !strings.Contains(out, "sandboxfs.user") || !strings.Contains(out, "\n1001\n") {
		t.Errorf("with another owner: container %s after %s:\n%s", id, last, out)
	}
	m.stop()
	w.left()
}

// TestDockerNewImage has a container of an image that was made anew be replaced.
// S4-04.
func TestDockerNewImage(t *testing.T) {
	w := newDockerWorld(t, allowAll)
	w.image = "sandboxfs-integration-new:" + strings.ToLower(w.Dir[len(w.Dir)-8:])
	t.Cleanup(func() { w.docker("rmi", "-f", w.image) })
	m := w.mount("profile.yaml")
	for i, want := range []string{"", "the container is made anew: label sandboxfs.image.id is"} {
		var old string
		if i > 0 {
			old = strings.TrimSpace(w.docker("image", "inspect", "-f", "{{.Id}}", w.image))
		}
		must(t, importImage(nil, w.image, func(i2 *image) { i2.busybox(); i2.text("etc/made", fmt.Sprint(i)) }))
		out, errs, code := w.try(w.execArgs("cat /etc/made")...)
		if code != 0 || out != fmt.Sprint(i) || !strings.Contains(errs, want) {
			t.Errorf("exec in image %d = %d %q\n%s\nwant %s", i, code, out, errs, want)
		}
		if old != "" {
			w.docker("rmi", "-f", old)
		}
	}
	m.stop()
	w.left()
}
