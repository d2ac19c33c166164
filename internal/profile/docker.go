package profile

import (
	"net/netip"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/sandboxfs/sandboxfs/internal/strictyaml"
)

// Docker is the block docker of a profile or a config. Each key may be written
// with underscores or in camel case.
type Docker struct {
	Pos strictyaml.Pos

	Enabled                   strictyaml.Bool     `yaml:"enabled"`
	Image                     strictyaml.String   `yaml:"image"`
	Tag                       strictyaml.String   `yaml:"tag"`
	SocketPath                strictyaml.String   `yaml:"socket_path" alias:"socketPath"`
	Runtime                   strictyaml.String   `yaml:"runtime"`
	EnableWeakerNestedSandbox strictyaml.Bool     `yaml:"enable_weaker_nested_sandbox" alias:"enableWeakerNestedSandbox"`
	ReadOnly                  strictyaml.Bool     `yaml:"read_only" alias:"readOnly"`
	UnconfinedSecurity        strictyaml.Bool     `yaml:"unconfined_security" alias:"unconfinedSecurity"`
	CapAdd                    []strictyaml.String `yaml:"cap_add" alias:"capAdd"`
	CapDrop                   []strictyaml.String `yaml:"cap_drop" alias:"capDrop"`
	LocalNetworking           strictyaml.Bool     `yaml:"allow_local_networking" alias:"allowLocalNetworking"`
	LocalNetworkingForUsers   []strictyaml.String `yaml:"allow_local_networking_for_users" alias:"allowLocalNetworkingForUsers,allow_local_networking_for,allowLocalNetworkingFor"`
	IsolatedDNSServers        []strictyaml.String `yaml:"isolated_dns_servers" alias:"isolatedDnsServers"`
	LocalDNSServers           []strictyaml.String `yaml:"local_dns_servers" alias:"localDnsServers"`
}

// Over returns what d says, and base where d is silent: key by key, but for the
// tag, which goes with its image. Either may be nil.
func (d *Docker) Over(base *Docker) *Docker {
	switch {
	case d == nil:
		return base
	case base == nil:
		return d
	}
	o := *d
	if !o.Image.Set() {
		inherit(&o.Tag, base.Tag)
	}
	for _, s := range []struct{ own, base *strictyaml.String }{
		{&o.Image, &base.Image}, {&o.SocketPath, &base.SocketPath}, {&o.Runtime, &base.Runtime},
	} {
		inherit(s.own, *s.base)
	}
	for _, s := range []struct{ own, base *strictyaml.Bool }{
		{&o.Enabled, &base.Enabled}, {&o.EnableWeakerNestedSandbox, &base.EnableWeakerNestedSandbox}, {&o.ReadOnly, &base.ReadOnly},
		{&o.UnconfinedSecurity, &base.UnconfinedSecurity}, {&o.LocalNetworking, &base.LocalNetworking},
	} {
		inherit(s.own, *s.base)
	}
	for _, s := range []struct{ own, base *[]strictyaml.String }{
		{&o.CapAdd, &base.CapAdd}, {&o.CapDrop, &base.CapDrop}, {&o.LocalNetworkingForUsers, &base.LocalNetworkingForUsers},
		{&o.IsolatedDNSServers, &base.IsolatedDNSServers}, {&o.LocalDNSServers, &base.LocalDNSServers},
	} {
		if *s.own == nil {
			*s.own = *s.base
		}
	}
	return &o
}

func inherit[T any](own *strictyaml.Value[T], base strictyaml.Value[T]) {
	if !own.Set() {
		*own = base
	}
}

// Wanted reports whether commands are to run in a container and nowhere else.
// The block may be nil.
func (d *Docker) Wanted() bool { return d != nil && d.Enabled.V }

// Unwanted reports whether commands are not to run in a container unless the
// caller says so. The block may be nil. Where neither is said, a container is
// used if somebody has named an image.
func (d *Docker) Unwanted() bool { return d != nil && d.Enabled.Set() && !d.Enabled.V }

// capability is the form of a Linux capability, with or without its prefix.
var capability = regexp.MustCompile(`^(CAP_)?[A-Z][A-Z_]+$`)

// validate reports what is wrong with the block; d may be nil.
func (d *Docker) validate(problems *strictyaml.Problems) {
	if d == nil {
		return
	}
	for key, v := range map[string]strictyaml.String{"image": d.Image, "tag": d.Tag, "runtime": d.Runtime} {
		if v.Set() && (v.V == "" || strings.ContainsAny(v.V, " \t\n")) {
			problems.Add(v.Pos, "docker: %s %q is not a name", key, v.V)
		}
	}
	if d.SocketPath.Set() && !filepath.IsAbs(d.SocketPath.V) {
		problems.Add(d.SocketPath.Pos, "docker: the socket's path %q is not absolute", d.SocketPath.V)
	}
	for _, c := range append(append([]strictyaml.String(nil), d.CapAdd...), d.CapDrop...) {
		if !capability.MatchString(c.V) {
			problems.Add(c.Pos, "docker: %q is not a capability; they look like NET_ADMIN or CAP_NET_ADMIN", c.V)
		}
	}
	for _, s := range append(append([]strictyaml.String(nil), d.IsolatedDNSServers...), d.LocalDNSServers...) {
		if _, err := netip.ParseAddr(s.V); err != nil {
			problems.Add(s.Pos, "docker: %q is not the IP address of a DNS server", s.V)
		}
	}
}
