package kernel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
)

// The operator was down while two replicas failed, each by itself. Only the node of the last one had a failure.
func TestEachIncidentCountsForItsNodeHoweverManyAreSeenAtOnce(t *testing.T) {
	const min = 60 // seconds
	for name, tc := range map[string]struct {
		ends map[string]kt.PodOption // by the node, in the order of their ranks
		want []string
	}{
		"two incidents":                  {map[string]kt.PodOption{"a": crashed(0, 17, nan), "b": crashed(10*min, 17, nan)}, []string{"a", "b"}},
		"three":                          {map[string]kt.PodOption{"a": crashed(10*min, 17, nan), "b": crashed(0, 17, nan), "c": crashed(5*min, 17, nan)}, []string{"b", "c", "a"}},
		"what follows counts nowhere":    {map[string]kt.PodOption{"a": crashed(0, 17, nan), "b": crashed(1, 1, parted), "c": crashed(10*min, 17, nan)}, []string{"a", "c"}},
		"... even if it is told first":   {map[string]kt.PodOption{"a": crashed(0, 1, parted), "b": crashed(1, 17, nan), "c": crashed(10*min, 17, nan)}, []string{"b", "c"}},
		"of a first without cause, none": {map[string]kt.PodOption{"a": crashed(0, 1, parted), "b": crashed(10*min, 17, nan)}, []string{"b"}},
	} {
		t.Run(name, func(t *testing.T) {
			job := kt.Job(kt.Type("worker", 4, kt.Policy(onFailure, -1)), kt.BackoffLimit(9), kt.Begun, avoiding(v1beta1.AvoidNodes{After: new(int32(1)), AtMost: new(int32(9))}))
			pods := kt.Pods(job, "worker", 4, kt.Running)
			for rank, node := range []string{"a", "b", "c"} {
				if end := tc.ends[node]; end != nil {
					pods[rank] = kt.Pod(job, "worker", rank, end, onNode(node))
				}
			}
			sees := func(pods ...*corev1.Pod) []string {
				return failedNodes(after(job, planWorld(t, kernel.World{Job: job, Pods: pods, Now: kt.At(20 * time.Minute), NodeCount: 9, Settings: kt.Settings})))
			}
			require.Equal(t, tc.want, sees(pods...))
		})
	}
}
