//go:build !encrypt

package sqlstore

func keys4tests() []string { return []string{""} }
