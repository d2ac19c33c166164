package runner

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"
)

// collectible fills an engine with containers that live and that do not, and a
// network that a container has left.
func collectible(t *testing.T) (d *Docker, f *fake, dead []string) {
	t.Helper()
	d, f, _ = fakeDocker(t, Settings{})
	for session, network := range map[string]Network{
		"live": NetworkIsolated, "live-word": NetworkLocal, "dead": NetworkIsolated, "dead-word": NetworkNone, "gone": NetworkIsolated,
	} {
		spec := plainSpec(t)
		spec.Session, spec.Network = session, network
		if _, _, err := d.Ensure(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	dead = []string{
		"container " + d.settings.name("dead"), "container " + d.settings.name("dead-word"),
		"network " + d.settings.name("dead"), "network " + d.settings.name("gone"),
	}
	slices.Sort(dead)
	delete(f.containers, d.settings.name("gone"))
	return d, f, dead
}

func isLive(session, _ string) bool { return strings.HasPrefix(session, "live") }

func told(swept []Swept) []string {
	var list []string
	for _, s := range swept {
		list = append(list, s.Kind+" "+s.Name)
	}
	slices.Sort(list)
	return list
}

func TestCollect(t *testing.T) {
	d, f, dead := collectible(t)
	seen := map[string]string{}
	lives := func(session, stateDir string) bool {
		seen[session] = stateDir
		return isLive(session, "")
	}
	calls := len(f.calls)
	swept, err := d.Collect(t.Context(), lives, true)
	if got := told(swept); err != nil || !slices.Equal(got, dead) || len(f.calls) != calls || len(f.containers) != 4 || len(f.networks) != 4 {
		t.Errorf("dry Collect = %q, %v and calls %q, want %q told and nothing done", got, err, f.calls[calls:], dead)
	}
	for session, dir := range seen {
		if dir != d.settings.StateDir {
			t.Errorf("Collect asks whether %q of %q lives, want the state directory %q", session, dir, d.settings.StateDir)
		}
	}
	swept, err = d.Collect(t.Context(), lives, false)
	if got := told(swept); err != nil || !slices.Equal(got, dead) {
		t.Errorf("Collect = %q, %v, want %q", got, err, dead)
	}
	containers, networks := slices.Sorted(maps.Keys(f.containers)), slices.Sorted(maps.Keys(f.networks))
	if !slices.Equal(containers, []string{d.settings.name("live"), d.settings.name("live-word")}) || !slices.Equal(networks, []string{d.settings.name("live"), localNetwork}) {
		t.Errorf("Collect left %q on %q, want what lives", containers, networks)
	}
}

// One container that does not go keeps none of the others.
func TestCollectGoesOn(t *testing.T) {
	d, f, dead := collectible(t)
	f.fail["remove"] = errors.New("device is busy")
	swept, err := d.Collect(t.Context(), isLive, false)
	if err == nil || !strings.Contains(err.Error(), "device is busy") {
		t.Errorf("Collect = %v, want the engine's error", err)
	}
	if len(f.containers) != 3 || slices.Equal(told(swept), dead) {
		t.Errorf("Collect tells %q and leaves %d containers, want the one that did not go left, and not told", told(swept), len(f.containers))
	}
	if swept, err = d.Collect(t.Context(), isLive, false); err != nil || len(swept) == 0 || len(f.containers) != 2 {
		t.Errorf("Collect again = %v, %v with %d containers, want the rest gone", swept, err, len(f.containers))
	}
}

// A container without a session proves host paths and is soon removed by its
// maker, unless that has died.
func TestCollectLetsProofsEnd(t *testing.T) {
	young := container.Summary{Created: time.Now().Unix()}
	old := container.Summary{Created: time.Now().Add(-time.Hour).Unix()}
	session := container.Summary{Created: time.Now().Unix(), Labels: map[string]string{labelSession: "s"}}
	d, f, _ := fakeDocker(t, Settings{})
	f.containers["proof"] = &container.InspectResponse{ContainerJSONBase: &container.ContainerJSONBase{ID: "p", HostConfig: &container.HostConfig{}}, Config: &container.Config{}}
	if swept, err := d.Collect(t.Context(), isLive, false); err != nil || len(swept) != 0 || len(f.containers) != 1 {
		t.Errorf("Collect while a path is proven = %v, %v, want nothing", swept, err)
	}
	if !proves(young) || proves(old) || proves(session) {
		t.Errorf("proves of a young one, an old one and a session's = %t, %t, %t, want true, false, false", proves(young), proves(old), proves(session))
	}
}

// What another host has made on a shared engine is its own business: its records
// are there, and here nothing says whether its views live.
func TestCollectLeavesOtherHostsAlone(t *testing.T) {
	d, f, dead := collectible(t)
	for _, c := range f.containers {
		c.Config.Labels[labelHost] = "another"
	}
	for _, n := range f.networks {
		n.Labels[labelHost] = "another"
	}
	d.elsewhere = true
	if swept, err := d.Collect(t.Context(), isLive, false); err != nil || len(swept) != 0 || len(f.containers) != 4 {
		t.Errorf("Collect of what another host made = %q, %v, want nothing", told(swept), err)
	}
	d.elsewhere = false // the engine is this host's, and it was made in a container here
	if swept, err := d.Collect(t.Context(), isLive, false); err != nil || !slices.Equal(told(swept), dead) {
		t.Errorf("Collect on the engine's own host = %q, %v, want %q", told(swept), err, dead)
	}
}
