package profile

import (
	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/overlay"
)

// document is a profile as it is written, in a file of its own or below
// mount_profiles of a config.
type document struct {
	Pos strictyaml.Pos

	Version      strictyaml.Value[int]                 `yaml:"version"`
	Name         strictyaml.String                     `yaml:"name"`
	Root         strictyaml.String                     `yaml:"root"`
	ReadOnly     strictyaml.Bool                       `yaml:"readonly"`
	Mounts       []mountEntry                          `yaml:"mounts"`
	Zones        map[string]zoneEntry                  `yaml:"zones"`
	BasePolicy   strictyaml.String                     `yaml:"base_policy"`
	Policy       strictyaml.String                     `yaml:"policy"`
	Policies     []strictyaml.String                   `yaml:"policies"`
	Guards       strictyaml.Value[[]strictyaml.String] `yaml:"guards"`
	SystemMounts strictyaml.String                     `yaml:"system_mounts"`
	Symlinks     strictyaml.String                     `yaml:"symlinks"`
	Reload       strictyaml.String                     `yaml:"reload"`
	Skills       strictyaml.String                     `yaml:"skills"`
	Owner        *ownerEntry                           `yaml:"owner"`
	Docker       *Docker                               `yaml:"docker"`
}

// mountEntry is one element of mounts: source and target, or path for both.
type mountEntry struct {
	Pos strictyaml.Pos

	Source   strictyaml.String `yaml:"source"`
	Target   strictyaml.String `yaml:"target"`
	Path     strictyaml.String `yaml:"path"`
	ReadOnly strictyaml.Bool   `yaml:"readonly"`
	Policy   strictyaml.String `yaml:"policy"`
}

// zoneEntry is one value of zones; its key is the name below "/".
type zoneEntry struct {
	Pos strictyaml.Pos

	Path     strictyaml.String `yaml:"path"`
	Mode     strictyaml.String `yaml:"mode"`
	Approval struct {
		Write  strictyaml.String `yaml:"write"`
		Delete strictyaml.String `yaml:"delete"`
	} `yaml:"approval"`
}

type ownerEntry struct {
	Pos strictyaml.Pos

	UID strictyaml.Value[int64] `yaml:"uid"`
	GID strictyaml.Value[int64] `yaml:"gid"`
}

// parse reads data as a profile. What could be read is returned even where there
// are problems; its Pos is unset if nothing could.
func parse(file string, data []byte) (document, strictyaml.Problems) {
	var d document
	problems := strictyaml.Decode(file, data, &d)
	if len(problems) == 0 && d.Pos.Line == 0 { // an empty file
		d.Pos = strictyaml.Pos{File: file, Line: 1, Col: 1}
	}
	return d, problems
}

// defaults are the values of keys that a profile leaves out. The guards left
// out are all packs there are.
var defaults = struct {
	version                        int
	systemMounts, symlinks, reload string
	zoneMode, zoneApproval         string
}{
	version:      1,
	systemMounts: "auto",
	symlinks:     string(SymlinksFollow),
	reload:       string(ReloadLive),
	zoneMode:     string(overlay.ModeRO),
	zoneApproval: string(overlay.ApprovalAsk),
}

// withDefaults returns d with a value for every key that has a default. The
// name of a profile that has none is name.
func withDefaults(d document, name string) document {
	set(&d.Version, defaults.version)
	set(&d.Name, name)
	set(&d.SystemMounts, defaults.systemMounts)
	set(&d.Symlinks, defaults.symlinks)
	set(&d.Reload, defaults.reload)
	zones := make(map[string]zoneEntry, len(d.Zones))
	for name, z := range d.Zones {
		set(&z.Mode, defaults.zoneMode)
		set(&z.Approval.Write, defaults.zoneApproval)
		set(&z.Approval.Delete, defaults.zoneApproval)
		zones[name] = z
	}
	d.Zones = zones
	return d
}

// set gives a key that is absent its default. The position stays unknown.
func set[T any](v *strictyaml.Value[T], value T) {
	if !v.Set() {
		v.V = value
	}
}
