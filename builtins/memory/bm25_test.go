package memory

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/chaz-peer/chaz-peer/builtins/bank"
	"github.com/chaz-peer/chaz-peer/crdt"
)

func words(text string) []string {
	var out []string
	tokens(text, func(t string) bool {
		out = append(out, t)
		return true
	})
	return out
}

func TestTokens(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"a I x", ""},
		{"Hello, World!", "hello world"},
		{"go1.26 x86_64", "go1 26 x86 64"},
		{"ÄRGER Straße", "ärger straße"},
		{"日本語 é", "日本語 é"},
		{"\xffab\xfe", "ab"},
		{"K2", "k2"},
		{"हिन्दी", "हिन दी"},
	} {
		if got := strings.Join(words(c.in), " "); got != c.want {
			t.Errorf("%q gives %q, want %q", c.in, got, c.want)
		}
	}
	if got := terms(2, "one two", "three"); fmt.Sprint(got) != "[one two]" {
		t.Errorf("the first terms: %v", got)
	}
	if got := terms(9, "one two", "two three one"); fmt.Sprint(got) != "[one two three]" {
		t.Errorf("different terms: %v", got)
	}
}

func checkTokens(t interface{ Fatalf(string, ...any) }, text string) {
	got := words(text)
	for _, w := range got {
		if len(w) < minToken || !utf8.ValidString(w) {
			t.Fatalf("%q gives %q", text, w)
		}
		for _, r := range w {
			if !alphanumeric(r) || unicode.ToLower(r) != r {
				t.Fatalf("%q gives %q with %U", text, w, r)
			}
		}
	}
	if again := words(strings.Join(got, " ")); !slices.Equal(again, got) {
		t.Fatalf("%q gives %q, and these give %q", text, got, again)
	}
	if both := words(text + "|" + text); !slices.Equal(both, slices.Concat(got, got)) {
		t.Fatalf("%q gives %q, twice %q", text, got, both)
	}
}

func TestTokensProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkTokens(t, rapid.String().Draw(t, "text")) })
}

func FuzzTokens(f *testing.F) {
	for _, s := range []string{"Hello, World", "İstanbul", "K", "a\u0301b", "\xff\xfeab", "Ǆ ǅ ﬁ ᾈ"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { checkTokens(t, text) })
}

func TestWeightProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 1<<20).Draw(t, "n")
		df := rapid.IntRange(0, n).Draw(t, "df")
		length := rapid.IntRange(1, 1000).Draw(t, "length")
		tf := rapid.IntRange(1, length).Draw(t, "tf")
		average := rapid.Float64Range(1, 1000).Draw(t, "average")
		w := weight(idf(n, df), tf, length, average)
		if !(w > 0) || math.IsInf(w, 0) {
			t.Fatalf("weight %v", w)
		}
		if more := weight(idf(n, df), tf+1, length, average); more <= w {
			t.Fatalf("one more occurrence: %v after %v", more, w)
		}
		if longer := weight(idf(n, df), tf, length+1, average); longer >= w {
			t.Fatalf("one more word: %v after %v", longer, w)
		}
		if df < n && idf(n, df+1) >= idf(n, df) {
			t.Fatal("a word that more texts have must tell less")
		}
	})
	if weight(1, 1, 0, 0) != 0 {
		t.Error("no words at all")
	}
}

func TestCosine(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		a, b []float32
		want float64
	}{
		{[]float32{1, 0}, []float32{2, 0}, 1},
		{[]float32{1, 0}, []float32{0, 1}, 0},
		{[]float32{1, 0}, []float32{-1, 0}, 0},
		{[]float32{1}, []float32{1, 1}, 0},
		{nil, nil, 0},
		{[]float32{0}, []float32{0}, 0},
		{[]float32{nan}, []float32{1}, 0},
	} {
		if got := cosine(c.a, c.b); got != c.want {
			t.Errorf("cosine(%v, %v) = %v", c.a, c.b, got)
		}
	}
}

// TestRankingAgainstOracle compares the corpora, grown in steps, with a computation from the rows that
// knows no index: the same memories in the same order.
func TestRankingAgainstOracle(t *testing.T) {
	vocabulary := []string{"tea", "coffee", "green", "black", "milk", "sugar"}
	rapid.Check(t, func(t *rapid.T) {
		places := []*place{{bank.Source{ID: crdt.DocID{1}}, newCorpus("memory")}, {bank.Source{ID: crdt.DocID{2}}, newCorpus("memory")}}
		var count [2]map[string]*memo
		count[0], count[1] = map[string]*memo{}, map[string]*memo{}
		for i := range rapid.IntRange(0, 30).Draw(t, "rows") {
			m := &memo{
				id:    crdt.RowIDOf(fmt.Sprint(i)),
				key:   rapid.SampledFrom(vocabulary).Draw(t, "key"),
				value: strings.Join(rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 6).Draw(t, "value"), " "),
				tags:  rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, 1).Draw(t, "tags"),
				at:    int64(rapid.IntRange(0, 5).Draw(t, "at")),
			}
			in := rapid.IntRange(0, 1).Draw(t, "in")
			places[in].add(m)
			if old := count[in][m.key]; old == nil || compareMemos(m, old) < 0 {
				count[in][m.key] = m
			}
		}
		query := terms(9, strings.Join(rapid.SliceOfN(rapid.SampledFrom(append(vocabulary, "water")), 1, 4).Draw(t, "query"), " "))
		most := rapid.IntRange(0, 30).Draw(t, "most")
		got := byWords(places, query, nil, most)
		want := oracle(places, count[:], query)
		want = want[:min(len(want), most)]
		if len(got) != len(want) {
			t.Fatalf("%d hits, want %d", len(got), len(want))
		}
		for i := range got {
			if got[i].id != want[i].id || math.Abs(got[i].score-want[i].score) > 1e-9 {
				t.Fatalf("hit %d: %s %v, want %s %v", i, got[i].key, got[i].score, want[i].key, want[i].score)
			}
		}
	})
}

func oracle(places []*place, count []map[string]*memo, query []string) []hit {
	text := func(m *memo) []string { return words(m.key + " " + m.value + " " + strings.Join(m.tags, " ")) }
	n, total := 0, 0
	df := map[string]int{}
	for _, of := range count {
		for m := range maps.Values(of) {
			n++
			total += len(text(m))
			for _, t := range query {
				if slices.Contains(text(m), t) {
					df[t]++
				}
			}
		}
	}
	var out []hit
	for i, of := range count {
		for m := range maps.Values(of) {
			h := hit{memo: m, in: places[i]}
			ws := text(m)
			for _, t := range query {
				tf := 0.0
				for _, w := range ws {
					if w == t {
						tf++
					}
				}
				rarity := math.Log(1 + (float64(n)-float64(df[t])+0.5)/(float64(df[t])+0.5))
				h.score += rarity * tf * 2.5 / (tf + 1.5*(0.25+0.75*float64(len(ws))/(float64(total)/float64(n))))
			}
			if h.score > 0 {
				out = append(out, h)
			}
		}
	}
	slices.SortFunc(out, func(a, b hit) int {
		if math.Abs(a.score-b.score) > 1e-9 {
			return cmp.Compare(b.score, a.score)
		}
		return compareHits(hit{memo: a.memo, in: a.in}, hit{memo: b.memo, in: b.in})
	})
	return out
}

func TestBestProperty(t *testing.T) {
	p := &place{from: bank.Source{ID: crdt.DocID{1}}}
	rapid.Check(t, func(t *rapid.T) {
		b := best{n: rapid.IntRange(0, 20).Draw(t, "n")}
		var all []hit
		for i, score := range rapid.SliceOfN(rapid.IntRange(0, 50), 0, 500).Draw(t, "scores") {
			h := hit{&memo{id: crdt.RowIDOf(fmt.Sprint(i))}, p, float64(score)}
			all = append(all, h)
			b.add(h)
		}
		slices.SortFunc(all, compareHits)
		if got := b.ranked(); !slices.Equal(got, all[:min(len(all), b.n)]) {
			t.Fatalf("%d of %d", len(got), len(all))
		}
	})
}

func TestFusion(t *testing.T) {
	p := &place{from: bank.Source{ID: crdt.DocID{1}}}
	m := func(i byte) hit { return hit{memo: &memo{id: crdt.RowID{i}, key: fmt.Sprint(i), at: int64(i)}, in: p} }
	got := fuse([]hit{m(1), m(2), m(3)}, []hit{m(3), m(4)})
	var keys []string
	for _, h := range got {
		keys = append(keys, h.key)
	}
	// 3 is in both lists; 1 is first in one; 4 and 2 are second, and 4 is newer.
	if fmt.Sprint(keys) != "[3 1 4 2]" || got[0].score != 1.0/63+1.0/61 {
		t.Fatalf("%v, %v", keys, got[0].score)
	}
}
