package ipld

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/ipfs/go-cid"

	"github.com/chaz-peer/chaz-peer/loaders"
)

// manifestSection is the custom section of a module that holds its manifest as JSON.
const manifestSection = "chaz.manifest"

// bareManifest is the manifest of a module without a node or directory around it: the one embedded in
// it, or one that gives no powers.
func (l *Loader) bareManifest(name string, wasm []byte) (*loaders.Manifest, error) {
	text, ok := l.embedded(wasm)
	switch {
	case ok:
		return embeddedManifest(text, wasm)
	case l.abi == nil:
		return nil, invalid("the module has no manifest")
	}
	return loaders.SyntheticManifest(name, wasm, l.abi)
}

func (l *Loader) embedded(wasm []byte) ([]byte, bool) {
	if l.section == nil {
		return nil, false
	}
	return l.section(wasm, manifestSection)
}

// embeddedManifest adds what a module can't hold of itself: its hash, its size, where it is.
func embeddedManifest(text, wasm []byte) (*loaders.Manifest, error) {
	text = bytes.TrimSpace(text)
	if len(text) > loaders.MaxManifest {
		return nil, invalid("section %s: %d bytes, the limit is %d", manifestSection, len(text), loaders.MaxManifest)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, invalid("section %s: not a JSON object", manifestSection)
	}
	for _, own := range []string{"wasm", "wasm_size", "wasm_sha256"} {
		if _, ok := fields[own]; ok {
			return nil, invalid("section %s: %q can't stand in the module itself", manifestSection, own)
		}
	}
	sum := sha256.Sum256(wasm)
	where := cidOf(cid.Raw, wasm).String()
	head := fmt.Sprintf(`{"wasm":{"/":%q},"wasm_size":%d,"wasm_sha256":%q`, where, len(wasm), hex.EncodeToString(sum[:]))
	if len(fields) > 0 {
		head += ","
	}
	// The text itself goes on to the parser, which sees every digit and every duplicate key in it.
	m, err := parseManifest(append([]byte(head), text[1:]...), loaders.MaxManifestHard)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", manifestSection, err)
	}
	return m, nil
}
