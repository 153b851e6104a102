// Package guard says what may be stored. Today it cleans texts of characters that hide or reorder what is written;
// what a text means (secrets, personal data, instructions) is not judged yet, every cleaned text passes.
package guard

// Guard decides over a text before it is stored.
type Guard interface {
	// Check answers the text as it may be stored, and what to say of it ("cleaned").
	Check(text string) (stored string, notes []string)
}
