package index

import "strings"

// stopWords are English words that say nothing of what a text is about. "may" is missing, being a month, and so is
// "us", being a country. They are indexed all the same, for queries that hold nothing else.
const stopWords = `
a about after all also am an and any are as at
be because been before being both but by
can cannot could
did do does doing done during
each else ever every
few for from further
had has have having he hence her here hers herself him himself his how
i if in into is it its itself
just
let
many me might more most much must my myself
no nor not now
of off on once only onto or other our ours ourselves out over own
per
quite
rather really
same shall she should since so some such
than that the their theirs them themselves then there these they this those through thus to too
under until up upon
very
was we were what when where whether which while who whom whose why will with within without would
yet you your yours yourself yourselves`

func stopSet() map[string]bool {
	set := make(map[string]bool, 192)
	for _, w := range strings.Fields(stopWords) {
		set[w] = true
	}
	return set
}
