package loaders

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chaz-peer/chaz-peer/extension"
)

// Bounds of a manifest.
const (
	MaxPackageName = 32       // characters of a name
	MaxToolName    = 64       // of <extension>__<tool>: what model back ends take
	MaxModule      = 64 << 20 // bytes of a module; carriers refuse more than 16 MiB by default
	maxTools       = 128
	maxCommands    = 32
	maxSettings    = 128
	maxShown       = 200 // characters of licence, homepage and source
)

// Validate returns the first fault of a manifest as a structure; [ParseManifest] calls it.
func (m *Manifest) Validate() error {
	for _, check := range []func() error{
		m.checkIdentity, m.checkModule, m.checkScopes, m.checkHooks, m.checkTools, m.checkCommands,
		m.Capabilities.Validate, m.Limits.Validate, m.checkProvides, m.checkSettings, m.checkPublisher, m.checkShown,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifest) checkIdentity() error {
	switch {
	case m.Schema != Schema:
		return fmt.Errorf("unknown schema %.40q; this version knows %s", m.Schema, Schema)
	case !extension.ValidName(m.Name) || len(m.Name) > MaxPackageName || m.Name[0] < 'a' || m.Name[0] > 'z':
		return fmt.Errorf("name: %.80q must be a-z, 0-9, _ and -, at most %d characters, and start with a letter", m.Name, MaxPackageName)
	case extension.ReservedName(m.Name):
		return fmt.Errorf("name: %s is reserved for built-in extensions", m.Name)
	case utf8.RuneCountInString(m.Version) > 64 || !printableText(m.Version):
		return errors.New("version: want at most 64 printable characters")
	}
	switch m.ABI {
	case extension.ABIExtismV1, extension.ABIExtismV2, extension.ABIChaz1:
		return nil
	}
	return fmt.Errorf("unknown abi %.40q; this version knows %s, %s and %s", m.ABI, extension.ABIExtismV1, extension.ABIExtismV2, extension.ABIChaz1)
}

func (m *Manifest) checkModule() error {
	sum, err := hex.DecodeString(m.WASMSHA256)
	switch {
	case m.Synthetic:
	case (m.WASM.CID == "") == (m.WASM.Path == ""):
		return errors.New("wasm: the module must be named, by a link or by a path")
	case m.WASM.Path != "" && !cleanPath(m.WASM.Path):
		return fmt.Errorf("wasm: %.80q is no plain relative path", m.WASM.Path)
	}
	switch {
	case m.WASMSize <= 0 || m.WASMSize > MaxModule:
		return fmt.Errorf("wasm_size: want 1 to %d bytes", MaxModule)
	case err != nil || len(sum) != 32 || strings.ToLower(m.WASMSHA256) != m.WASMSHA256:
		return errors.New("wasm_sha256: want 64 lower-case hex digits")
	}
	return nil
}

func (m *Manifest) checkScopes() error {
	for _, s := range m.Scopes {
		if s != extension.Global && s != extension.PerAgent && s != extension.PerSession {
			return fmt.Errorf("scopes: unknown scope %.40q", string(s))
		}
	}
	return once("scopes", m.Scopes)
}

func (m *Manifest) checkHooks() error {
	listed := map[extension.HookKind]bool{}
	for _, k := range m.Hooks {
		if k.Display() == "" {
			return fmt.Errorf("hooks: unknown hook kind %.40q", string(k))
		}
		if _, said := m.Capabilities.Hooks[k]; k.GuestPower() && !said {
			return fmt.Errorf("capabilities.hooks does not say how far %s reaches", k)
		}
		listed[k] = true
	}
	for k := range m.Capabilities.Hooks {
		if !listed[k] {
			return fmt.Errorf("capabilities.hooks names %.40q, which hooks does not list", string(k))
		}
	}
	return once("hooks", m.Hooks)
}

func (m *Manifest) checkTools() error {
	if len(m.Tools) > maxTools {
		return fmt.Errorf("tools: %d are more than %d", len(m.Tools), maxTools)
	}
	var names []string
	for _, t := range m.Tools {
		if !ValidToolName(m.Name, t.Name) {
			return fmt.Errorf("tools: the name %.80q must be letters, digits, _ and -, and %s__%.80s at most %d characters", t.Name, m.Name, t.Name, MaxToolName)
		}
		if !utf8.ValidString(t.Description) {
			return fmt.Errorf("tools: the description of %s is not UTF-8", t.Name)
		}
		if len(t.InputSchema) > 0 {
			if err := checkObjectSchema(t.InputSchema); err != nil {
				return fmt.Errorf("input_schema of the tool %s: %w", t.Name, err)
			}
		}
		names = append(names, t.Name)
	}
	return once("tools", names)
}

// ValidToolName reports whether a guest of the extension ext may have a tool of this name: letters,
// digits, _ and -, and together with the prefix that it gets at most [MaxToolName] characters.
func ValidToolName(ext, tool string) bool {
	return tool != "" && len(FullToolName(ext, tool)) <= MaxToolName && strings.IndexFunc(tool, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}) < 0
}

// FullToolName is the name of a guest's tool as models see it: <ext>__<tool>.
func FullToolName(ext, tool string) string { return ext + "__" + tool }

func (m *Manifest) checkCommands() error {
	if len(m.Commands) > maxCommands {
		return fmt.Errorf("commands: %d are more than %d", len(m.Commands), maxCommands)
	}
	var names []string
	for _, c := range m.Commands {
		switch {
		case !extension.ValidName(c.Name) || len(c.Name) > MaxPackageName:
			return fmt.Errorf("commands: the name %.80q must be a-z, 0-9, _ and -, at most %d characters", c.Name, MaxPackageName)
		// The built-in extensions with a command bear its name.
		case extension.ReservedCommand(c.Name) || extension.ReservedName(c.Name):
			return fmt.Errorf("commands: /%s belongs to the host", c.Name)
		case utf8.RuneCountInString(c.Help) > maxShown || !printableText(c.Help):
			return fmt.Errorf("commands: the help of /%s must be one line of at most %d printable characters", c.Name, maxShown)
		}
		names = append(names, c.Name)
	}
	return once("commands", names)
}

func (m *Manifest) checkProvides() error {
	for _, p := range m.Provides {
		c := extension.Capability(p)
		switch {
		case c.HostOnly():
			return fmt.Errorf("provides: only the host provides %s", p)
		case c == extension.CapMemory, c == extension.CapMessenger, c == extension.CapContextTail,
			c == extension.CapPromptAugmentation, extension.ValidCapID(p):
		default:
			return fmt.Errorf("provides: unknown capability %.80q", p)
		}
	}
	for _, n := range m.Needs {
		if !extension.ValidName(n) && !extension.ValidCapID(n) {
			return fmt.Errorf("needs: %.80q names no extension and no capability", n)
		}
	}
	if len(m.Provides) > maxCommands || len(m.Needs) > maxCommands {
		return fmt.Errorf("provides and needs: at most %d of each", maxCommands)
	}
	if err := once("provides", m.Provides); err != nil {
		return err
	}
	return once("needs", m.Needs)
}

func (m *Manifest) checkSettings() error {
	if len(m.ConfigSchema) > 0 {
		if err := checkObjectSchema(m.ConfigSchema); err != nil {
			return fmt.Errorf("config_schema: %w", err)
		}
	}
	if len(m.Settings) > maxSettings {
		return fmt.Errorf("settings: %d are more than %d", len(m.Settings), maxSettings)
	}
	for k, v := range m.Settings {
		if k == "" || utf8.RuneCountInString(k) > 64 || strings.ContainsAny(k, " ") || !printableText(k) {
			return fmt.Errorf("settings: the key %.80q must be 1 to 64 printable characters without blanks", k)
		}
		if !json.Valid(v) {
			return fmt.Errorf("settings: the default of %s is no JSON", k)
		}
	}
	return nil
}

func (m *Manifest) checkShown() error {
	for what, s := range map[string]string{"license": m.License, "homepage": m.Homepage, "source": m.Source} {
		if utf8.RuneCountInString(s) > maxShown || !printableText(s) {
			return fmt.Errorf("%s: want at most %d printable characters", what, maxShown)
		}
	}
	return nil
}

func once[T comparable](what string, list []T) error {
	seen := map[T]bool{}
	for _, x := range list {
		if seen[x] {
			return fmt.Errorf("%s: %.80q stands twice", what, fmt.Sprint(x))
		}
		seen[x] = true
	}
	return nil
}
