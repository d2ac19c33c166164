package profile

import (
	"path/filepath"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
	"github.com/sandboxfs/sandboxfs/policy"
)

// Kind says what a file holds.
type Kind string

// The kinds of files.
const (
	KindProfile Kind = "profile"
	KindPolicy  Kind = "policy"
	KindConfig  Kind = "config"
	KindUnknown Kind = "unknown"
)

// marks are the keys that tell the kinds apart, the first that is there counts.
var marks = []struct {
	key  string
	kind Kind
}{
	{"mount_profiles", KindConfig},
	{"sandbox_root", KindConfig},
	{"file_rules", KindPolicy},
	{"root", KindProfile},
	{"mounts", KindProfile},
	{"zones", KindProfile},
}

// Report is what Check found in one file.
type Report struct {
	File     string
	Kind     Kind
	Problems strictyaml.Problems
	Remarks  []Remark
}

// Check reads a profile, a policy or a config, tells which by its keys, and
// looks for everything that is wrong with it and with what it names.
func Check(file string) Report {
	r := Report{File: file}
	at, err := filepath.Abs(file)
	if err != nil {
		at = file
	}
	data, problems := read(file, file) // once: it could be a pipe
	if len(problems) > 0 {
		r.Kind, r.Problems = KindUnknown, problems
		return r
	}
	switch r.Kind = kindOf(data); r.Kind {
	case KindConfig:
		r.config(loadConfigData(file, at, data))
	case KindPolicy:
		parsed, problems := policy.Parse(file, data)
		r.Problems = problems
		if parsed != nil {
			r.warnings(parsed.Warnings())
		}
	case KindProfile:
		p, problems := loadData(file, at, data)
		r.Problems = problems
		r.build(p)
	default:
		r.unknown(file, data)
	}
	r.Problems = slices.Compact(r.Problems.Sorted())
	return r
}

// kindOf tells what data is by its keys, misspelt ones too. What is not YAML, or
// has no keys, is unknown.
func kindOf(data []byte) Kind {
	var doc yaml.Node
	if yaml.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 || doc.Content[0].Kind != yaml.MappingNode {
		return KindUnknown
	}
	var given []string
	for i := 0; i < len(doc.Content[0].Content); i += 2 {
		given = append(given, doc.Content[0].Content[i].Value)
	}
	for _, m := range marks {
		if slices.Contains(given, m.key) {
			return m.kind
		}
	}
	for _, m := range marks {
		if _, ok := strictyaml.Nearest(m.key, given); ok {
			return m.kind
		}
	}
	if slices.Contains(given, "docker") { // a profile that says nothing else shows nothing
		return KindConfig
	}
	return KindUnknown
}

// config checks every profile of c, which was read with problems.
func (r *Report) config(c *Config, problems strictyaml.Problems) {
	r.Problems = problems
	if c == nil {
		return
	}
	for _, name := range c.Names {
		p, problems := c.Profile(name)
		r.Problems = append(r.Problems, problems...)
		r.build(p)
	}
}

// build looks for what is wrong between p and its policies.
func (r *Report) build(p *Profile) {
	if p == nil {
		return
	}
	library, problems := p.Library()
	r.Problems = append(r.Problems, problems...)
	_, remarks, problems := p.Build(library)
	r.Problems = append(r.Problems, problems...)
	r.Remarks = append(r.Remarks, remarks...)
}

func (r *Report) warnings(problems strictyaml.Problems) {
	for _, w := range problems {
		r.Remarks = append(r.Remarks, Remark{Problem: w, Warning: true})
	}
}

// unknown reports why data is none of the kinds: what keeps it from being YAML,
// or that no key tells.
func (r *Report) unknown(file string, data []byte) {
	if err := yaml.Unmarshal(data, new(yaml.Node)); err != nil {
		r.Problems = strictyaml.Decode(file, data, &struct{}{})
		return
	}
	r.Problems.Add(strictyaml.Pos{File: file, Line: 1, Col: 1}, "this is no profile (root, mounts, zones), no policy (file_rules) and no config (mount_profiles)")
}
