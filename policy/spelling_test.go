package policy

import (
	"testing"

	"github.com/sandboxfs/sandboxfs/internal/vpath"
)

const guardFile = `
version: 1
name: pack
description: for this test
file_rules:
  - {name: packages, paths: ["/**/node_modules/**"], operations: ["*"], decision: allow}
  - {name: samples, paths: ["/**/hooks/*.sample"], operations: ["*"], decision: allow}
  - {name: files, paths: ["/**/.envrc", "/**/hooks/**", "/**/*.git/x"], operations: [write, create, delete], decision: deny}
  - {name: rest, paths: ["/**"], operations: ["*"], decision: allow}
`

// guardAndFile returns guardFile as a guard, and as a policy of a user.
func guardAndFile(t *testing.T) (guard, user []*Policy) {
	t.Helper()
	f, problems := Parse("pack.yaml", []byte(guardFile))
	if problems != nil {
		t.Fatal(problems)
	}
	compile := func(f *File) []*Policy {
		p, problems := f.Compile(Vars{Mount: "/"})
		if problems != nil {
			t.Fatal(problems)
		}
		return []*Policy{p}
	}
	return compile(f.Guard("pack")), compile(f)
}

// a guard covers what a host may take for a guarded name. That a name is
// alike to one that is exempt lets nothing pass.
func TestX12_GuardsFoldAndUsersRulesDoNot(t *testing.T) {
	guard, user := guardAndFile(t)
	for path, want := range map[vpath.Path]struct{ guard, user Decision }{
		"/.envrc":                       {Deny, Deny},
		"/.ENVRC":                       {Deny, Allow},
		"/a/.envrc. .":                  {Deny, Allow},
		"/.EnvRC:stream":                {Deny, Allow},
		"/.envr\u200cc":                 {Deny, Allow},
		"/ENVRC~1":                      {Deny, Allow},
		"/Hooks/x":                      {Deny, Allow},
		"/hooks/x.sample":               {Allow, Allow},
		"/hooks/X.sample":               {Allow, Allow},
		"/hooks/x:.sample":              {Deny, Allow}, // writes x on NTFS
		"/HOOKS/x.sample":               {Deny, Allow},
		"/node_modules/.envrc":          {Allow, Allow},
		"/node_modules/a/.ENVRC":        {Allow, Allow},
		"/Node_Modules/.envrc":          {Deny, Deny},
		"/node_modules:x/.envrc":        {Deny, Deny},
		"/NODE_MODULES/.ENVRC":          {Deny, Allow},
		"/node_modules :/.e\u200dnvrc.": {Deny, Allow},
		"/a:b.git/x":                    {Deny, Deny}, // as written, if not folded
		"/envrc":                        {Allow, Allow},
		"/.envrc\xff":                   {Allow, Allow},
	} {
		for layers, want := range map[*Policy]Decision{guard[0]: want.guard, user[0]: want.user} {
			if got := Decide([]*Policy{layers}, path, Create).Decision; got != want {
				t.Errorf("Decide(create, %q) = %s, want %s (folds: %v)", path, got, want, layers.folds)
			}
			if got := Permitted([]*Policy{layers}, path).Has(Create); got != (want == Allow) {
				t.Errorf("Permitted(%q) holds create: %v, want %s (folds: %v)", path, got, want, layers.folds)
			}
			if v, _ := Explain(layers, path, Create); v.Decision != want {
				t.Errorf("Explain(create, %q) = %s, want %s (folds: %v)", path, v.Decision, want, layers.folds)
			}
		}
	}
}

// Two directories that a guard tells apart in one of the forms are not alike.
func TestX12_AlikeSeesWhatAGuardFolds(t *testing.T) {
	guard, user := guardAndFile(t)
	if Alike(guard, "/a", "/HOOKS") || !Alike(user, "/a", "/HOOKS") {
		t.Error("a guard must tell /a from /HOOKS, and a rule of a user must not")
	}
	if !Alike(guard, "/a", "/B") {
		t.Error("a guard must not tell /a from /B")
	}
	if Alike(guard, "/node_modules", "/NODE_MODULES") {
		t.Error("a guard must tell /node_modules from /NODE_MODULES")
	}
}
