package node

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestASettingsSchemaReadsNoFile has a schema that refers to a file of the machine.
func TestASettingsSchemaReadsNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "any.json")
	if err := os.WriteFile(path, []byte(`{"const":"the secret"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	refers := json.RawMessage(`{"properties":{"k":{"$ref":"file://` + filepath.ToSlash(path) + `"}}}`)
	for _, value := range []string{`"the secret"`, `"a guess"`} { // it must not tell them apart
		if err := checkSetting(refers, "k", []byte(value)); err == nil {
			t.Errorf("%s: %v", value, err)
		}
	}
	if err := checkSetting(json.RawMessage(`{"properties":{"k":{"type":"string"}}}`), "k", []byte(`"x"`)); err != nil {
		t.Error(err)
	}
}
