package runner

import (
	"fmt"
	"math/rand/v2"
	"path"
	"slices"
	"testing"
)

var homes = Paths{
	{"/srv/mnt/home", "/home", "/home"},
	{"/srv/mnt/home/u/cache", "/cache", "/home/u/.cache"},
	{"/srv/skills", "/skills", "/shared/skills"},
}

func TestTranslate(t *testing.T) {
	tests := []struct {
		path     string
		from, to Space
		want     string
	}{
		{"/srv/mnt/home/desktop/project", OnHost, InContainer, "/home/desktop/project"},
		{"/home/desktop/project", InContainer, OnHost, "/srv/mnt/home/desktop/project"},
		{"/srv/skills/core", OnHost, InContainer, "/shared/skills/core"},
		{"/skills", InView, InContainer, "/shared/skills"},
		{"/srv/mnt/home/u/cache/x", OnHost, InContainer, "/home/u/.cache/x"},
		{"/srv/mnt/home/u/.cache/x", OnHost, InContainer, ""}, // hidden by the row of cache
		{"/srv/mnt/homes", OnHost, InContainer, ""},
		{"/etc", InContainer, OnHost, ""},
		{"/home/../etc", InContainer, OnHost, ""},
		{"home", InContainer, OnHost, ""},
	}
	for _, tt := range tests {
		if got, ok := homes.Translate(tt.path, tt.from, tt.to); got != tt.want || ok != (tt.want != "") {
			t.Errorf("Translate(%q, %s, %s) = %q, %t, want %q", tt.path, tt.from, tt.to, got, ok, tt.want)
		}
	}
	whole := Paths{{"/mnt/agent", "/", "/mnt/agent"}}
	if got, _ := whole.Translate("/src/a", InView, InContainer); got != "/mnt/agent/src/a" {
		t.Errorf("Translate of a path of the root = %q, want /mnt/agent/src/a", got)
	}
	if got, _ := whole.Translate("/mnt/agent", InContainer, InView); got != "/" {
		t.Errorf("Translate of the mountpoint = %q, want /", got)
	}
}

// S4-05: for any table, whatever translates comes back the same, from every
// space by way of every other, and two paths never become one.
func TestTranslateRoundTrip(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	random := func(most int) string {
		p := "/"
		for range rng.IntN(most + 1) {
			p = path.Join(p, []string{"a", "b", "ab", "a.b"}[rng.IntN(4)])
		}
		return p
	}
	spaces := []Space{OnHost, InView, InContainer}
	translated := 0
	for range 3000 {
		var table Paths
		for range 1 + rng.IntN(4) {
			table = append(table, Row{random(3), random(3), random(3)})
		}
		for _, from := range spaces {
			for _, to := range spaces {
				seen := map[string]string{}
				for range 10 {
					p := random(5)
					there, ok := table.Translate(p, from, to)
					if !ok {
						continue
					}
					translated++
					back, ok := table.Translate(there, to, from)
					if !ok || back != p {
						t.Fatalf("%v: Translate(%q, %s, %s) = %q, and back %q, %t", table, p, from, to, there, back, ok)
					}
					if other, taken := seen[there]; taken && other != p {
						t.Fatalf("%v: %q and %q are both %q", table, other, p, there)
					}
					seen[there] = p
				}
			}
		}
	}
	if translated < 10000 {
		t.Errorf("only %d paths were translated, which shows little", translated)
	}
}

func TestPathsDirAndEnv(t *testing.T) {
	if got, err := homes.Dir("/srv/mnt/home/u"); err != nil || got != "/home/u" {
		t.Errorf("Dir = %q, %v, want /home/u", got, err)
	}
	if got, err := homes.Dir("/etc"); err == nil {
		t.Errorf("Dir(/etc) = %q, want an error", got)
	}
	env := []string{"HOME=/srv/mnt/home/u", "TMPDIR=/elsewhere", "TERM=xterm", "X=/srv/mnt/home", "XDG_CACHE_HOME=/srv/mnt/home/u/cache"}
	want := []string{"HOME=/home/u", "TERM=xterm", "X=/srv/mnt/home", "XDG_CACHE_HOME=/home/u/.cache"}
	if got := homes.Env(env, OnHost, InContainer); !slices.Equal(got, want) {
		t.Errorf("Env(%q) = %q, want %q", env, got, want)
	}
	if got := fmt.Sprint(OnHost, InView, InContainer); got != "host view container" {
		t.Errorf("spaces are %s", got)
	}
}
