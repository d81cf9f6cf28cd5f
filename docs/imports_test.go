package docs

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/chaz-peer/chaz-peer"

// table is one table of architecture.md: package or module → the names in its last column.
func table(t *testing.T, text, header string) map[string][]string {
	t.Helper()
	_, rest, ok := strings.Cut(text, header)
	if !ok {
		t.Fatalf("architecture.md has no table %q", header)
	}
	out := map[string][]string{}
	for i, line := range strings.Split(rest, "\n")[1:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if i == 0 {
			continue // the ruler
		}
		if !strings.HasPrefix(line, "|") {
			break
		}
		name := strings.Trim(cells[0], " `")
		for _, c := range strings.Split(cells[len(cells)-1], ",") {
			if c = strings.Trim(c, " `"); c != "" {
				out[name] = append(out[name], c)
			} else {
				out[name] = out[name][:len(out[name]):len(out[name])]
			}
		}
	}
	return out
}

func allowed(rules []string, pkg string) bool {
	return slices.ContainsFunc(rules, func(r string) bool {
		return r == pkg || strings.HasSuffix(r, "/*") && path.Dir(pkg) == strings.TrimSuffix(r, "/*")
	})
}

// imports calls fn for each import of a file that is no test.
func imports(t *testing.T, fn func(file, pkg, imported string)) {
	t.Helper()
	count := 0
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		base := d.Name()
		if _, nested := os.Stat(filepath.Join(p, "go.mod")); d.IsDir() && p != ".." && nested == nil {
			return fs.SkipDir // an example is a module of its own
		}
		if d.IsDir() && (base == "testdata" || base == "node_modules" || strings.HasPrefix(base, ".") && base != "..") {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(base, ".go") || strings.HasSuffix(base, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel("..", filepath.Dir(p))
		for _, im := range f.Imports {
			name, _ := strconv.Unquote(im.Path.Value)
			fn(p, filepath.ToSlash(rel), name)
			count++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if count < 100 {
		t.Fatalf("only %d imports found: the walk is broken", count)
	}
}

func readArchitecture(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestImportsFollowThePlan(t *testing.T) {
	rules := table(t, readArchitecture(t), "| package | holds | may import |")
	seen := map[string]bool{}
	imports(t, func(file, pkg, imported string) {
		seen[pkg] = true
		own, ok := strings.CutPrefix(imported, module+"/")
		if !ok {
			return
		}
		if _, planned := rules[pkg]; !planned {
			t.Errorf("%s: package %s is not in the plan", file, pkg)
		} else if !allowed(rules[pkg], own) {
			t.Errorf("%s: %s may not import %s", file, pkg, own)
		}
		if strings.HasSuffix(own, "test") {
			t.Errorf("%s: only tests may import %s", file, own)
		}
	})
	for pkg := range rules {
		if !seen[pkg] {
			t.Errorf("the plan names %s, which is not there", pkg)
		}
	}
}

func TestOneDoorForEachDependency(t *testing.T) {
	doors := table(t, readArchitecture(t), "| module | only in |")
	used := map[string]bool{}
	imports(t, func(file, pkg, imported string) {
		for mod, where := range doors {
			if imported == mod || strings.HasPrefix(imported, mod+"/") {
				used[mod] = true
				if !slices.Contains(where, pkg) {
					t.Errorf("%s: only %s may import %s", file, where, mod)
				}
			}
		}
	})
	for mod := range doors {
		if !used[mod] {
			t.Errorf("nothing imports %s any more: take it out of the table", mod)
		}
	}
}

func TestTheTestCanFail(t *testing.T) {
	if allowed([]string{"crdt", "crdt/*"}, "node") || allowed([]string{"crdt/*"}, "crdt") || !allowed([]string{"crdt/*"}, "crdt/chunk") {
		t.Error("allowed answers wrongly")
	}
}
