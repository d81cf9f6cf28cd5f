// The guest of the benchmarks: ordinary Go that does nothing but work.
package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

func main() {}

// hash hashes that many KiB and answers with the first bytes of the sum.
//
//go:wasmexport hash
func hash(kib int32) int32 {
	buf := make([]byte, 1024)
	h := sha256.New()
	for i := range kib {
		buf[0] = byte(i)
		h.Write(buf)
	}
	sum := h.Sum(nil)
	return int32(sum[0])<<16 | int32(sum[1])<<8 | int32(sum[2])
}

type row struct {
	ID   int               `json:"id"`
	Name string            `json:"name"`
	Tags []string          `json:"tags"`
	More map[string]string `json:"more"`
	Rate float64           `json:"rate"`
}

// jsonRound decodes and encodes a document n times and answers with the length of what came out.
//
//go:wasmexport json_round
func jsonRound(n int32) int32 {
	var b strings.Builder
	b.WriteString("[")
	for i := range 40 {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"row %d","tags":["a","b\n","cé"],"more":{"k":"v","n":"%d"},"rate":%d.5}`, i, i, i, i)
	}
	b.WriteString("]")
	total := 0
	for range n {
		var rows []row
		if err := json.Unmarshal([]byte(b.String()), &rows); err != nil {
			panic(err)
		}
		out, err := json.Marshal(rows)
		if err != nil {
			panic(err)
		}
		total += len(out)
	}
	return int32(total)
}

// sieve counts the primes below n: a loop of the kind that a Go compiler makes.
//
//go:wasmexport sieve
func sieve(n int32) int32 {
	not := make([]bool, n)
	count := int32(0)
	for i := int32(2); i < n; i++ {
		if not[i] {
			continue
		}
		count++
		for k := int64(i) * int64(i); k < int64(n); k += int64(i) {
			not[k] = true
		}
	}
	return count
}
