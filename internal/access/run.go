package access

import "memoryd"

// Run is a run of the user and agent that the grant is about: under another name it is another run. It takes no right
// beyond being somebody, since nobody else ever sees its working memory.
func (g Grant) Run(id string) memoryd.Run {
	return memoryd.Run{Tenant: g.tenant, User: g.Owner().User, Agent: g.agent, ID: id}
}
