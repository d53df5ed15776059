package operator

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNamespacesAreNamedOneByOne(t *testing.T) {
	var c config
	require.NoError(t, c.setNamespaces("team-a,team-b,team-a"))
	require.Equal(t, []string{"team-a", "team-b"}, c.options.Namespaces)
	for _, mistake := range []string{"", ",", "a,", "a, b", "A", "a/b", "*"} {
		require.ErrorContains(t, new(config).setNamespaces(mistake), "leave the flag out to serve all", mistake)
	}
}
