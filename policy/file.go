package policy

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// File is a policy that is read and checked but not compiled: its globs may
// still hold variables, which mean something for one mount only.
type File struct {
	Name        string
	Description string
	Path        string // of the file, as positions show it

	at    strictyaml.Pos // of the name
	folds bool           // for Policy
	rules []fileRule
}

// fileRule is a rule with its globs as written.
type fileRule struct {
	Rule
	paths []strictyaml.String
}

// document is the format of a policy file.
type document struct {
	Pos         strictyaml.Pos
	Version     strictyaml.Value[int]            `yaml:"version"`
	Name        strictyaml.String                `yaml:"name"`
	Description string                           `yaml:"description"`
	Rules       strictyaml.Value[[]documentRule] `yaml:"file_rules"`
}

type documentRule struct {
	Pos        strictyaml.Pos
	Name       strictyaml.String                     `yaml:"name"`
	Paths      strictyaml.Value[[]strictyaml.String] `yaml:"paths"`
	Operations strictyaml.Value[[]strictyaml.String] `yaml:"operations"`
	Decision   strictyaml.String                     `yaml:"decision"`
	Message    string                                `yaml:"message"`
	Timeout    strictyaml.Value[time.Duration]       `yaml:"timeout"`
}

// Parse reads the policy in data; file is its name, which the policy's own name
// must agree with. It returns either a File or everything that is wrong with
// it, never a File that lacks a rule.
func Parse(file string, data []byte) (*File, strictyaml.Problems) {
	var doc document
	c := checker{problems: strictyaml.Decode(file, data, &doc)}
	f := &File{Description: doc.Description, Path: file}
	f.Name, f.at = c.header(&doc, baseName(file))
	if len(doc.Rules.V) == 0 {
		at := doc.Pos
		if doc.Rules.Set() {
			at = doc.Rules.Pos
		}
		c.problems.Add(at, "a policy needs at least one rule below file_rules: what no rule allows is denied")
	}
	for i := range doc.Rules.V {
		f.rules = append(f.rules, c.rule(&doc.Rules.V[i], f.Name))
	}
	if len(c.problems) > 0 {
		return nil, c.problems.Sorted()
	}
	return f, nil
}

// baseName returns the name that a policy in file has.
func baseName(file string) string {
	return strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
}

// Guard returns f as the guard pack of that name: each rule that does not let
// the operation pass is called builtin:guard:<pack>, and its message says how
// to switch the pack off. A guard folds: its globs, which are written in the
// form that vpath.Fold returns, cover all that a host may take for a path too.
func (f *File) Guard(pack string) *File {
	guard := *f
	guard.folds = true
	guard.rules = make([]fileRule, len(f.rules))
	for i, r := range f.rules {
		if !r.Decision.Permits() {
			r.Name = reservedPrefix + "guard:" + pack
			r.Message = strings.TrimSpace(fmt.Sprintf("%s (guard pack %s; to switch it off, list the other packs in the profile: guards: [...])", r.Message, pack))
		}
		guard.rules[i] = r
	}
	return &guard
}
