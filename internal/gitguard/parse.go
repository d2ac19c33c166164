package gitguard

import (
	"bytes"
	"strings"
)

// entry is one line "key = value" with the section that it stands in.
type entry struct {
	section string // lower case
	sub     string // as written, escapes undone
	hasSub  bool
	key     string // lower case
	value   string // escapes undone
	isSet   bool   // there is a value; git takes a key alone for true
	line    int

	objection string // why it may not be made from inside a view
}

// name returns the entry's key as git prints it.
func (e *entry) name() string {
	if e.hasSub {
		return e.section + "." + e.sub + "." + e.key
	}
	return e.section + "." + e.key
}

// rule returns the name with a star for the subsection.
func (e *entry) rule() string {
	if e.hasSub {
		return e.section + ".*." + e.key
	}
	return e.section + "." + e.key
}

// parse reads a configuration in the form that git writes: one section header
// or one entry to a line, and comments as people and templates add them. Git
// reads more: continued lines, an entry behind a header, dots in a section,
// carriage returns, tabs inside a value. Versions of git differ there, and so
// all of that is refused.
func parse(text []byte) ([]entry, *Refusal) {
	if len(text) > MaxSize {
		return nil, refusef(0, "is larger than %d bytes", MaxSize)
	}
	var entries []entry
	var section *entry
	number := 0
	for raw := range bytes.SplitSeq(text, []byte{'\n'}) {
		number++
		line := string(raw)
		if strings.ContainsFunc(line, control) {
			return nil, refusef(number, "holds a control character")
		}
		line = strings.Trim(line, " \t")
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case line[0] == '[':
			if section = parseHeader(line); section == nil {
				return nil, refusef(number, "is no section header as git writes it")
			}
		case section == nil:
			return nil, refusef(number, "is an entry outside of a section")
		default:
			e := *section
			if e.line = number; !e.parse(line) {
				return nil, refusef(number, "is not in the form that git writes, key = value on one line")
			}
			entries = append(entries, e)
		}
	}
	return entries, nil
}

// control reports characters that no line holds. A tab is judged where it stands.
func control(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// parseHeader reads [section] or [section "subsection"]; nil for all else.
func parseHeader(line string) *entry {
	rest, ok := strings.CutSuffix(line, "]")
	if !ok {
		return nil
	}
	rest = rest[1:]
	name, sub, hasSub := strings.Cut(rest, " ")
	if name == "" || strings.ContainsFunc(name, notKey) {
		return nil
	}
	e := &entry{section: strings.ToLower(name), hasSub: hasSub}
	if !hasSub {
		return e
	}
	if len(sub) < 2 || sub[0] != '"' || sub[len(sub)-1] != '"' {
		return nil
	}
	var b strings.Builder
	for quoted := sub[1 : len(sub)-1]; quoted != ""; quoted = quoted[1:] {
		switch quoted[0] {
		case '"':
			return nil
		case '\\':
			if quoted = quoted[1:]; quoted == "" {
				return nil
			}
		}
		b.WriteByte(quoted[0])
	}
	e.sub = b.String()
	return e
}

// parse reads "key = value" or "key".
func (e *entry) parse(line string) bool {
	key, value, isSet := strings.Cut(line, "=")
	key = strings.TrimRight(key, " \t")
	if key == "" || strings.ContainsFunc(key, notKey) || !letter(key[0]) {
		return false
	}
	e.key, e.isSet = strings.ToLower(key), isSet
	if !isSet {
		return true
	}
	var ok bool
	e.value, ok = parseValue(strings.TrimLeft(value, " \t"))
	return ok
}

// parseValue undoes quotes and escapes, and takes off a comment behind the value.
func parseValue(text string) (string, bool) {
	var b strings.Builder
	end := 0 // of what is not white space outside of quotes
	quoted := false
	for ; text != ""; text = text[1:] {
		c := text[0]
		switch {
		case c == '\t' || !quoted && c == ' ' && b.Len() == 0:
			return "", false
		case !quoted && c == ' ':
			b.WriteByte(c)
			continue
		case !quoted && (c == ';' || c == '#'):
			return b.String()[:end], true
		case c == '"':
			quoted = !quoted
		case c == '\\':
			if text = text[1:]; text == "" {
				return "", false
			}
			i := strings.IndexByte(`nt"\`, text[0])
			if i < 0 {
				return "", false
			}
			b.WriteByte("\n\t\"\\"[i])
		default:
			b.WriteByte(c)
		}
		end = b.Len()
	}
	return b.String()[:end], !quoted
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func notKey(r rune) bool {
	return r > 0x7f || !letter(byte(r)) && (r < '0' || r > '9') && r != '-'
}
