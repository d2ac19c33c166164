package overlay

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

func TestS0_03_ResolveLongestTargetByComponent(t *testing.T) {
	v := newView(t,
		dir("/", "/home/user/project"),
		ro(dir("/cache", "/home/user/.cache")),
		dir("/cache/npm/deep", "/deep"),
		kind(KindFile, dir("/etc/app.conf", "/conf/app.conf")),
	)
	for _, c := range []struct {
		p     vpath.Path
		mount vpath.Path
		rel   string
		leads bool
		host  string
	}{
		{"/", "/", "", true, "/home/user/project"},
		{"/src/app.ts", "/", "src/app.ts", false, "/home/user/project/src/app.ts"},
		{"/README.md", "/", "README.md", false, "/home/user/project/README.md"},
		{"/cache", "/cache", "", true, "/home/user/.cache"},
		{"/cache/npm", "/cache", "npm", true, "/home/user/.cache/npm"},
		{"/cache/npm/pkg", "/cache", "npm/pkg", false, "/home/user/.cache/npm/pkg"},
		{"/cache/npm/deep", "/cache/npm/deep", "", false, "/deep"},
		{"/cache/npm/deep/x/y", "/cache/npm/deep", "x/y", false, "/deep/x/y"},
		{"/cache/npm/deeper", "/cache", "npm/deeper", false, "/home/user/.cache/npm/deeper"},
		{"/cachex", "/", "cachex", false, "/home/user/project/cachex"},
		{"/cach", "/", "cach", false, "/home/user/project/cach"},
		{"/etc", "/", "etc", true, "/home/user/project/etc"},
		{"/etc/app.conf", "/etc/app.conf", "", false, "/conf/app.conf"},
		{"/etc/app.conf.d", "/", "etc/app.conf.d", false, "/home/user/project/etc/app.conf.d"},
	} {
		got := v.Resolve(c.p)
		if got.Path != c.p || got.Mount == nil || got.Mount.Target != c.mount || got.Rel != c.rel || got.Leads != c.leads {
			t.Errorf("Resolve(%s) = %+v, want mount %s, rel %q, leads %v", c.p, got, c.mount, c.rel, c.leads)
		}
		if host, ok := v.HostPath(c.p); host != c.host || !ok {
			t.Errorf("HostPath(%s) = %q, %v, want %q", c.p, host, ok, c.host)
		}
	}
}

func TestS0_02_ResolveWithoutRoot(t *testing.T) {
	v := newView(t, dir("/a/b/c", "/x"), dir("/d", "/"))
	for _, c := range []struct {
		p       vpath.Path
		mounted bool
		leads   bool
	}{
		{"/", false, true},
		{"/a", false, true},
		{"/a/b", false, true},
		{"/a/b/c", true, false},
		{"/a/x", false, false},
		{"/ab", false, false},
		{"/elsewhere/deep/down/below/all/targets", false, false},
		{"/d/e", true, false},
	} {
		got := v.Resolve(c.p)
		if (got.Mount != nil) != c.mounted || got.Leads != c.leads || got.Mount == nil && got.Rel != "" {
			t.Errorf("Resolve(%s) = %+v, want mounted %v, leads %v", c.p, got, c.mounted, c.leads)
		}
		if host, ok := v.HostPath(c.p); ok != c.mounted {
			t.Errorf("HostPath(%s) = %q, %v, want %v", c.p, host, ok, c.mounted)
		}
	}
	if host, _ := v.HostPath("/d/etc/hosts"); host != "/etc/hosts" {
		t.Errorf("HostPath(/d/etc/hosts) over source / = %q, want /etc/hosts", host)
	}
}
