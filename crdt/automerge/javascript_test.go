package automerge

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// jsFolder holds the scripts that read and write documents with the JavaScript library;
// `npm ci` there installs it.
const jsFolder = "../../docs/jsexport"

// node runs a script of jsFolder. Where it can't, the test is skipped and says why; with
// CHAZ_REQUIRE_NODE set (as in CI) it fails instead.
func node(t *testing.T, script string, args ...string) []byte {
	t.Helper()
	path, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(jsFolder, "node_modules"))
	}
	if err != nil {
		if os.Getenv("CHAZ_REQUIRE_NODE") != "" {
			t.Fatalf("node and `npm ci` in docs/jsexport are required: %v", err)
		}
		t.Skipf("needs node and `npm ci` in docs/jsexport: %v", err)
	}
	cmd := exec.Command(path, append([]string{script}, args...)...)
	cmd.Dir = jsFolder
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Logf("%s", exit.Stderr)
		}
		t.Fatalf("node %s: %v", script, err)
	}
	return out
}

func TestJavaScriptReadsWhatIsSaved(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(string(kind), func(t *testing.T) {
			doc, want := sample(t, kind)
			file := filepath.Join(t.TempDir(), "document.automerge")
			check(t, os.WriteFile(file, doc.Save(), 0o600))
			var got Stores
			check(t, json.Unmarshal(node(t, "check.mjs", file), &got))
			sameStores(t, string(kind), got, want)
		})
	}
}

func TestChildReadsWhatJavaScriptSaved(t *testing.T) {
	want := Stores{
		"meta":    {"doc": `"foreign"`, "emoji 🙂": `"日本語"`},
		"entries": {"a": `{"timestamp":9223372036854775807}`, "b": `""`},
	}
	text, err := json.Marshal(want)
	check(t, err)
	file := filepath.Join(t.TempDir(), "document.automerge")
	node(t, "make.mjs", file, string(text))
	saved, err := os.ReadFile(file)
	check(t, err)
	got, err := again(t, readMode).Values(t.Context(), saved)
	check(t, err)
	sameStores(t, "made by JavaScript", got, want)
}
