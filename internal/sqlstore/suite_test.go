package sqlstore

import (
	"testing"

	"go.uber.org/goleak"

	"memoryd"
	"memoryd/internal/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestSuite(t *testing.T) {
	storetest.Run(t, func(t testing.TB) memoryd.Store { return openTest(t) })
}
