package automerge

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The declarations of core.h must be those of the binding that is linked; a C compiler compares
// them. The altered copies show that it would notice.
func TestDeclarationsAgreeWithTheBinding(t *testing.T) {
	binding := output(t, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/automerge/automerge-go")
	compiler := strings.Fields(output(t, "go", "env", "CC"))
	header, err := os.ReadFile("core.h")
	check(t, err)
	own := string(header)
	for name, c := range map[string]struct {
		header  string
		compile bool
	}{
		"as it is":        {own, true},
		"other parameter": {replaced(t, own, "AMsave(AMdoc *doc)", "AMsave(AMdoc *doc, int more)"), false},
		"other result":    {replaced(t, own, "bool AMitemToDoc", "int AMitemToDoc"), false},
		"other status":    {replaced(t, own, "AMstatus AMresultStatus", "int AMresultStatus"), false},
		"other size":      {replaced(t, own, "sizeof(AMitems) == 24", "sizeof(AMitems) == 32"), false},
		"other constant":  {replaced(t, own, "AM_VAL_TYPE_CHANGE == 16", "AM_VAL_TYPE_CHANGE == 32"), false},
	} {
		source := filepath.Join(t.TempDir(), "both.c")
		check(t, os.WriteFile(source, []byte("#include \"automerge.h\"\n"+c.header), 0o600))
		args := append(compiler[1:], "-std=c11", "-Wall", "-fsyntax-only", "-I", binding, source)
		out, err := exec.Command(compiler[0], args...).CombinedOutput()
		if (err == nil) != c.compile {
			t.Errorf("%s: compiles: %v, want %v\n%s", name, err == nil, c.compile, out)
		}
	}
}

func replaced(t *testing.T, s, old, by string) string {
	t.Helper()
	if strings.Count(s, old) != 1 {
		t.Fatalf("core.h does not hold %q once", old)
	}
	return strings.Replace(s, old, by, 1)
}

func output(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		t.Fatalf("run %s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}
