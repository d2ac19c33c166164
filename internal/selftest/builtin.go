package selftest

import (
	"os"
	"path/filepath"
)

// Builtin writes a profile with a rule of every kind below dir, and returns its
// file. It is what a self-test without a profile is made on.
func Builtin(dir string) (file string, err error) {
	file = filepath.Join(dir, "profile", "selftest.yaml")
	for _, f := range []struct{ name, text string }{
		{file, builtinProfile},
		{filepath.Join(dir, "profile", "policies", "selftest.yaml"), builtinPolicy},
		{filepath.Join(dir, "project", "README"), "\n"},
		{filepath.Join(dir, "reference", "README"), "\n"},
	} {
		if err := os.MkdirAll(filepath.Dir(f.name), 0o777); err != nil {
			return "", err
		}
		if err := os.WriteFile(f.name, []byte(f.text), 0o666); err != nil {
			return "", err
		}
	}
	return file, nil
}

const builtinProfile = `version: 1
name: selftest
root: ../project
policy: selftest
policies: [./policies]
mounts:
  - {source: ../reference, target: /reference, readonly: true}
`

const builtinPolicy = `version: 1
name: selftest
file_rules:
  - {name: hidden, paths: ["/private/**", "/**/.env"], operations: ["*"], decision: hide}
  - {name: denied, paths: ["/secrets/**", "/**/*.pem"], operations: ["*"], decision: deny}
  - {name: unread, paths: ["/**/*.key"], operations: [read, write, create, delete], decision: deny}
  - {name: stat-alone, paths: ["/**/*.key"], operations: [stat], decision: allow}
  - {name: unchanged, paths: ["/docs/**", "/reference/*"], operations: [write, create, delete], decision: deny}
  - {name: asked, paths: ["/deploy/**"], operations: ["*"], decision: approve}
  - {name: everything-else, paths: ["/**"], operations: ["*"], decision: allow}
`
