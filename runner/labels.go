package runner

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/docker/api/types/mount"
)

// The labels by which containers and networks are found.
const (
	labelRunner   = "sandbox.runner"
	labelPrefix   = "sandboxfs."
	labelSession  = labelPrefix + "session"
	labelInstance = labelPrefix + "instance"
	labelState    = labelPrefix + "state" // the state directory of whoever made it
	labelHost     = labelPrefix + "host"  // the name of the host that it ran on
	labelImage    = labelPrefix + "image.id"
	labelMounts   = labelPrefix + "mounts"
	labelFiltered = labelPrefix + "filtered" // of a network
)

// hostname tells processes apart that share an engine and see other records. It
// is empty where there is none.
func hostname() string {
	name, _ := os.Hostname()
	return name
}

// settingLabels are the labels that follow from the settings alone.
func (s Settings) settingLabels(imageID string) map[string]string {
	security := "default"
	if s.UnconfinedSecurity {
		security = "unconfined"
	}
	labels := map[string]string{
		labelRunner:                      "true",
		labelInstance:                    s.Instance,
		labelImage:                       imageID,
		labelPrefix + "image.version":    ImageVersion,
		labelPrefix + "security.profile": security,
		labelPrefix + "capabilities":     "add=" + strings.Join(s.CapAdd, ",") + " drop=" + strings.Join(append([]string{"ALL"}, s.CapDrop...), ","),
		labelPrefix + "readonly":         strconv.FormatBool(s.ReadOnly),
		labelPrefix + "runtime":          cmp.Or(s.Runtime, "default"),
		labelPrefix + "limits":           fmt.Sprintf("pids=%d memory=%d cpus=%g tmpfs=%d", s.Limits.Pids, s.Limits.Memory, s.Limits.CPUs, s.Limits.Tmpfs),
	}
	for _, dir := range tmpfs {
		labels[labelPrefix+"tmpfs."+strings.ReplaceAll(dir[1:], "/", "_")] = "1"
	}
	return labels
}

// labels are the labels of a container of spec.
func (s Settings) labels(spec Spec, imageID string, binds []mount.Mount) map[string]string {
	labels := s.settingLabels(imageID)
	labels[labelSession] = spec.Session
	labels[labelState], labels[labelHost] = s.StateDir, hostname()
	labels[labelPrefix+"user"] = spec.User
	labels[labelPrefix+"dir"] = spec.Dir
	labels[labelMounts] = describe(binds)
	maps.Copy(labels, s.networkLabels(spec.Network))
	return labels
}

func (s Settings) networkLabels(n Network) map[string]string {
	profile, servers := s.dns(n)
	return map[string]string{
		labelPrefix + "network":     string(n),
		labelPrefix + "dns.profile": profile,
		labelPrefix + "dns.servers": cmp.Or(strings.Join(servers, ","), "default"),
	}
}

// describe is a line for a list of mounts, the same for every order.
func describe(mounts []mount.Mount) string {
	var lines []string
	for _, m := range mounts {
		mode := "rw"
		if m.ReadOnly {
			mode = "ro"
		}
		lines = append(lines, fmt.Sprintf("%s:%s:%s,%s", m.Source, m.Target, mode, m.BindOptions.Propagation))
	}
	slices.Sort(lines)
	return strings.Join(lines, " ")
}

// differs says which label of want is missing from have or is another, "" for
// none.
func differs(have, want map[string]string) string {
	for _, key := range slices.Sorted(maps.Keys(want)) {
		switch got, ok := have[key]; {
		case !ok:
			return fmt.Sprintf("label %s is missing", key)
		case got != want[key]:
			return fmt.Sprintf("label %s is %q, want %q", key, got, want[key])
		}
	}
	return ""
}
