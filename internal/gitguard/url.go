package gitguard

import "strings"

// schemes are those that git carries itself. For any other it runs a program of
// that name.
var schemes = map[string]bool{
	"https": true, "http": true, "ssh": true, "git": true, "git+ssh": true, "ssh+git": true, "file": true, "ftp": true, "ftps": true,
}

// url judges an address that git fetches from or pushes to, or the name of a
// remote in its place.
func url(e *entry, _ Inside) string {
	if !e.isSet || !goodURL(e.value) {
		return "is no address of a known scheme, nor a plain path"
	}
	return ""
}

// named is judge for an entry whose subsection can come to be an address.
func named(judge judgement) judgement {
	return func(e *entry, inside Inside) string {
		if !goodURL(e.sub) {
			return "is of a remote whose name is no plain one"
		}
		return judge(e, inside)
	}
}

// goodURL refuses "x::y", which runs the program git-remote-x; schemes that git
// does not know, for the same reason; and what ssh could take for an option.
func goodURL(s string) bool {
	if s == "" || s[0] == '-' || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return false
	}
	if s[0] == '[' {
		host, _, _ := strings.Cut(s, "]")
		return goodHost(host) // an address of IPv6, and a path behind it
	}
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || strings.Contains(scheme, "/") {
		return true // a path
	}
	if authority, ok := strings.CutPrefix(rest, "//"); ok {
		host, _, _ := strings.Cut(authority, "/")
		return schemes[strings.ToLower(scheme)] && goodHost(host)
	}
	return !strings.HasPrefix(rest, ":") && goodHost(scheme) // host:path
}

func goodHost(host string) bool {
	return !strings.HasPrefix(strings.TrimLeft(host, "["), "-") && !strings.Contains(host, "@-") && !strings.Contains(host, "@[-") && !strings.Contains(host, "%")
}
