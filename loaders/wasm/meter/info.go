package meter

import (
	"fmt"
	"strings"
)

// Info is what a module says of itself. The bytes of its custom sections are those of the input, not
// copies.
type Info struct {
	Imports []Import
	Exports []Export
	// Memory is nil where there is none.
	Memory *Memory
	Custom []Custom
	// Start: it has a start function, which runs when an instance is built.
	Start bool
	// Functions is how many it defines itself, Code the bytes of their bodies.
	Functions int
	Code      int
}

// Kind is what an import or export is.
type Kind byte

// The kinds, by their numbers in a module.
const (
	KindFunc Kind = iota
	KindTable
	KindMemory
	KindGlobal
)

func (k Kind) String() string {
	switch k {
	case KindFunc:
		return "function"
	case KindTable:
		return "table"
	case KindMemory:
		return "memory"
	case KindGlobal:
		return "global"
	}
	return "unknown kind"
}

// unknown says what is wrong with a kind that is none of these.
func (k Kind) unknown() string {
	if k == 4 {
		return "is a tag: exceptions are not supported"
	}
	return fmt.Sprintf("is of the unknown kind %d", byte(k))
}

// Import is one thing that a module needs.
type Import struct {
	Module, Name string
	Kind         Kind
	Func         *FuncType // of a function, else nil
}

// Export is one thing that a module offers.
type Export struct {
	Name string
	Kind Kind
	Func *FuncType // of a function, else nil
}

// FuncType is a signature.
type FuncType struct{ Params, Results []Value }

// String is like "(i32, i64) -> i32".
func (f *FuncType) String() string {
	s := "(" + join(f.Params) + ") -> "
	if len(f.Results) == 1 {
		return s + f.Results[0].String()
	}
	return s + "(" + join(f.Results) + ")"
}

func join(vs []Value) string {
	s := make([]string, len(vs))
	for i, v := range vs {
		s[i] = v.String()
	}
	return strings.Join(s, ", ")
}

// Value is a type of a value, by its number in a module.
type Value byte

// The types of values.
const (
	I32       Value = 0x7f
	I64       Value = 0x7e
	F32       Value = 0x7d
	F64       Value = 0x7c
	V128      Value = 0x7b
	FuncRef   Value = 0x70
	ExternRef Value = 0x6f
)

func (v Value) String() string {
	switch v {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case V128:
		return "v128"
	case FuncRef:
		return "funcref"
	case ExternRef:
		return "externref"
	}
	return "unknown type"
}

// Memory is the linear memory, in pages of 64 KiB.
type Memory struct {
	Min      uint32
	Max      uint32 // 65,536 where none is declared
	Declared bool   // Max was
	Imported bool
	Export   string // a name under which it is exported, empty for none
}

// Custom is one custom section.
type Custom struct {
	Name string
	Data []byte
}

// Section answers with the data of the first custom section of that name and how many there are.
func (i *Info) Section(name string) (data []byte, n int) {
	for _, c := range i.Custom {
		if c.Name != name {
			continue
		}
		if n == 0 {
			data = c.Data
		}
		n++
	}
	return data, n
}

// ExportOf finds an export by name; nil for none.
func (i *Info) ExportOf(name string) *Export {
	for k := range i.Exports {
		if i.Exports[k].Name == name {
			return &i.Exports[k]
		}
	}
	return nil
}
