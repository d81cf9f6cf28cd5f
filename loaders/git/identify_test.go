package git

import (
	"testing"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// TestIdentify asks commits for the names of their packages.
func TestIdentify(t *testing.T) {
	r := newRepo(t)
	files := pkg(module(1))
	files["bare.wasm"] = module(2)
	sha := r.push("main", files)
	url, _ := share(t, r)
	p := newPeer(t, nil)
	_, err := p.Identify(t.Context(), url, sha, loaders.From{})
	wantError(t, err, loaders.ErrConsent, url)
	if p.dials.Load() != 0 {
		t.Error("a contact without leave")
	}
	m, err := p.Identify(t.Context(), url, sha, outside())
	must(t, err)
	if m == nil || m.Name != "demo" {
		t.Errorf("manifest %+v", m)
	}
	p.wantPackage(ref(url, sha), module(1))
	m, err = p.Identify(t.Context(), url+"#wasm=bare.wasm", sha, outside())
	must(t, err)
	if m != nil {
		t.Errorf("a bare module has the manifest %+v", m)
	}
	_, err = p.Identify(t.Context(), url+"#path=no", sha, outside())
	wantError(t, err, loaders.ErrInvalid, `there is no "no"`)
	_, err = p.Identify(t.Context(), url, "main", outside())
	wantError(t, err, loaders.ErrInvalid, "no branch")
}
