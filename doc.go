// Package memoryd is the vocabulary of the memory of a fleet of AI agents: what is kept, whose it is, the errors, and
// the ports between the packages under internal/. It holds no behaviour beyond what its own words mean, and imports
// the standard library only. docs/design.md draws how the packages fit together.
package memoryd
