package gitguard

import "strings"

// judgement says what is wrong with the value of an entry; "" for nothing.
type judgement func(e *entry, inside Inside) string

// judge returns why e may not be made from inside a view; "" if it may.
func (e *entry) judge(inside Inside) string {
	rule := e.rule()
	judge, listed := allowed[rule]
	if section, _, _ := strings.Cut(rule, "."); !listed && inert[section] && !e.hasSub {
		judge, listed = anything, true
	}
	if !listed {
		return "is not on the list of what can be set from inside a view"
	}
	if e.hasSub && (strings.HasPrefix(e.sub, "-") || strings.Contains(e.sub, "..")) {
		return "has a name that git could take for an option or a path"
	}
	return judge(e, inside)
}

// inert are sections of which every key speaks of what git prints and of nothing
// that it does.
var inert = map[string]bool{"advice": true, "color": true, "column": true}

// allowed are the keys that may be set. A key of which any version of git makes
// a program, a path that it reads instructions from, or a way round a check is
// not here. Keys that other programs keep beside git's own are, if they do
// nothing: an entry that git does not know is not run.
var allowed = func() map[string]judgement {
	list := map[string]judgement{
		"core.worktree":           worktree,
		"remote.*.url":            url,
		"remote.*.pushurl":        url,
		"submodule.*.url":         url,
		"submodule.*.update":      oneOf("checkout", "rebase", "merge", "none"),
		"branch.*.remote":         url,
		"branch.*.pushremote":     url,
		"remote.pushdefault":      url,
		"extensions.partialclone": url,
	}
	for _, line := range strings.Fields(plainKeys) {
		section, keys, _ := strings.Cut(line, ":")
		for key := range strings.SplitSeq(keys, ",") {
			list[section+"."+key] = anything
		}
	}
	// A remote without a url has its name for one.
	for rule, judge := range list {
		if strings.HasPrefix(rule, "remote.*.") {
			list[rule] = named(judge)
		}
	}
	return list
}()

// plainKeys are those whose value is free: numbers, yes or no, names, texts.
const plainKeys = `
core:repositoryformatversion,filemode,bare,logallrefupdates,ignorecase,precomposeunicode,symlinks,sharedrepository
core:sparsecheckout,sparsecheckoutcone,autocrlf,eol,safecrlf,whitespace,abbrev,quotepath,commentchar,longpaths,trustctime
core:checkstat,untrackedcache,splitindex,preloadindex,multipackindex,commitgraph,compression,loosecompression,bigfilethreshold
extensions:objectformat,compatobjectformat,refstorage,worktreeconfig,relativeworktrees,preciousobjects,noop,noop-v1
remote.*:fetch,push,tagopt,mirror,prune,prunetags,promisor,partialclonefilter,skipdefaultupdate,skipfetchall,followremotehead,gh-resolved
branch.*:merge,rebase,description,vscode-merge-base,gh-merge-base,github-pr-owner-number
branch:autosetupmerge,autosetuprebase,sort
submodule.*:active,branch,ignore,fetchrecursesubmodules,shallow
submodule:active,recurse,alternatelocation,alternateerrorstrategy,propagatebranches,fetchjobs
user:name,email author:name,email committer:name,email
pull:rebase,ff push:default,autosetupremote,followtags,recursesubmodules
fetch:prune,prunetags,showforcedupdates,negotiationalgorithm,parallel,recursesubmodules,fsckobjects,writecommitgraph,output,unpacklimit
merge:ff,conflictstyle,renames,renamelimit,directoryrenames,autostash,log,stat,verbosity
rebase:autosquash,autostash,updaterefs,stat,abbreviatecommands,missingcommitscheck,rebasemerges,forkpoint
commit:gpgsign,verbose,status,cleanup tag:gpgsign,sort,forcesignannotated
status:showuntrackedfiles,submodulesummary,short,branch,relativepaths,aheadbehind,renames,showstash
diff:algorithm,renames,renamelimit,colormoved,colormovedws,mnemonicprefix,noprefix,context,interhunkcontext,submodule,ignoresubmodules,wserrorhighlight
log:date,decorate,follow,abbrevcommit,showroot,showsignature stash:showpatch,showstat,showincludeuntracked
init:defaultbranch checkout:defaultremote,guess,workers worktree:guessremote,userelativepaths rerere:enabled,autoupdate apply:whitespace,ignorewhitespace
grep:linenumber,column,patterntype,extendedregexp,threads,fullname http:postbuffer,version,lowspeedlimit,lowspeedtime
blame:ignorerevsfile,markunblamablelines,markignoredlines,coloring,date,showemail
am:threeway,keepcr index:version,threads,sparse,skiphash,recordendofindexentries,recordoffsettable feature:manyfiles
gc:auto,autopacklimit,autodetach,pruneexpire,worktreepruneexpire,reflogexpire,reflogexpireunreachable,packrefs,writecommitgraph,aggressivewindow,aggressivedepth,bigpackthreshold
maintenance:auto,strategy,autodetach maintenance.*:enabled,schedule,auto
pack:threads,window,depth,windowmemory,compression,packsizelimit,deltacachesize,writebitmaps,usesparse,indexversion
repack:writebitmaps,usedeltabaseoffset,usedeltaislands,packkeptobjects
receive:denycurrentbranch,denynonfastforwards,denydeletes,fsckobjects,unpacklimit,autogc transfer:fsckobjects,hiderefs,unpacklimit
uploadpack:allowfilter,allowanysha1inwant,allowreachablesha1inwant,allowtipsha1inwant
sparse:expectfilesoutsideofpatterns versionsort:suffix
lfs:repositoryformatversion lfs.*:access,locksverify
`

// anything takes every value without a control character but those of a text.
func anything(e *entry, _ Inside) string {
	for _, c := range []byte(e.value) {
		if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return "has a value with a control character"
		}
	}
	return ""
}

func oneOf(values ...string) judgement {
	return func(e *entry, _ Inside) string {
		for _, v := range values {
			if e.isSet && e.value == v {
				return ""
			}
		}
		return "has a value that is none of " + strings.Join(values, ", ")
	}
}

func worktree(e *entry, inside Inside) string {
	if !e.isSet || !inside(e.value) {
		return "is set for submodules alone, to a relative path without a link in the working tree that holds them"
	}
	return ""
}
