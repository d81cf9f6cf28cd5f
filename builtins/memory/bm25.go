package memory

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The constants of BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) and
// of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009).
const (
	bm25K1  = 1.5
	bm25B   = 0.75
	fusionK = 60
)

// minToken is the shortest word that counts, in bytes.
const minToken = 2

// tokens calls yield for each word of a text: a run of letters and digits of any script, in lower
// case, of at least minToken bytes.
func tokens(text string, yield func(string) bool) {
	start, lower := -1, true
	for i := 0; i <= len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case size > 0 && alphanumeric(r):
			if start < 0 {
				start, lower = i, true
			}
			lower = lower && unicode.ToLower(r) == r
		case start >= 0:
			word := text[start:i]
			if !lower {
				word = strings.Map(unicode.ToLower, word)
			}
			if start = -1; len(word) >= minToken && !yield(word) {
				return
			}
		}
		i += max(size, 1)
	}
}

func alphanumeric(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Other_Alphabetic, r)
}

// terms are the first n different words of the texts, in order.
func terms(n int, texts ...string) []string {
	var out []string
	seen := map[string]bool{}
	for _, text := range texts {
		tokens(text, func(t string) bool {
			if !seen[t] && len(out) < n {
				seen[t] = true
				out = append(out, t)
			}
			return len(out) < n
		})
	}
	return out
}

// idf is how much a word tells that df of n texts have. It is above 0.
func idf(n, df int) float64 {
	return math.Log1p((float64(n) - float64(df) + 0.5) / (float64(df) + 0.5))
}

// weight is what a word adds to the score of a text that has it tf times among length words, where
// texts have average words.
func weight(idf float64, tf, length int, average float64) float64 {
	if average == 0 {
		return 0
	}
	f := float64(tf)
	return idf * f * (bm25K1 + 1) / (f + bm25K1*(1-bm25B+bm25B*float64(length)/average))
}

// fused is what the rank (from 1) in one list adds to the score of a merged one.
func fused(rank int) float64 { return 1 / float64(fusionK+rank) }

// cosine is the similarity of two vectors, 0 where there is none.
func cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	if c := dot / (math.Sqrt(aa) * math.Sqrt(bb)); c > 0 { // not for NaN
		return c
	}
	return 0
}
