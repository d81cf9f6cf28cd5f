package loaders

import (
	"strings"

	"github.com/chaz-peer/chaz-peer/extension"
)

// MaxDescription is how much of a tool's description people and models see, in characters.
const MaxDescription = 1024

// CleanDescription is what a person is shown of a text that came with code: what is visible of its first
// [MaxDescription] characters. Line breaks stay.
func CleanDescription(s string) string { return extension.VisibleText(s, MaxDescription) }

// oneLine makes a text that may come from anywhere fit one line of at most 200 characters.
func oneLine(s string) string {
	const most = 200
	return extension.VisibleText(strings.Join(strings.Fields(CleanDescription(s)), " "), most)
}
