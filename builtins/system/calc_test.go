package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/crdt"
	"github.com/chaz-peer/chaz-peer/extension"
)

func tools(t testing.TB) map[string]extension.Tool {
	t.Helper()
	i, err := New().Instantiate(t.Context(), extension.GlobalContext{Peer: &extension.Peer{Clock: crdt.NewManualClock(1_700_000_000_999)}})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]extension.Tool{}
	for _, tool := range i.Tools {
		out[tool.Name] = tool
	}
	return out
}

func calculate(t testing.TB, expression string) (string, error) {
	t.Helper()
	args, _ := json.Marshal(map[string]string{"expression": expression})
	return tools(t)["calculate"].Run(context.Background(), extension.Call{}, args)
}

func TestCalculate(t *testing.T) {
	for expression, want := range map[string]string{
		"2+3*4": "14", "14": "14", "14.0": "14", "7/2": "3.5", "1/3": "0.3333333333333333", "0.1+0.2": "0.30000000000000004",
		" ( 1 + 2 )\t*\n3 ": "9", "((((1))))": "1", "8/4/2": "1", "8-4-2": "2", "2*3%4": "2", "-7%3": "-1", "7.5%2": "1.5",
		"2^10": "1024", "2**10": "1024", "2^3^2": "512", "-2^2": "-4", "(-2)^2": "4", "2^-1": "0.5", "--3": "3", "+-+3": "-3", "2--3": "5",
		".5": "0.5", "5.": "5", "1e3": "1000", "1E+3": "1000", "2.5e-3": "0.0025", "-0": "0", "0*-1": "0", "1e-7": "1e-07", "1.5e300": "15" + strings.Repeat("0", 299),
		"2^53": "9007199254740992", "2^64": "18446744073709551616", "9007199254740993": "9007199254740992", "1e21": "1000000000000000000000",
		"10^23": "100000000000000000000000", "123456789.5": "123456789.5", "5e-324": "5e-324",
		"sqrt(16)": "4", "sqrt( 2 ) ^ 2": "2.0000000000000004", "abs(-3)": "3", "floor(-1.5)": "-2", "ceil(1.2)": "2", "round(2.5)": "3", "trunc(-1.7)": "-1",
		"ln(e)": "1", "log2(8)": "3", "log10(1000)": "3", "sin(0)": "0", "cos(pi)": "-1", "tau/pi": "2", "atan2(0,1)": "0", "hypot(3,4)": "5",
		"pow(2,0.5)": "1.4142135623730951", "min(3,1,2)": "1", "max(3)": "3", "max(1,max(2,3),-4)": "3", "cbrt(27)": "3", "exp(0)": "1", "0^0": "1",
	} {
		if got, err := calculate(t, expression); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", expression, got, err, want)
		}
	}
}

func TestCalculateRefuses(t *testing.T) {
	deep := strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000)
	for expression, want := range map[string]error{
		"1/0": errZero, "0/0": errZero, "1%0": errZero, "1/(2-2)": errZero, "0^-1": errZero, "pow(0,-2)": errZero, "1/-0": errZero,
		"1e308*10": errOverflow, "1e400": errOverflow, "10^400": errOverflow, "exp(1000)": errOverflow, "1/10^400": errOverflow, "1e308+1e308": errOverflow, "9^9^9": errOverflow,
		"sqrt(-1)": errUnreal, "(-8)^(1/3)": errUnreal, "ln(0)": errUnreal, "ln(-1)": errUnreal, "asin(2)": errUnreal,
		"": errSyntax, "  ": errSyntax, "nonsense": errSyntax, "1 2": errSyntax, "1+": errSyntax, "*1": errSyntax, "(1": errSyntax, "1)": errSyntax, "()": errSyntax,
		"2pi": errSyntax, "1.2.3": errSyntax, ".": errSyntax, "1e": errSyntax, "1,000": errSyntax, "1_000": errSyntax, "0x10": errSyntax, "1 = 1": errSyntax, "2 * * 3": errSyntax,
		"sqrt": errSyntax, "sqrt()": errSyntax, "sqrt(1,2)": errSyntax, "min()": errSyntax, "min(1,)": errSyntax, "log(1)": errSyntax, "Inf": errSyntax, "NaN": errSyntax, "PI": errSyntax,
		"x = 1": errSyntax, "$(ls)": errSyntax, "`id`": errSyntax, "__import__('os')": errSyntax, "1;2": errSyntax, "\x00": errSyntax, "\xff\xfe": errSyntax, "½": errSyntax, "٣+1": errSyntax,
		deep: errSyntax, strings.Repeat("1^", 1000) + "1": errSyntax, strings.Repeat("9", 100_000): errSyntax,
	} {
		got, err := calculate(t, expression)
		if !errors.Is(err, want) || got != "" {
			t.Errorf("%.40q is %q, %v, want %v", expression, got, err, want)
		}
		if err != nil && len(err.Error()) > 1500 {
			t.Errorf("%.40q: the error has %d bytes", expression, len(err.Error()))
		}
	}
	if got, err := calculate(t, strings.Repeat("(", 150)+"1"+strings.Repeat(")", 150)); err != nil || got != "1" {
		t.Errorf("control: 150 parentheses: %s, %v", got, err)
	}
	if got, err := calculate(t, strings.Repeat("-", 9000)+"1"); err != nil || got != "1" {
		t.Errorf("control: 9,000 signs: %s, %v", got, err)
	}
	if _, err := tools(t)["calculate"].Run(t.Context(), extension.Call{}, json.RawMessage(`{"expression":7}`)); !errors.Is(err, extension.ErrArgument) {
		t.Errorf("a number as the expression: %v", err)
	}
}

// term is an expression with its value in exact arithmetic.
type term struct {
	text  string
	exact *big.Rat
}

// Sums, differences and products of whole numbers that stay below 2^53 are exact, whatever the
// blanks and parentheses.
func TestCalculateProperty(t *testing.T) {
	var grow func(t *rapid.T, depth int) term
	grow = func(t *rapid.T, depth int) term {
		if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
			n := rapid.Int64Range(0, 30).Draw(t, "n")
			return term{strconv.FormatInt(n, 10), big.NewRat(n, 1)}
		}
		a, b := grow(t, depth-1), grow(t, depth-1)
		op := rapid.SampledFrom([]string{"+", "-", "*"}).Draw(t, "op")
		v := new(big.Rat)
		switch op {
		case "+":
			v.Add(a.exact, b.exact)
		case "-":
			v.Sub(a.exact, b.exact)
		case "*":
			v.Mul(a.exact, b.exact)
		}
		blank := rapid.SampledFrom([]string{"", " ", "\t "}).Draw(t, "blank")
		return term{"(" + blank + a.text + blank + op + b.text + ")", v}
	}
	rapid.Check(t, func(rt *rapid.T) {
		x := grow(rt, 4)
		limit := big.NewRat(1<<53, 1)
		if new(big.Rat).Abs(x.exact).Cmp(limit) >= 0 {
			rt.Skip("too large to be exact")
		}
		got, err := calculate(t, x.text)
		if err != nil || got != x.exact.RatString() {
			rt.Fatalf("%s is %s, %v, want %s", x.text, got, err, x.exact.RatString())
		}
	})
}

// What is printed names the very value, and a whole number has no point.
func TestNumberProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Filter(func(v float64) bool { return !math.IsInf(v, 0) && !math.IsNaN(v) }).Draw(t, "v")
		text := number(v)
		back, err := strconv.ParseFloat(text, 64)
		if err != nil || back != v {
			t.Fatalf("%v prints %s", v, text)
		}
		if v == math.Trunc(v) && strings.ContainsAny(text, ".e") || text == "-0" {
			t.Fatalf("%v prints %s", v, text)
		}
		if again, err := evaluate(text); err != nil || again != v {
			t.Fatalf("%s is %v, %v", text, again, err)
		}
	})
}

func FuzzCalculate(f *testing.F) {
	for _, s := range []string{"1+2*3", "sqrt(-1)", "2^3^4^5", "max(1,2,(3))", "1e", "((", "--1", "pi*e/tau%2", "1/0"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := evaluate(s)
		if err == nil && (math.IsInf(v, 0) || math.IsNaN(v)) {
			t.Fatalf("%q is %v", s, v)
		}
		known := false
		for _, e := range []error{errSyntax, errZero, errOverflow, errUnreal} {
			known = known || errors.Is(err, e)
		}
		if err != nil && !known {
			t.Fatalf("%q: %v", s, err)
		}
		// A whole expression in parentheses is the same value.
		if again, err2 := evaluate("(" + s + ")"); err == nil && len(s) < maxExpression-2 && (err2 != nil || again != v) && !strings.Contains(fmt.Sprint(err2), "nested") {
			t.Fatalf("(%s) is %v, %v, not %v", s, again, err2, v)
		}
	})
}
