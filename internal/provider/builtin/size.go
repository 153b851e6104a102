package builtin

// Size is what the partitions in RAM take now, what they may take, and how many they are.
func (p *Provider) Size() (bytes, limit int64, partitions int) {
	c := p.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.bytes, c.max, c.order.Len()
}
