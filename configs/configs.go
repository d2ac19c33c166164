// Package configs holds the files that ship in the binary: the built-in
// policies, the guard packs and the profile of a plain directory.
package configs

import (
	"embed"
	"fmt"
	"io/fs"
	"sync"

	"github.com/sandboxfs/sandboxfs/policy"
)

//go:embed policies/*.yaml guards/*.yaml
var files embed.FS

// Workspace is the profile under which a plain directory is mounted; its root
// is whatever directory that is.
//
//go:embed profiles/workspace.yaml
var Workspace []byte

// Policies holds the built-in policies, NAME.yaml each, for policy.LoadLibrary.
var Policies = within("policies")

// Packs are the names of the guard packs, in the order in which they are laid
// over a view.
var Packs = []string{"git", "shell", "editors", "agents"}

// Guard returns the guard pack of that name as the policy that it is: it takes
// away and allows all the rest. It panics at a name that is not in Packs.
func Guard(pack string) *policy.File {
	guard, ok := guards()[pack]
	if !ok {
		panic(fmt.Sprintf("configs: there is no guard pack %q", pack))
	}
	return guard
}

var guards = sync.OnceValue(func() map[string]*policy.File {
	packs := map[string]*policy.File{}
	for _, pack := range Packs {
		name := "guards/" + pack + ".yaml"
		data, err := files.ReadFile(name)
		if err != nil {
			panic(err)
		}
		f, problems := policy.Parse("builtin/"+name, data)
		if problems != nil {
			panic(problems)
		}
		packs[pack] = f.Guard(pack)
	}
	return packs
})

func within(dir string) fs.FS {
	sub, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // only for a name that is no path
	}
	return sub
}
