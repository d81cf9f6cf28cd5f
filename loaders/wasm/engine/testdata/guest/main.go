// Command guest is a guest of the tests: built with GOOS=wasip1 GOARCH=wasm -buildmode=c-shared.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/extism/go-pdk"
)

func main() {}

// calls counts in the guest's own memory.
var calls int

//go:wasmexport echo
func echo() int32 {
	calls++
	pdk.Output(pdk.Input())
	return 0
}

//go:wasmexport count
func count() int32 {
	calls++
	pdk.OutputString(strconv.Itoa(calls))
	return 0
}

// run does what the first word of the input says, and reports an error as a guest should.
//
//go:wasmexport run
func run() int32 {
	out, err := do(strings.Fields(pdk.InputString()))
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	pdk.OutputString(out)
	return 0
}

func do(in []string) (string, error) {
	switch in[0] {
	case "fail":
		return "", errors.New(strings.Join(in[1:], " "))
	case "panic":
		panic("as told")
	case "exit":
		os.Exit(3)
	case "hog":
		var keep [][]byte
		for {
			keep = append(keep, make([]byte, 1<<20))
			keep[len(keep)-1][0] = byte(len(keep))
		}
	case "spin":
		for {
		}
	case "say":
		fmt.Println(strings.Join(in[1:], " "))
		fmt.Fprint(os.Stderr, "no end of line")
		pdk.Log(pdk.LogWarn, "warned")
		return "", nil
	case "env":
		return fmt.Sprintf("%d %d", len(os.Args), len(os.Environ())), nil
	case "now":
		return time.Now().UTC().Format(time.RFC3339), nil
	case "sleep":
		d, err := time.ParseDuration(in[1])
		begin := time.Now()
		time.Sleep(d)
		return fmt.Sprint(time.Since(begin) >= d), err
	case "config":
		v, ok := pdk.GetConfig(in[1])
		return fmt.Sprintf("%q %t", v, ok), nil
	case "var":
		old := pdk.GetVar(in[1])
		pdk.SetVar(in[1], []byte(in[2]))
		return string(old), nil
	case "http":
		r := pdk.NewHTTPRequest(pdk.MethodPost, in[1])
		r.SetHeader("X-Ask", "please")
		r.SetBody([]byte("question"))
		a := r.Send()
		return fmt.Sprintf("%d %s %s", a.Status(), a.Headers()["x-a"], a.Body()), nil
	}
	return files(in)
}

func files(in []string) (string, error) {
	switch in[0] {
	case "read":
		b, err := os.ReadFile(in[1])
		return string(b), err
	case "write":
		return "", os.WriteFile(in[1], []byte(in[2]), 0o644)
	case "append":
		f, err := os.OpenFile(in[1], os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return "", err
		}
		_, err = f.WriteString(in[2])
		return "", errors.Join(err, f.Close())
	case "list":
		list, err := os.ReadDir(in[1])
		names := make([]string, len(list))
		for i, e := range list {
			names[i] = e.Name()
		}
		return strings.Join(names, " "), err
	case "mkdir":
		return "", os.Mkdir(in[1], 0o755)
	case "remove":
		return "", os.Remove(in[1])
	case "rename":
		return "", os.Rename(in[1], in[2])
	case "symlink":
		return "", os.Symlink(in[1], in[2])
	case "link":
		return "", os.Link(in[1], in[2])
	case "readlink":
		return os.Readlink(in[1])
	case "stat":
		info, err := os.Stat(in[1])
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %d %t", info.Name(), info.Size(), info.IsDir()), nil
	case "truncate":
		n, _ := strconv.ParseInt(in[2], 10, 64)
		return "", os.Truncate(in[1], n)
	case "open":
		n, _ := strconv.Atoi(in[2])
		var all []*os.File
		for range n {
			f, err := os.Open(in[1])
			if err != nil {
				return strconv.Itoa(len(all)), err
			}
			all = append(all, f)
		}
		return strconv.Itoa(len(all)), nil
	case "fill":
		return fill(in[1])
	}
	return "", fmt.Errorf("%q is nothing that this guest can do", in[0])
}

// fill writes until something stops it.
func fill(path string) (string, error) {
	f, err := os.Create(path)
	if err != nil {
		return "", err
	}
	b := make([]byte, 1<<20)
	for {
		if _, err := f.WriteAt(b, 0); err != nil {
			return "", err
		}
	}
}

// work is what the benchmarks measure: "loop n", "sha256 MiB", "json n".
//
//go:wasmexport work
func work() int32 {
	in := strings.Fields(pdk.InputString())
	n, err := strconv.Atoi(in[1])
	if err != nil {
		pdk.SetError(err)
		return 1
	}
	switch in[0] {
	case "loop":
		x := uint32(1)
		for range n {
			x = x*1664525 + 1013904223
			x ^= x >> 7
		}
		pdk.OutputString(strconv.Itoa(int(x)))
	case "sha256":
		sum := sha256.Sum256(make([]byte, n<<20))
		pdk.OutputString(hex.EncodeToString(sum[:]))
	case "json":
		in := map[string]any{"name": "a name", "list": []int{1, 2, 3}, "deep": map[string]any{"x": 1.5, "y": "z"}}
		for range n {
			text, _ := json.Marshal(in)
			_ = json.Unmarshal(text, &in)
		}
		pdk.OutputString(strconv.Itoa(len(in)))
	}
	return 0
}
