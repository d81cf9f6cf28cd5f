package pipeline

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/extension"
)

// fake joins the parts of a made-up secret, so that no scanner of source code takes it for one.
func fake(parts ...string) string { return strings.Join(parts, "") }

const body = "-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\nMzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu\nab==\n-----END "

func secrets() map[string][]string {
	long := strings.Repeat("aB3", 30)
	return map[string][]string{
		"openai_key":                {fake("sk-", long[:20])},
		"openai_project_key":        {fake("sk-proj-", long[:20]), fake("sk-proj-", "ab_-"+long[:40])},
		"anthropic_key":             {fake("sk-ant-", "api03-"+long[:20])},
		"openrouter_key":            {fake("sk-or-v1-", strings.Repeat("0aF9", 16))},
		"github_token":              {fake("ghp_", long[:36]), fake("ghs_", long[:40])},
		"github_fine_grained_token": {fake("github_pat_", long[:22])},
		"aws_access_key":            {fake("AKIA", "ABCDEFGHIJKLMNOP")},
		"stripe_key":                {fake("sk_live_", long[:20]), fake("rk_test_", long[:24])},
		"slack_token":               {fake("xoxb-", "1234567890"), fake("xoxp-", "12-34-abcdef")},
		"bearer_token":              {"Bearer " + long[:20], "authorization: bearer " + long[:30]},
		"sendgrid_key":              {fake("SG.", long[:22], ".", long[:43])},
		"pem_private_key":           {"-----BEGIN PRIVATE KEY" + body + "PRIVATE KEY-----", "-----BEGIN RSA PRIVATE KEY" + body + "RSA PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK" + body + "PGP PRIVATE KEY BLOCK-----"},
		"openssh_private_key":       {"-----BEGIN OPENSSH PRIVATE KEY" + body + "OPENSSH PRIVATE KEY-----"},
	}
}

func TestEverySecretIsRedacted(t *testing.T) {
	s := newScanner()
	n := 0
	for name, list := range secrets() {
		for _, secret := range list {
			n++
			text := "before " + secret + " after"
			got, names, cut := s.clean(text, 1<<20)
			if fmt.Sprint(names) != "["+name+"]" || cut || !strings.HasSuffix(got, "[REDACTED:"+name+"] after") || !strings.HasPrefix(got, "before ") {
				t.Errorf("%s: %q, %v", secret, got, names)
			}
		}
	}
	if n < 18 {
		t.Fatalf("only %d secrets", n)
	}
	for _, fine := range []string{
		"", "task-force", "sk-short", "the risk-assessment of 2024", fake("AKIA", "SHORT"), "ghp_123", "Bearer of bad news", "xoxz-1234567890", "SG.a.b", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "sk_prod_" + strings.Repeat("a", 30),
	} {
		if got, names, _ := s.clean(fine, 1<<20); got != fine || names != nil {
			t.Errorf("%q became %q", fine, got)
		}
	}
}

func TestPrivateKeysAreTakenWhole(t *testing.T) {
	s := newScanner()
	whole := "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\nMIIEvQIBADANBgkqhkiG9w0BAQEF\nAASCBKcwggSjAgEAAoIBAQC7VJTUt9\nab==\n"
	for name, text := range map[string]string{
		"no end":            whole,
		"no end, then text": whole + "\n\nHere follows a sentence. " + "More.",
		"escaped":           strings.ReplaceAll(whole, "\n", `\n`) + `-----END RSA PRIVATE KEY-----"`,
		"escaped, no end":   strings.ReplaceAll(whole, "\n", `\n`),
		"quoted lines":      strings.ReplaceAll(whole, "\n", "\n> "),
		"windows":           strings.ReplaceAll(whole, "\n", "\r\n") + "-----END RSA PRIVATE KEY-----",
		"another end":       whole + "-----END PRIVATE KEY-----",
		"numbered":          strings.ReplaceAll(whole, "\n", "\n12: ") + "-----END RSA PRIVATE KEY-----",
		"two in a row":      whole + "-----END RSA PRIVATE KEY-----\n" + whole + "-----END RSA PRIVATE KEY-----",
		"two, first open":   whole + whole + "-----END RSA PRIVATE KEY-----",
	} {
		got, names, _ := s.clean("x "+text, 1<<20)
		for _, piece := range []string{"MIIEvQ", "AASCBK", "VJTUt9", "AgEAAoIBAQC7"} {
			if strings.Contains(got, piece) {
				t.Errorf("%s: %q is left in %q", name, piece, got)
			}
		}
		if len(names) != 1 || !strings.HasPrefix(got, "x [REDACTED:pem_private_key]") {
			t.Errorf("%s: %q %v", name, got, names)
		}
		if name == "no end, then text" && !strings.HasSuffix(got, "Here follows a sentence. More.") {
			t.Errorf("%s: the text behind is gone: %q", name, got)
		}
	}
	// A mention of the head alone takes nothing with it.
	if got, _, _ := s.clean("grep for -----BEGIN PRIVATE KEY----- in the tree.", 1000); !strings.HasSuffix(got, " in the tree.") {
		t.Errorf("%q", got)
	}
}

func TestSecretsAtTheCut(t *testing.T) {
	s := newScanner()
	for _, list := range secrets() {
		for _, secret := range list {
			for limit := 5; limit < len(secret)+8; limit++ {
				got, names, cut := s.clean("1234 "+secret+" and more", limit)
				if !cut {
					t.Fatalf("limit %d of %q: not cut", limit, secret)
				}
				tail := strings.TrimPrefix(got, "1234 ")
				if i := strings.Index(tail, "[RED"); i >= 0 {
					tail = tail[:i] // "authorization: " may stand
				}
				if len(names) == 0 && limit > 5+len("authorization: ") && len(tail) > 0 {
					t.Fatalf("limit %d: %q is left of %q", limit, tail, secret)
				}
			}
		}
	}
	// Far behind the end a secret counts for nothing.
	if _, names, _ := s.clean(strings.Repeat("x ", 10_000)+secrets()["openai_key"][0], 100); names != nil {
		t.Errorf("found %v", names)
	}
}

func TestManyHeadsTakeLinearTime(t *testing.T) {
	text := strings.Repeat("-----BEGIN PRIVATE KEY-----", 20_000)
	got, names, _ := newScanner().clean(text, 1<<20)
	if len(names) != 1 || strings.Contains(got, "BEGIN") {
		t.Errorf("%d bytes left, %v", len(got), names)
	}
}

func TestLeaksInTheWholeCall(t *testing.T) {
	token := secrets()["github_token"][0]
	run := func(context.Context, extension.Call, json.RawMessage) (string, error) { return "it is " + token, nil }
	r := newRig(t, Config{}, extension.Tool{Run: run})
	r.turn.onResult = func(_ context.Context, _, text string) ResultOutcome {
		if strings.Contains(text, token) {
			t.Error("a hook saw the raw secret")
		}
		return ResultOutcome{Text: text + " " + secrets()["aws_access_key"][0]}
	}
	r.want(t, r.call(t), StatusOK, "it is [REDACTED:github_token] [REDACTED:aws_access_key]")

	r = newRig(t, Config{Leaks: Block}, extension.Tool{Run: run})
	r.turn.onResult = func(context.Context, string, string) ResultOutcome {
		t.Error("a hook saw a blocked result")
		return ResultOutcome{}
	}
	r.want(t, r.call(t), StatusBlocked, "what looks like secrets (github_token)")
	r.turn.tools[0].Tool.Run = func(context.Context, extension.Call, json.RawMessage) (string, error) {
		return "", fmt.Errorf("bad %s", token)
	}
	r.want(t, r.call(t), StatusBlocked, "(github_token)")
	r.turn.onCall = func(context.Context, string, json.RawMessage, func(json.RawMessage) error) CallOutcome {
		return CallOutcome{Verdict: extension.Deny, Reason: token, By: "x"}
	}
	r.want(t, r.call(t), StatusDenied, "(github_token)") // it did not run, and the status says so
	r.turn.onCall, r.turn.onResult = nil, func(_ context.Context, _, text string) ResultOutcome { return ResultOutcome{Text: token} }
	r.turn.tools[0].Tool.Run = func(context.Context, extension.Call, json.RawMessage) (string, error) { return "clean", nil }
	r.want(t, r.call(t), StatusBlocked, "(github_token)")
	for _, e := range r.audit.results {
		if strings.Contains(fmt.Sprint(e), token) {
			t.Errorf("an entry holds the secret: %+v", e)
		}
	}
}

func TestCleanProperties(t *testing.T) {
	s := newScanner()
	var all []string
	for _, list := range secrets() {
		all = append(all, list...)
	}
	rapid.Check(t, func(t *rapid.T) {
		// Secrets in the midst of text that can't be part of one.
		var in, want []string
		for range rapid.IntRange(0, 6).Draw(t, "parts") {
			plain := rapid.StringMatching(`[ äöü\n.!?]{1,20}`).Draw(t, "plain")
			in, want = append(in, plain), append(want, plain)
			if rapid.Bool().Draw(t, "secret") {
				in = append(in, rapid.SampledFrom(all).Draw(t, "which")+" ")
			}
		}
		text := strings.Join(in, "")
		got, names, cut := s.clean(text, len(text))
		if cut {
			t.Fatal("cut at its own length")
		}
		for _, secret := range all {
			if strings.Contains(got, secret) {
				t.Fatalf("%q is still there", secret)
			}
		}
		if len(names) == 0 && got != text {
			t.Fatalf("%q became %q", text, got)
		}
		for _, plain := range want {
			if !strings.Contains(got, plain) {
				t.Fatalf("%q is gone", plain)
			}
		}
		again, names, _ := s.clean(got, len(got))
		if again != got || names != nil {
			t.Fatalf("a second scan finds %v", names)
		}
	})
}

func FuzzLeaks(f *testing.F) {
	for _, list := range secrets() {
		for _, secret := range list {
			f.Add("x "+secret+"\ny", 40)
		}
	}
	f.Add("-----BEGIN PRIVATE KEY-----"+strings.Repeat("\\n", 50), 3)
	s := newScanner()
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = max(1, min(limit, 1<<16))
		if len(text) > 1<<16 {
			return
		}
		valid, _ := validPrefix(text, limit+leakSlack)
		got, names, cut := s.clean(valid, limit)
		if len(names) == 0 && !cut && got != valid {
			t.Fatalf("changed without a reason: %q", got)
		}
		// What is left holds no secret, but for one that the cut made of a harmless text.
		if !cut {
			if again, names, _ := s.clean(got, len(got)+1); again != got {
				t.Fatalf("a second scan of %q finds %v", got, names)
			}
		}
		if len(got) > limit+leakSlack+64*(len(got)/16+1) {
			t.Fatalf("limit %d, and %d bytes are left", limit, len(got))
		}
	})
}
