package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const contract = "github.com/chaz-peer/chaz-peer/extension"

// listed is a package as "go list" describes it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	Module                  *struct{ Main bool }
}

// TestOnlyThePipelineRunsTools reads the types of the whole program: nothing but this package may use
// the function of a tool, apart from the hub, which wraps it for this package.
func TestOnlyThePipelineRunsTools(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,Module", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, own := map[string]string{}, []listed{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if p.Module != nil && p.Module.Main {
			own = append(own, p)
		}
	}
	uses := map[string]int{}
	for _, p := range own {
		for _, where := range runsTools(t, p, exports) {
			pkg := strings.TrimPrefix(p.ImportPath, "github.com/chaz-peer/chaz-peer/")
			uses[pkg]++
			switch pkg {
			case "node/pipeline", "extension/hub", "extension/extensiontest":
			default:
				t.Errorf("%s: a tool is reached around the pipeline", where)
			}
		}
	}
	if uses["node/pipeline"] == 0 {
		t.Error("not even the pipeline is seen to run tools: the test is blind")
	}
}

// runsTools finds where a package reads the function of a tool.
func runsTools(t *testing.T, p listed, exports map[string]string) (where []string) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Logf("%s is left out: %v", p.ImportPath, err)
			return nil
		}
		files = append(files, f)
	}
	open := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	info := &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}}
	cfg := types.Config{Importer: importer.ForCompiler(fset, "gc", open), Error: func(error) {}} // cgo has names of its own
	_, _ = cfg.Check(p.ImportPath, fset, files, info)
	written := map[ast.Expr]bool{}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			if a, ok := n.(*ast.AssignStmt); ok {
				for _, l := range a.Lhs {
					written[l] = true
				}
			}
			return true
		})
	}
	for expr, sel := range info.Selections {
		recv := types.Unalias(sel.Recv())
		if ptr, ok := recv.(*types.Pointer); ok {
			recv = types.Unalias(ptr.Elem())
		}
		named, ok := recv.(*types.Named)
		if ok && sel.Kind() == types.FieldVal && sel.Obj().Name() == "Run" && !written[expr] &&
			named.Obj().Name() == "Tool" && named.Obj().Pkg() != nil && named.Obj().Pkg().Path() == contract {
			where = append(where, fset.Position(expr.Pos()).String())
		}
	}
	return where
}
