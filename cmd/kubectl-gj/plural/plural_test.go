package plural_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/plural"
)

func TestCountIsSingularForOneAlone(t *testing.T) {
	require.Equal(t, "1 restart", plural.Count(1, "restart"))
	require.Equal(t, "2 restarts", plural.Count(int32(2), "restart"))
	require.Equal(t, "0 restarts", plural.Count(0, "restart"))
}
