package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sandboxfs/sandboxfs/policy"
)

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print the script that completes command lines in bash, zsh, fish or powershell",
		Example: "  source <(sandboxfs completion bash)\n" +
			"  sandboxfs completion fish > ~/.config/fish/completions/sandboxfs.fish",
		Args:              wants("SHELL"),
		ValidArgsFunction: cobra.FixedCompletions([]string{"bash", "zsh", "fish", "powershell"}, cobra.ShellCompDirectiveNoFileComp),
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.out, true)
			case "zsh":
				return root.GenZshCompletion(a.out)
			case "fish":
				return root.GenFishCompletion(a.out, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.out)
			}
			return usageError{fmt.Errorf("there is no completion for %q, but for bash, zsh, fish and powershell", args[0])}
		},
	}
}

// words completes a flag that takes one of a few.
func words(cmd *cobra.Command, flag string, list ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // there is no such flag
	}
}

// completeOperation completes the second argument of explain. The first is a
// file, and the third a path that only the view knows.
func completeOperation(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return nil, cobra.ShellCompDirectiveDefault
	case 1:
		return strings.Split(policy.AllOps.String(), ","), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}
