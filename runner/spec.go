package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Network is what a container can reach.
type Network string

// The networks.
const (
	NetworkNone     Network = "none"     // nothing but itself; the zero Network means the same
	NetworkIsolated Network = "isolated" // the internet, but neither the host, other containers nor private addresses
	NetworkLocal    Network = "local"    // what the host can reach, the host and containers of that network included
)

// Spec is the container of one session.
type Spec struct {
	Session string
	Binds   []Bind
	Network Network
	User    string // "uid:gid"; default "1000:1000"
	Dir     string // working directory; default "/"
}

// Bind is a directory or file of the host that a container sees.
type Bind struct {
	// Source is where this process sees it. It lies within a view, unless Plain
	// is set. For a view that may be mounted again while the container lives,
	// it is the directory around the mountpoint, since a bind of the mountpoint
	// itself stays with the mount that was there.
	Source   string
	Target   string // where the container sees it
	ReadOnly bool   // set where the view is read-only anyway; it is the view that enforces
	Plain    bool   // Source is no view: a conversation's directory, or one around a mountpoint
}

// DefaultUser runs the commands of a container.
const DefaultUser = "1000:1000"

var user = regexp.MustCompile(`^[0-9]+:[0-9]+$`)

func (s Spec) withDefaults() Spec {
	fill(&s.Network, NetworkNone)
	fill(&s.User, DefaultUser)
	fill(&s.Dir, "/")
	return s
}

// kept are the directories that a container keeps for itself.
var kept = []string{"/proc", "/sys", "/dev"}

// Check says what no container could be of s, before anything is made.
func (s Spec) Check() error { return s.withDefaults().validate() }

func (s Spec) validate() error {
	if s.Session == "" {
		return errors.New("a container needs the id of its session")
	}
	if !slices.Contains([]Network{NetworkNone, NetworkIsolated, NetworkLocal}, s.Network) {
		return fmt.Errorf("network %q: want none, isolated or local", s.Network)
	}
	if !clean(s.Dir) {
		return fmt.Errorf("working directory %q is not a clean absolute path", s.Dir)
	}
	if !user.MatchString(s.User) {
		return fmt.Errorf("user %q: want two numbers, uid:gid", s.User)
	}
	taken := slices.Clone(tmpfs)
	for _, b := range s.Binds {
		switch within := func(dir string) bool { return below(b.Target, dir) }; {
		case b.Source == "":
			return fmt.Errorf("bind on %s: the source is empty; it is the mountpoint of a view", b.Target)
		case !clean(b.Target) || b.Target == "/":
			return fmt.Errorf("bind of %s: the target %q is not a clean absolute path below /", b.Source, b.Target)
		case slices.ContainsFunc(kept, within):
			return fmt.Errorf("bind of %s on %s: a container keeps %s for itself", b.Source, b.Target, strings.Join(kept, ", "))
		case slices.Contains(taken, b.Target):
			return fmt.Errorf("bind of %s on %s: something else is mounted there", b.Source, b.Target)
		}
		taken = append(taken, b.Target)
	}
	return nil
}

func clean(p string) bool { return path.IsAbs(p) && path.Clean(p) == p }

// below reports whether p is dir or lies below it, by whole components.
func below(p, dir string) bool {
	return p == dir || dir == "/" || strings.HasPrefix(p, dir+"/")
}

// name is the name of a session's container. What a name may not hold is
// replaced, and a hash of instance and session keeps apart what becomes alike.
func (s Settings) name(session string) string {
	readable := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, session)
	return namePrefix + readable[:min(len(readable), 32)] + "-" + s.hash(session)
}

const namePrefix = "sandboxfs-"

func (s Settings) hash(session string) string {
	sum := sha256.Sum256([]byte(s.Instance + "\x00" + session))
	return hex.EncodeToString(sum[:5])
}
