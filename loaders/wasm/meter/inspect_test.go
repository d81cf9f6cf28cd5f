package meter

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
)

// all is a module with something in each section.
func all() asm {
	a := run(cat(opLocalGet, 0), cat(opLocalGet, 0, opCall, 1))
	a.imports = [][]byte{
		cat("env", "f", byte(KindFunc), 0),
		cat("env", "g", byte(KindGlobal), I32, 0),
	}
	a.globals = append(a.globals, cat(FuncRef, 0, byte(opRefFunc), 1, opEnd))
	a.exports = append(a.exports, export("table", KindTable, 0), export("g", KindGlobal, 1), export("env f", KindFunc, 0))
	a.fns = append(a.fns, fn{typ: 1})
	a.start = cat(3)
	a.elems = append(a.elems,
		cat(1, 0, vec(cat(2))), cat(2, 0, opI32Const, 0, opEnd, 0, vec(cat(1))), cat(3, 0, vec(cat(1))),
		cat(4, opI32Const, 0, opEnd, vec(cat(byte(opRefFunc), 2, opEnd))),
		cat(5, FuncRef, vec(cat(byte(opRefNull), FuncRef, opEnd))),
		cat(6, 0, opI32Const, 0, opEnd, FuncRef, vec(cat(byte(opRefFunc), 1, opEnd))),
		cat(7, FuncRef, vec(cat(byte(opRefFunc), 3, opEnd))))
	a.dataCount = cat(3)
	a.datas = [][]byte{cat(0, opI32Const, 0, opEnd, "abc"), cat(1, "de"), cat(2, 0, opGlobalGet, 0, opEnd, "f")}
	a.tail = cat(sec(0, cat("chaz.manifest", []byte("{}"))), sec(0, cat("twice", []byte("1"))), sec(0, cat("twice", []byte("2"))))
	return a
}

func TestInspect(t *testing.T) {
	info, err := Inspect(all().bytes())
	if err != nil {
		t.Fatal(err)
	}
	word := &FuncType{Params: []Value{I32}, Results: []Value{I32}}
	want := &Info{
		Imports: []Import{{"env", "f", KindFunc, word}, {"env", "g", KindGlobal, nil}},
		Exports: []Export{
			{"run", KindFunc, word},
			{"memory", KindMemory, nil},
			{"table", KindTable, nil},
			{"g", KindGlobal, nil},
			{"env f", KindFunc, word},
		},
		Memory: &Memory{Min: 1, Max: 2, Declared: true, Export: "memory"},
		Custom: []Custom{
			{"chaz.manifest", []byte("{}")}, {"twice", []byte("1")}, {"twice", []byte("2")},
		},
		Start: true, Functions: 3, Code: 6 + 8 + 2,
	}
	if !reflect.DeepEqual(info, want) {
		t.Errorf("got  %+v\nwant %+v", info, want)
	}
	if data, n := info.Section("twice"); string(data) != "1" || n != 2 {
		t.Errorf("Section(twice) = %q, %d", data, n)
	}
	if info.ExportOf("run") == nil || info.ExportOf("ruin") != nil {
		t.Error("ExportOf does not find run, or finds what is not there")
	}
	if got := word.String(); got != "(i32) -> i32" {
		t.Errorf("a signature reads %q", got)
	}
}

// refusal is a change of the module all, and what is said of it.
type refusal struct {
	want   string
	change func(*asm)
}

// overLimits are those of the limits tight.
func overLimits() []refusal {
	return []refusal{
		{"too many functions: 4, the limit is 3", func(a *asm) { a.fns = append(a.fns, fn{typ: 1}) }},
		{"has 9 bytes of code, the limit is 8", func(a *asm) { a.fns[1].code = cat(opNop, a.fns[1].code) }},
		{"too many imports: 3, the limit is 2", func(a *asm) { a.imports = append(a.imports, a.imports[1]) }},
		{"too many exports: 6, the limit is 5", func(a *asm) { a.exports = append(a.exports, export("x", 0, 1)) }},
		{"too many types: 3, the limit is 2", func(a *asm) { a.types = append(a.types, sig("", "i")) }},
		{"too many globals: the limit is 3", func(a *asm) { a.globals = append(a.globals, a.globals[0]) }},
		{"too many tables: 2, the limit is 1", func(a *asm) { a.tables = append(a.tables, a.tables[0]) }},
		{"a table of 5 entries, the limit is 4", func(a *asm) { a.tables[0] = cat(FuncRef, 0, 5) }},
		{"too many elements: 5, the limit is 4", func(a *asm) { a.elems[1] = cat(1, 0, vec(cat(1), cat(1), cat(1), cat(1), cat(1))) }},
		{"too much data: the limit is 100 bytes", func(a *asm) { a.datas[1] = cat(1, strings.Repeat("x", 60)) }},
		{"too large", func(a *asm) { a.tail = cat(a.tail, sec(0, cat("pad", make([]byte, 600)))) }},
	}
}

func badDeclarations() []refusal {
	return []refusal{
		{"no function type (form 0x5f): garbage collection is not supported", func(a *asm) { a.types[1] = cat(byte(0x5f), 0) }},
		{"unknown type of a value, 0x64", func(a *asm) { a.types[1] = cat(byte(0x60), 1, byte(0x64), 0, 0) }},
		{"import 1 is a tag: exceptions are not supported", func(a *asm) { a.imports[1] = cat("env", "g", byte(4), 0, 0) }},
		{"import 1 is of the unknown kind 5", func(a *asm) { a.imports[1] = cat("env", "g", byte(5), 0, 0) }},
		{"there is no type 2", func(a *asm) { a.imports[0] = cat("env", "f", byte(KindFunc), 2) }},
		{"a name is not UTF-8", func(a *asm) { a.imports[0] = cat("\xff", "f", byte(KindFunc), 0) }},
		{"a shared memory (threads) is not supported", func(a *asm) { a.mems[0] = cat(3, 1, 2) }},
		{"a 64-bit memory is not supported", func(a *asm) { a.mems[0] = cat(5, 1, 2) }},
		{"a 64-bit table is not supported", func(a *asm) { a.tables[0] = cat(FuncRef, 4, 1) }},
		{"unknown limits of a memory, 0x08", func(a *asm) { a.mems[0] = cat(8, 1) }},
		{"more than one memory is not supported", func(a *asm) { a.mems = append(a.mems, a.mems[0]) }},
		{"more than one memory is not supported", func(a *asm) { a.imports[1] = cat("env", "m", byte(KindMemory), 0, 1) }},
		{"a memory of more than 65536 pages", func(a *asm) { a.mems[0] = cat(1, 1, 65_537) }},
		{"maximum 1 is below its minimum 2", func(a *asm) { a.mems[0] = cat(1, 2, 1) }},
	}
}

func badContents() []refusal {
	return []refusal{
		{"neither constant nor mutable", func(a *asm) { a.globals[0] = cat(I32, 2, opI32Const, 0, opEnd) }},
		{"operator 0x6a in a constant", func(a *asm) { a.globals[0] = cat(I32, 0, opI32Const, 0, opI32Const, 0, 0x6a, opEnd) }},
		{`two exports "run"`, func(a *asm) { a.exports[1] = a.exports[0] }},
		{"there is no function 9", func(a *asm) { a.exports[0] = export("run", KindFunc, 9) }},
		{"there is no memory 1", func(a *asm) { a.exports[1] = export("memory", KindMemory, 1) }},
		{"there is no table 1", func(a *asm) { a.exports[2] = export("table", KindTable, 1) }},
		{"there is no global 9", func(a *asm) { a.exports[3] = export("g", KindGlobal, 9) }},
		{"export 3 is of the unknown kind 5", func(a *asm) { a.exports[3] = export("g", 5, 0) }},
		{"there is no function 4", func(a *asm) { a.start = cat(4) }},
		{"segment 0 is of the unknown kind 8", func(a *asm) { a.elems[0] = cat(8) }},
		{"there is no function 4", func(a *asm) { a.elems[0] = cat(0, opI32Const, 0, opEnd, vec(cat(4))) }},
		{"holds the unknown kind 0x01", func(a *asm) { a.elems[1] = cat(1, 1, vec(cat(2))) }},
		{"unexpected end: 200 elements are promised in", func(a *asm) { a.elems = [][]byte{cat(1, 0, 200)} }},
		{"4 data segments are declared, 3 are there", func(a *asm) { a.dataCount = cat(4) }},
		{"3 data segments are declared, none is there", func(a *asm) { a.datas = nil }},
		{"segment 1 is of the unknown kind 3", func(a *asm) { a.datas[1] = cat(3, "x") }},
		{"there is no memory 1", func(a *asm) { a.datas[2] = cat(2, 1, opGlobalGet, 0, opEnd, "f") }},
		{"unexpected end: 9 bytes are promised, 1 are there", func(a *asm) { a.datas[2] = cat(1, 9, byte('x')) }},
		{"uses exceptions", func(a *asm) { a.tail = cat(a.tail, sec(secTag, cat(1, 0, 1))) }},
		{"unknown section 14", func(a *asm) { a.tail = cat(a.tail, sec(14, nil)) }},
		{"type section: twice, or out of order", func(a *asm) { a.tail = cat(a.tail, sec(secType, cat(0))) }},
		{"data count section: twice, or out of order", func(a *asm) { a.tail = cat(a.tail, sec(secDataCount, cat(3))) }},
		{"unexpected end: 5 bytes are promised, 0 are there", func(a *asm) { a.tail = cat(a.tail, byte(0), 5) }},
		{"a number has more than 32 bits", func(a *asm) { a.tail = cat(a.tail, []byte{0, 0x80, 0x80, 0x80, 0x80, 0x10}) }},
		{"a number has more than 32 bits", func(a *asm) { a.tail = cat(a.tail, []byte{0, 0x80, 0x80, 0x80, 0x80, 0x80, 0}) }},
		{"start section: byte 1: 1 bytes too many", func(a *asm) { a.start = cat(3, 0) }},
	}
}

// tight are limits that the module all just holds.
func tight() Limits {
	return Limits{
		Bytes: 600, Functions: 3, Imports: 2, Exports: 5, Types: 2, Globals: 3, Tables: 1, Elements: 4, Data: 100, Body: 8,
		Work: 100,
	}
}

func TestInspectRefuses(t *testing.T) {
	if _, err := Inspect(all().bytes()); err != nil {
		t.Fatalf("the control: %v", err)
	}
	checkRefusals(t, DefaultLimits(), append(badDeclarations(), badContents()...))
}

func TestInspectHoldsLimits(t *testing.T) {
	if _, err := tight().Inspect(all().bytes()); err != nil {
		t.Fatalf("the control: %v", err)
	}
	checkRefusals(t, tight(), overLimits())
}

func checkRefusals(t *testing.T, l Limits, refusals []refusal) {
	for _, c := range refusals {
		t.Run(c.want, func(t *testing.T) {
			a := all()
			c.change(&a)
			info, err := l.Inspect(a.bytes())
			if err == nil || !strings.Contains(err.Error(), c.want) || info != nil {
				t.Errorf("got %v, %v", info, err)
			}
			if _, err := Instrument(a.bytes(), Options{Limits: l}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Instrument says %v", err)
			}
		})
	}
}

func TestInspectFiles(t *testing.T) {
	good := all().bytes()
	code := all()
	code.fns = code.fns[:2]
	code.start = nil
	fewer := code.bytes()
	// The code section of a module with a function more.
	missing := bytes.Replace(fewer, sec(secFunction, vec(cat(0), cat(0))), sec(secFunction, vec(cat(0), cat(0), cat(1))), 1)
	for _, c := range []struct {
		want string
		file []byte
	}{
		{"a WebAssembly component, not a core module", cat(magic, []byte{0x0d, 0, 1, 0}, good[8:])},
		{"of the unknown version 02000000", cat(magic, []byte{2, 0, 0, 0}, good[8:])},
		{"not a WebAssembly module", nil},
		{"not a WebAssembly module", []byte("#!/bin/sh\n")},
		{"not a WebAssembly module", good[:7]},
		{"a Git LFS pointer", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n")},
		{"3 functions are declared, 2 have code", missing},
		{"unexpected end", good[:len(good)-1]},
		// Four thousand million of each, in a few bytes.
		{"too many types: 4294967295", cat(good[:8], sec(secType, cat(1<<32-1)))},
		{"unexpected end: 39999 types are promised in 0 bytes", cat(good[:8], sec(secType, cat(39_999)))},
		{"too many imports: 4294967295", cat(good[:8], sec(secImport, cat(1<<32-1)))},
		{"too many functions: 4294967295", cat(good[:8], sec(secFunction, cat(1<<32-1)))},
		{"too many functions with code: 4294967295", cat(good[:8], sec(secCode, cat(1<<32-1)))},
		{"too many exports: 4294967295", cat(good[:8], sec(secExport, cat(1<<32-1)))},
		{"byte 5: unexpected end", cat(good[:8], sec(secElement, cat(1<<32-1)))},
		{"byte 5: unexpected end", cat(good[:8], sec(secData, cat(1<<32-1)))},
		{"unexpected end: 4294967295 bytes are promised", cat(good[:8], byte(0), 1<<32-1)},
	} {
		if _, err := Inspect(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v", c.want, err)
		}
	}
	if _, err := Inspect(good); err != nil {
		t.Error(err)
	}
	if _, err := Inspect(good[:8]); err != nil {
		t.Errorf("an empty module: %v", err)
	}
}

func TestSignedNumbers(t *testing.T) {
	for _, c := range []struct {
		bits int
		in   []byte
		want int64
		ok   bool
	}{
		{32, []byte{0x7f}, -1, true},
		{32, []byte{0xff, 0xff, 0xff, 0xff, 0x07}, 1<<31 - 1, true},
		{32, []byte{0x80, 0x80, 0x80, 0x80, 0x78}, -1 << 31, true},
		{32, []byte{0x80, 0x80, 0x80, 0x80, 0x08}, 0, false},
		{32, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0}, 0, false},
		{33, []byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 1<<32 - 1, true},
		{33, []byte{0x80, 0x80, 0x80, 0x80, 0x10}, 0, false},
		{64, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f}, -1 << 63, true},
		{64, []byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01}, 0, false},
		{64, []byte{0x80}, 0, false},
	} {
		r := &reader{b: c.in}
		if got := r.signed(c.bits); got != c.want || (r.err == nil) != c.ok {
			t.Errorf("%d bits of %x: got %d, %v", c.bits, c.in, got, r.err)
		}
		if !c.ok {
			continue
		}
		if back := appendSigned(nil, c.want); (&reader{b: back}).signed(64) != c.want {
			t.Errorf("%d becomes %x", c.want, back)
		}
	}
}
