package loaders

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

// cap cuts powers to the ceiling.
func (p Policy) cap(c extension.GuestCaps) extension.GuestCaps {
	if p.MaxCaps != nil {
		c = c.Intersect(*p.MaxCaps)
	}
	c = c.Clone()
	for _, key := range p.Forbid {
		forbid(&c, key)
	}
	return c
}

// forbid takes one power away by its key; false if there is none of that key.
func forbid(c *extension.GuestCaps, key string) bool {
	switch key {
	case "net":
		c.Net = nil
	case "fs":
		c.FS = nil
	case "secrets":
		c.Secrets = nil
	case "settings":
		c.Settings = ""
	case "session_read":
		c.SessionRead = 0
	case "session_write":
		c.SessionWrite = false
	case "kv":
		c.KV = 0
	case "llm":
		c.LLM = nil
	case "hooks":
		c.Hooks = nil
	case "memory":
		c.Memory = ""
	case "messenger":
		c.Messenger = false
	case "caps":
		c.Caps = nil
	default:
		return false
	}
	return true
}

// refusesRef says why the policy refuses a reference, whatever is behind it; "" if it does not.
func (p Policy) refusesRef(ref extension.Ref) string {
	if slices.Contains(p.Deny.Names, ref.Name()) {
		return "the policy of this peer denies the name " + ref.Name()
	}
	for _, r := range p.Deny.Refs {
		if r == ref.String() || r == ref.Version() {
			return "the policy of this peer denies this reference"
		}
	}
	if ref.Kind() == extension.Git && len(p.AllowGitHosts) > 0 {
		if host := gitHost(ref.Field("repo")); !slices.Contains(p.AllowGitHosts, host) {
			return fmt.Sprintf("the policy of this peer allows no git host %.80q", host)
		}
	}
	return ""
}

// refusesPackage says why the policy refuses verified content; "" if it does not.
func (p Policy) refusesPackage(pkg *Package) string {
	if slices.Contains(p.Deny.SHA256, pkg.Manifest.WASMSHA256) {
		return "the policy of this peer denies this module"
	}
	if pkg.Root != "" && slices.Contains(p.Deny.Refs, pkg.Root) {
		return "the policy of this peer denies this package"
	}
	if pkg.Manifest.Publisher != nil && slices.ContainsFunc(p.Deny.Publishers, pkg.Manifest.Publisher.is) {
		return "the policy of this peer denies this publisher"
	}
	if p.AllowUnsigned == "never" && !pkg.Signed {
		return "the policy of this peer wants a publisher's signature"
	}
	return ""
}

// is reports whether key, in either form, is the publisher's.
func (p *Publisher) is(key string) bool {
	a, err := p.ID()
	b, err2 := (&Publisher{Key: key}).ID()
	return err == nil && err2 == nil && a == b
}

// signer is the publisher whose signature holds; zero if there is none.
func (p *Package) signer() crdt.PeerID {
	if !p.Signed || p.Manifest.Publisher == nil {
		return crdt.PeerID{}
	}
	id, _ := p.Manifest.Publisher.ID()
	return id
}

// allows finds the rule that trusts a package.
func (p Policy) allows(pkg *Package) (AllowRule, bool) {
	for _, r := range p.Allow {
		if (r.Publisher == "" || pkg.Signed && pkg.Manifest.Publisher.is(r.Publisher)) &&
			(r.SHA256 == "" || r.SHA256 == pkg.Manifest.WASMSHA256) &&
			(r.CID == "" || r.CID == pkg.Root || pkg.Ref.Kind() == extension.IPLD && r.CID == pkg.Ref.Version()) &&
			(r.Name == "" || r.Name == pkg.Manifest.Name) {
			return r, true
		}
	}
	return AllowRule{}, false
}

// mayAllow reports whether a rule could trust what is behind a reference whose bytes are not here.
func (p Policy) mayAllow(ref extension.Ref) bool {
	return slices.ContainsFunc(p.Allow, func(r AllowRule) bool {
		return r.CID != "" && ref.Kind() == extension.IPLD && r.CID == ref.Version() && (r.Name == "" || r.Name == ref.Name())
	})
}

// gitHost is the host of a repository's address in lower case, "local" for a path.
func gitHost(repo string) string {
	if u, err := url.Parse(repo); err == nil && u.Scheme != "" && u.Scheme != "file" {
		return strings.ToLower(u.Hostname())
	}
	if at, path, ok := strings.Cut(repo, ":"); ok && !strings.ContainsAny(at, "/") && !strings.HasPrefix(path, "//") {
		_, host, has := strings.Cut(at, "@")
		if !has {
			host = at
		}
		return strings.ToLower(host)
	}
	return "local"
}
