package operator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/badnodes"
)

func TestTheDefaultOfAvoidNodesIsReadFromAFlag(t *testing.T) {
	for text, want := range map[string]v1beta1.AvoidNodes{
		"after=2,within=24h,atMost=1": {After: new(int32(2)), Within: "24h", AtMost: new(int32(1))},
		"atMost=16":                   {AtMost: new(int32(16))},
		"within=1h30m,after=10":       {After: new(int32(10)), Within: "1h30m"},
	} {
		var c config
		require.NoError(t, c.setAvoidNodes(text))
		require.Equal(t, &want, c.options.Settings.AvoidNodes, text)
	}
	for text, want := range map[string]string{
		"":             `"": want after, within or atMost, as in after=2,within=24h,atMost=1`,
		"after=0":      `"after=0": want a whole number from 1 to 10`,
		"after":        `"after": want a whole number from 1 to 10`,
		"atMost=17":    `"atMost=17": want a whole number from 1 to 16`,
		"within=59s":   `"within=59s": want a time from 1m to 8760h, as in 24h or 1h30m`,
		"within=1d":    `"within=1d": want a time from 1m to 8760h`,
		"after=2,max=": `"max=": want after, within or atMost`,
	} {
		var c config
		require.ErrorContains(t, c.setAvoidNodes(text), want, text)
		require.Nil(t, c.options.Settings.AvoidNodes, text)
	}
}

func TestConditionsOfNodesAreReadFromAFlag(t *testing.T) {
	var c config
	require.NoError(t, c.setNodeConditions("GpuUnhealthy=True,NetworkReady=False"))
	require.Equal(t, []badnodes.Condition{{Type: "GpuUnhealthy", Status: "True"}, {Type: "NetworkReady", Status: "False"}}, c.options.BadNodes.Conditions)
	require.ErrorContains(t, new(config).setNodeConditions("GpuUnhealthy"), "want a type and True, False or Unknown")
}
