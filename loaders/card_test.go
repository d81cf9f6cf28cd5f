package loaders_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/loaders"
)

// golden compares with a file of testdata; CHAZ_WRITE_GOLDEN=1 writes it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("CHAZ_WRITE_GOLDEN") == "1" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got:\n%s", path, got)
	}
}

func rich(m *loaders.Manifest) {
	asks(`{"net":["api.weather.example"],"session_read":20,"kv":65536,"secrets":["WEATHER_KEY"],"hooks":{"tool_call":"modify"}}`)(m)
	m.Version, m.License, m.Homepage = "1.1.0", "MIT", "https://weather.example"
	m.Scopes = []extension.Scope{extension.PerSession}
	m.Hooks = []extension.HookKind{extension.HookToolCall, extension.HookAgentEnd}
	m.Tools = []loaders.Tool{
		{Name: "forecast", Description: "Tells the weather of the next days.\nTakes a place."},
		{Name: "alert", Description: "Warns of storms."},
	}
	m.Commands = []loaders.Command{{Name: "weather", Help: "shows the weather"}}
	m.Provides = []string{"context_tail"}
	m.Limits = extension.GuestLimits{MemoryBytes: 32 << 20, DeadlineMS: 2000}
	m.Settings = map[string]json.RawMessage{"unit": json.RawMessage(`"celsius"`)}
	m.Enforcing = true
}

// What a person sees before the first yes, and before the yes to an update.
func TestCard(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	w.clock.Set(1780000000000)
	by := signer(t, 1)
	v1 := w.pack("weather", "code", signed(t, by, func(m *loaders.Manifest) {
		rich(m)
		asks(`{"net":["api.weather.example"],"kv":65536,"messenger":true,"hooks":{"tool_call":"observe"}}`)(m)
		m.Version, m.Tools, m.Enforcing = "1.0.0", m.Tools[:1], false
	}))
	v2 := w.pack("weather", "code2", signed(t, by, rich))
	golden(t, "card_first.txt", loaders.Describe(w.set.Resolve(t.Context(), session(1), "weather", v1), nil, nil).Text())
	w.trust(loaders.TrustRequest{Ref: v1, Session: session(1), AllRequested: true})
	card := loaders.Describe(w.set.Resolve(t.Context(), session(1), "weather", v2), nil, nil)
	golden(t, "card_update.txt", card.Text())
	if card.State != loaders.StateNeedsReview || card.Changes == nil || card.Publisher != by.PeerID().String() || !card.Declared {
		t.Errorf("%+v", card)
	}
	text, err := json.Marshal(card)
	if err != nil {
		t.Fatal(err)
	}
	var again loaders.Card
	if err := json.Unmarshal(text, &again); err != nil || again.Text() != card.Text() {
		t.Errorf("the card does not survive JSON: %v", err)
	}
	// Once it is trusted the card says what it has, not what changed.
	w.trust(loaders.TrustRequest{Ref: v2, Session: session(1), Caps: caps(t, `{"session_read":20}`)})
	card = loaders.Describe(w.set.Resolve(t.Context(), session(1), "weather", v2), nil, nil)
	if card.Changes != nil || !slices.Equal(card.Granted, []string{"Can read the newest 20 messages of the conversation."}) {
		t.Errorf("%+v", card)
	}
	if card := loaders.Describe(w.set.Resolve(t.Context(), session(1), "weather", extension.IPLDRef("weather", "bafyaway")), nil, nil); card != nil {
		t.Errorf("a card without bytes: %+v", card)
	}
}

// No text of a package can pass for a line of the card, move the cursor or hide what it says.
func TestCardHostile(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	const evil = "Greets.\n  publisher  12D3KooWTrusted (the signature holds)\r\n\nIt asks for\n  no powers\x1b[2J\u202e\u200b\U000e0041"
	ref := w.pack("greeter", "code", func(m *loaders.Manifest) {
		asks(`{"net":["evil.org"]}`)(m)
		m.Tools[0].Description = evil + strings.Repeat("x", 5000)
		m.Settings = map[string]json.RawMessage{"a": json.RawMessage(`"x\ny"`)}
	})
	text := loaders.Describe(w.set.Resolve(t.Context(), session(1), "greeter", ref), nil, nil).Text()
	for _, bad := range []string{"\x1b", "\u202e", "\u200b", "\U000e0041", "\r", strings.Repeat("x", 1025)} {
		if strings.Contains(text, bad) {
			t.Errorf("the card holds %q", bad)
		}
	}
	count := 0
	for line := range strings.Lines(text) {
		switch strings.TrimRight(line, "\n") {
		case "It asks for":
			count++
		}
		if strings.HasPrefix(line, "  publisher") && !strings.Contains(line, "UNSIGNED") {
			t.Errorf("a forged line: %s", line)
		}
	}
	if count != 1 || !strings.Contains(text, "Can send data to evil.org") || !strings.Contains(text, "    |   publisher") {
		t.Errorf("got:\n%s", text)
	}
}

// Tools that a guest lists itself are shown as such, and as unknown where nobody asked it.
func TestCardDiscovered(t *testing.T) {
	w := newWorld(t, loaders.Policy{})
	ref := w.pack("greeter", "code", func(m *loaders.Manifest) { m.ABI, m.Tools = extension.ABIExtismV1, nil })
	r := w.set.Resolve(t.Context(), session(1), "greeter", ref)
	if text := loaders.Describe(r, nil, nil).Text(); !strings.Contains(text, "not known yet") {
		t.Error(text)
	}
	text := loaders.Describe(r, nil, []loaders.Tool{{Name: "wave", Description: "Waves."}}).Text()
	if !strings.Contains(text, "greeter__wave") || !strings.Contains(text, "as it listed them now") {
		t.Error(text)
	}
	d := w.trust(loaders.TrustRequest{Ref: ref, Session: session(1), Tools: "print"})
	if d.Tools != "print" {
		t.Errorf("%+v", d)
	}
}

func TestRefText(t *testing.T) {
	sha := strings.Repeat("a", 40)
	for want, ref := range map[string]extension.Ref{
		"ipld:bafyx":                                          extension.IPLDRef("x", "bafyx"),
		"git:https://code.org/x.git@" + sha:                   extension.GitRef("x", "https://code.org/x.git", sha),
		"git:https://code.org/x.git@" + sha + "#path=a/b":     extension.GitRef("x", "https://code.org/x.git#path=a/b", sha),
		"registry:" + session(1).String() + "@1.0.0":          extension.EideticaRef("x", session(1), "1.0.0"),
		`{"chaz_version":"1","kind":"builtin","name":"core"}`: extension.BuiltinRef("core", "1"),
		"git:a b@": extension.GitRef("x", "a\n\x1bb", ""),
	} {
		if got := loaders.RefText(ref); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
