package sysmounts

import (
	"testing"
	"testing/fstest"
)

const (
	versionDebian = "Linux version 6.12.41+deb13-amd64 (debian-kernel@lists.debian.org) (x86_64-linux-gnu-gcc-14 (Debian 14.2.0-19) 14.2.0, GNU ld (GNU Binutils for Debian) 2.44) #1 SMP PREEMPT_DYNAMIC Debian 6.12.41-1 (2025-08-12)\n"
	versionAzure  = "Linux version 6.8.0-1030-azure (buildd@lcy02-amd64-078) (x86_64-linux-gnu-gcc-13 (Ubuntu 13.3.0-6ubuntu2~24.04) 13.3.0, for microsoft/azure) #35-Ubuntu SMP\n"
	versionWSL1   = "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com) (gcc version 5.4.0 (GCC) ) #1237-Microsoft Sat Sep 11 14:32:00 PST 2021\n"
	versionWSL2   = "Linux version 5.15.153.1-microsoft-standard-WSL2 (root@941d701f84f1) (gcc (GCC) 11.2.0, GNU ld (GNU Binutils) 2.37) #1 SMP Fri Mar 29 23:14:13 UTC 2024\n"

	cgroupV2    = "0::/\n"
	cgroupHost  = "0::/init.scope\n"
	cgroupV1    = "12:pids:/docker/3f9a5b0e7f1c\n11:memory:/docker/3f9a5b0e7f1c\n1:name=systemd:/docker/3f9a5b0e7f1c\n"
	cgroupKube  = "11:cpu,cpuacct:/kubepods/burstable/pod9f1e/5b7c\n1:name=systemd:/kubepods/burstable/pod9f1e/5b7c\n"
	cgroupKube2 = "0::/kubepods.slice/kubepods-besteffort.slice/cri-containerd-5b7c.scope\n"
	cgroupPod   = "0::/machine.slice/libpod-8d1f.scope/container\n"

	mountHost = `22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro
23 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
611 22 0:54 / /var/lib/docker/overlay2/0c1d/merged rw,relatime shared:300 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/AB,upperdir=/u,workdir=/w
`
	mountDocker = `1042 873 0:54 / / rw,relatime master:300 - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/AB:/var/lib/docker/overlay2/l/CD,upperdir=/u,workdir=/w
1043 1042 0:57 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
`
	mountRootless = `713 640 0:47 / / rw,nodev,relatime - fuse.fuse-overlayfs fuse-overlayfs rw,user_id=0,group_id=0
`
	mountLive = `29 1 0:26 / / rw,relatime shared:1 - overlay /cow rw,lowerdir=/filesystem.squashfs,upperdir=/cow/upper,workdir=/cow/work
`
)

func TestS1_06_Detect(t *testing.T) {
	host := map[string]string{"proc/version": versionDebian, "proc/1/cgroup": cgroupHost, "proc/self/mountinfo": mountHost}
	for _, c := range []struct {
		name  string
		os    string
		files map[string]string // besides, or instead of, those of a plain host
		env   map[string]string
		want  Environment
	}{
		{"plain host with Docker on it", "linux", nil, nil, Environment{}},
		{"nothing readable", "linux", map[string]string{"proc/version": "", "proc/1/cgroup": "", "proc/self/mountinfo": ""}, nil, Environment{}},
		{"live system", "linux", map[string]string{"proc/self/mountinfo": mountLive}, nil, Environment{}},
		{"virtual machine of a cloud", "linux", map[string]string{"proc/version": versionAzure}, nil, Environment{}},
		{"unrelated environment of process 1", "linux", map[string]string{"proc/1/environ": "HOME=/\x00my_container=x\x00"}, nil, Environment{}},

		{"Docker, cgroup v1", "linux", map[string]string{"proc/1/cgroup": cgroupV1}, nil, Environment{Container: true}},
		{"Docker, cgroup v2, mark file", "linux", map[string]string{"proc/1/cgroup": cgroupV2, ".dockerenv": ""}, nil, Environment{Container: true}},
		{"Docker, cgroup v2, root alone tells", "linux", map[string]string{"proc/1/cgroup": cgroupV2, "proc/self/mountinfo": mountDocker}, nil, Environment{Container: true}},
		{"Podman, mark file", "linux", map[string]string{"proc/1/cgroup": cgroupV2, "run/.containerenv": "engine=\"podman-5.4.2\"\n"}, nil, Environment{Container: true}},
		{"Podman, own environment", "linux", map[string]string{"proc/1/cgroup": cgroupV2}, map[string]string{"container": "podman"}, Environment{Container: true}},
		{"Podman, cgroup of the host", "linux", map[string]string{"proc/1/cgroup": cgroupPod}, nil, Environment{Container: true}},
		{"Podman without root", "linux", map[string]string{"proc/1/cgroup": cgroupV2, "proc/self/mountinfo": mountRootless}, nil, Environment{Container: true}},
		{"environment of process 1, first", "linux", map[string]string{"proc/1/environ": "container=lxc\x00TERM=linux\x00"}, nil, Environment{Container: true}},
		{"environment of process 1, later", "linux", map[string]string{"proc/1/environ": "TERM=linux\x00container=systemd-nspawn\x00"}, nil, Environment{Container: true}},
		{"Kubernetes, cgroup v1", "linux", map[string]string{"proc/1/cgroup": cgroupKube}, nil, Environment{Container: true}},
		{"Kubernetes, cgroup of the host", "linux", map[string]string{"proc/1/cgroup": cgroupKube2}, nil, Environment{Container: true}},
		{"Kubernetes, cgroup v2", "linux", map[string]string{"proc/1/cgroup": cgroupV2}, map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, Environment{Container: true}},

		{"WSL 1", "linux", map[string]string{"proc/version": versionWSL1}, nil, Environment{WSL: true}},
		{"WSL 2", "linux", map[string]string{"proc/version": versionWSL2}, nil, Environment{WSL: true}},
		{"Docker on WSL 2", "linux", map[string]string{"proc/version": versionWSL2, ".dockerenv": ""}, nil, Environment{Container: true, WSL: true}},

		{"development container", "linux", map[string]string{".dockerenv": ""}, map[string]string{"REMOTE_CONTAINERS": "true"}, Environment{Container: true, DevContainer: true}},
		{"Codespaces", "linux", map[string]string{".dockerenv": ""}, map[string]string{"CODESPACES": "true"}, Environment{Container: true, DevContainer: true, Codespaces: true}},

		{"macOS", "darwin", map[string]string{".dockerenv": ""}, nil, Environment{}},
		{"Windows", "windows", map[string]string{"proc/version": versionWSL2}, nil, Environment{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{}
			for _, set := range []map[string]string{host, c.files} {
				for name, text := range set {
					files[name] = &fstest.MapFile{Data: []byte(text)}
				}
			}
			c.want.OS = c.os
			getenv := func(name string) string { return c.env[name] }
			if got := detect(c.os, files, getenv); got != c.want {
				t.Errorf("detect(%s) = %+v, want %+v", c.os, got, c.want)
			}
		})
	}
}

func TestS1_06_Words(t *testing.T) {
	for want, env := range map[string]Environment{
		"linux":            {OS: "linux"},
		"darwin":           {OS: "darwin"},
		"linux, container": {OS: "linux", Container: true},
		"linux, WSL":       {OS: "linux", WSL: true},
		"linux, container, dev container, Codespaces": {OS: "linux", Container: true, DevContainer: true, Codespaces: true},
	} {
		if got := env.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func TestS1_06_DetectHere(t *testing.T) {
	if env := Detect(); len(For(env)) == 0 || env.Codespaces && !env.DevContainer {
		t.Errorf("Detect() = %+v, which has no system mounts or contradicts itself", env)
	}
}
