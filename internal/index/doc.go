// Package index ranks memories and turns by their words, in RAM. A Partition holds the rows of one owner; a search
// merges the partitions it is given and filters exactly before it ranks. It does no I/O and takes no locks: callers
// may search a partition from many goroutines at once, and must keep changes away from searches and from each other.
package index
