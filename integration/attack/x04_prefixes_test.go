package attack

import "testing"

var _ = register("TestX04_Prefixes", func(string, func()) []attempt {
	return []attempt{
		{"create(cache/f)", "EROFS", create("cache/f")},
		{"create(cachex/../cache/f)", "EROFS", create("cachex/../cache/f")},
		{"create(secretx/f)", "EACCES", create("secretx/f")},
		{"read(secret/f)", "ok", read("secret/f")},
		{"read(secretx/f)", "EACCES", read("secretx/f")},
		{"read(secretx//.//f)", "EACCES", read("secretx//.//f")},
		{"read(cachex/f)", "ok", read("cachex/f")},
	}
})

// TestX04_Prefixes has no name be taken for another that begins alike.
func TestX04_Prefixes(t *testing.T) {
	w := newWorld(t)
	for _, f := range []string{"root/cachex/f", "root/secret/f", "root/secretx/f", "cache/f"} {
		w.write(f, f)
	}
	w.policy("agent", rule("secretx", "deny", `"*"`, "/secretx/**"), allowAll)
	v := w.mount(w.profile("p.yaml", agent+"mounts: [{source: ./cache, target: /cache, readonly: true}]\n"), launch{})
	attack(t, w, v, nil, nil)
}
