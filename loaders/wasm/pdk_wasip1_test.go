package wasm_test

// The guests below testdata are not seen by `go mod tidy`; this keeps the PDK that they are built with.
import _ "github.com/extism/go-pdk"
