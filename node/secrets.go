package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
	"github.com/chaz-peer/chaz-peer/node/control"
)

// secrets is this peer's table of secrets. Its files are readable by their owner only; values never
// leave it except to whom the host lends them, and appear in no list, log or document.
type secrets struct{ table *crdt.Table[string] }

// Secret implements [extension.Secrets]: a stored secret, else the environment variable of that
// name; ${NAME} and $NAME are the variable alone.
func (s secrets) Secret(ctx context.Context, name string) (string, error) {
	if variable, ok := variableOf(name); ok {
		v, set := os.LookupEnv(variable)
		if !set {
			return "", fmt.Errorf("read environment variable %.60s: %w", variable, extension.ErrNotFound)
		}
		return v, nil
	}
	v, err := s.table.Get(ctx, name)
	if err == nil {
		return v, nil
	}
	if v, ok := os.LookupEnv(name); ok {
		return v, nil
	}
	return "", fmt.Errorf("read secret %.60q: %w", name, extension.ErrNotFound)
}

// secretName is what a secret may be called: what an environment variable may, and a few marks.
var secretName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/-]{0,127}$`)

const maxSecret = 64 << 10

var variableRef = regexp.MustCompile(`^\$(?:([A-Za-z_][A-Za-z0-9_]{0,127})|\{([A-Za-z_][A-Za-z0-9_]{0,127})\})$`)

// variableOf is the name in ${NAME} or $NAME.
func variableOf(ref string) (string, bool) {
	m := variableRef.FindStringSubmatch(ref)
	if m == nil {
		return "", false
	}
	return m[1] + m[2], true
}

// looksLikeKey fits long runs of letters and digits mixed, as keys have them and names do not.
var looksLikeKey = regexp.MustCompile(`[A-Za-z0-9]{20,}`)

// CheckKey reports what is wrong with a reference to a key in the settings: the name of a secret,
// ${NAME} or $NAME. A key that was written there itself is refused, and not repeated.
func CheckKey(ref string) error {
	if _, ok := variableOf(ref); ok {
		return nil
	}
	for _, run := range looksLikeKey.FindAllString(ref, -1) {
		if strings.ContainsAny(run, "0123456789") && strings.ContainsAny(strings.ToLower(run), "abcdefghijklmnopqrstuvwxyz") {
			return errors.New("this looks like a key itself: keep it with `chaz-peer secret set NAME` and write NAME here, or ${VARIABLE}")
		}
	}
	if strings.HasPrefix(ref, "$") || !secretName.MatchString(ref) {
		return errors.New("want the name of a secret (see `chaz-peer secret list`) or a variable of the environment as ${NAME}")
	}
	return nil
}

func (n *Node) secretSet(ctx context.Context, p control.SecretSetParams) (control.SecretInfo, error) {
	if !secretName.MatchString(p.Name) {
		return control.SecretInfo{}, usage("use letters, digits and _ . : / -", "set secret: %.40q is not a name for one", p.Name)
	}
	if p.Value == "" || len(p.Value) > maxSecret {
		return control.SecretInfo{}, usage("give it on standard input", "set secret %s: the value has %d bytes, want 1 to %d", p.Name, len(p.Value), maxSecret)
	}
	return control.SecretInfo{Name: p.Name}, n.secrets.table.Put(ctx, p.Name, p.Value)
}

func (n *Node) secretList(ctx context.Context, _ control.SecretListParams) (control.List[control.SecretInfo], error) {
	out := control.List[control.SecretInfo]{}
	err := n.secrets.table.All(ctx, func(name string, _ string) error {
		out = append(out, control.SecretInfo{Name: name})
		return nil
	})
	return out, err
}

func (n *Node) secretRemove(ctx context.Context, p control.SecretParams) (control.SecretInfo, error) {
	if _, err := n.secrets.table.Get(ctx, p.Name); err != nil {
		return control.SecretInfo{}, &control.Error{Code: control.CodeNotFound, Cause: fmt.Sprintf("remove secret %.60q: there is none", p.Name), Remedy: "see `chaz-peer secret list`"}
	}
	return control.SecretInfo(p), n.secrets.table.Delete(ctx, p.Name)
}
