package loaders

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/chaz-peer/chaz-peer/extension"
)

// CheckPackage holds a package against its reference and its own word: the name, size and SHA-256 of the
// module, the publisher's signature. It sets Signed, and keeps the hash of the module, whose bytes must not
// be changed any more. An invalid signature is an error, none is not. Errors wrap [ErrInvalid]. Every
// [Loader] calls it at each load.
func CheckPackage(p *Package) error {
	err := checkPackage(p)
	if err != nil {
		return fmt.Errorf("check package of %.80q: %w: %w", p.Ref.Name(), ErrInvalid, err)
	}
	return nil
}

func checkPackage(p *Package) (err error) {
	m := p.Manifest
	if m == nil {
		return fmt.Errorf("there is no manifest")
	}
	if err := m.Validate(); err != nil {
		return err
	}
	if err := extension.CheckName(m.Name, p.Ref); err != nil {
		return fmt.Errorf("the manifest is of %s: %w", m.Name, err)
	}
	if int64(len(p.WASM)) != m.WASMSize {
		return fmt.Errorf("the module has %d bytes, the manifest says %d", len(p.WASM), m.WASMSize)
	}
	p.sum = moduleSum{p.WASM, sha256.Sum256(p.WASM)} // whatever was known before
	if sum := p.SHA256(); sum != m.WASMSHA256 {
		return fmt.Errorf("the module's sha256 is %s, the manifest says %s", sum, m.WASMSHA256)
	}
	p.Signed, err = m.verifyPublisher()
	return err
}

// SHA256 is the hash of the module in lower-case hex.
func (p *Package) SHA256() string {
	sum := p.wasmSum()
	return hex.EncodeToString(sum[:])
}

// SyntheticManifest is the manifest that the host makes for a bare module: tools only, no powers. name is
// that of the reference. abi tells the interface from the module's exports (v1 where both call and
// describe are exported, else v2); its error is returned as it is. Other errors wrap [ErrInvalid].
func SyntheticManifest(name string, wasm []byte, abi func(wasm []byte) (string, error)) (*Manifest, error) {
	kind, err := abi(wasm)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(wasm)
	m := &Manifest{
		Schema: Schema, Name: name, ABI: kind, WASMSize: int64(len(wasm)), WASMSHA256: hex.EncodeToString(sum[:]),
		Synthetic: true,
	}
	if err := m.Validate(); err != nil {
		return nil, fmt.Errorf("make manifest of %.80q: %w: %w", name, ErrInvalid, err)
	}
	return m, nil
}

// MayHaveTools reports whether the guest is asked for tools: it declares some, or leaves them to be
// discovered.
func (m *Manifest) MayHaveTools() bool {
	if m.Tools != nil {
		return len(m.Tools) > 0
	}
	return m.ABI != extension.ABIChaz1 || slices.Contains(m.Hooks, extension.HookTool)
}

// Kinds lists the hook kinds that the guest may use, in the order of the format.
func (m *Manifest) Kinds() []extension.HookKind {
	var out []extension.HookKind
	for _, k := range []extension.HookKind{
		extension.HookBeforeAgentStart, extension.HookToolCall, extension.HookToolResult,
		extension.HookAgentEnd, extension.HookSessionStart, extension.HookSessionShutdown,
	} {
		if slices.Contains(m.Hooks, k) {
			out = append(out, k)
		}
	}
	if m.MayHaveTools() {
		out = append(out, extension.HookTool)
	}
	if len(m.Commands) > 0 {
		out = append(out, extension.HookCommand)
	}
	return out
}

// LivesAt lists the scopes of instances: those of the manifest, or the session alone.
func (m *Manifest) LivesAt() []extension.Scope {
	if len(m.Scopes) == 0 {
		return []extension.Scope{extension.PerSession}
	}
	return slices.Clone(m.Scopes)
}

// Declaration is the manifest as the framework reads it, under a reference. What it asks of the host and
// of other extensions is requested; what its needs name besides is required.
func (m *Manifest) Declaration(ref extension.Ref) extension.Declaration {
	d := extension.Declaration{
		Manifest:  extension.Manifest{Name: m.Name, Ref: ref, Hooks: m.Kinds()},
		Scopes:    m.LivesAt(),
		Enforcing: m.Enforcing,
	}
	for _, c := range m.Commands {
		d.Commands = append(d.Commands, c.Name)
	}
	for _, p := range m.Provides {
		if c, err := extension.ParseCapability(p); err == nil {
			d.Provides = append(d.Provides, c)
		}
	}
	for _, c := range m.wants() {
		r := extension.Request{Kind: c}
		if slices.Contains(m.Needs, string(c)) {
			d.Requires = append(d.Requires, r)
		} else {
			d.Requests = append(d.Requests, r)
		}
	}
	if len(m.ConfigSchema) > 0 {
		d.SettingsSchema = slices.Clone(m.ConfigSchema)
	}
	for _, k := range slices.Sorted(maps.Keys(m.Settings)) {
		if d.Settings == nil {
			d.Settings = map[string]any{}
		}
		d.Settings[k] = json.RawMessage(slices.Clone(m.Settings[k]))
	}
	return d
}

// wants lists the capabilities of the framework that the asked powers need.
func (m *Manifest) wants() []extension.Capability {
	var out []extension.Capability
	add := func(asked bool, c extension.Capability) {
		if asked {
			out = append(out, c)
		}
	}
	add(m.Capabilities.SessionRead != 0, extension.CapSessionRead)
	add(m.Capabilities.SessionWrite, extension.CapSessionWrite)
	add(m.Capabilities.Settings != "", extension.CapSettings)
	add(m.Capabilities.Memory != "", extension.CapMemory)
	add(m.Capabilities.Messenger, extension.CapMessenger)
	return out
}
