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

// The clock of a node says when code failed there. It may be wrong by hours or by years, and the node of such a clock was never avoided, or too long.
func TestAFailureCountsFromATimeAtWhichItCanHaveCome(t *testing.T) {
	const created, now = time.Minute, 10 * time.Minute
	for name, tc := range map[string]struct{ says, want time.Duration }{
		"right":              {5 * time.Minute, 5 * time.Minute},
		"just created":       {created, created},
		"now":                {now, now},
		"some seconds ahead": {now + 3*time.Second, now},
		"hours ahead":        {now + 12*time.Hour, now},
		"years ahead":        {20000 * time.Hour, now},
		"a minute behind":    {0, created},
		"years behind":       {-200000 * time.Hour, created},
	} {
		for how, within := range map[string]v1beta1.AvoidTime{"faded after a day": "24h", "... an hour": "1h"} {
			t.Run(name+", "+how, func(t *testing.T) {
				job := endless(v1beta1.AvoidNodes{After: new(int32(1)), Within: within})
				pod := kt.Pod(job, "worker", 0, kt.ExitedAt(17, kt.At(tc.says)), onNode("a"))
				pod.CreationTimestamp.Time = kt.At(created)
				d := planWorld(t, kernel.World{Job: job, Pods: []*corev1.Pod{pod}, Now: kt.At(now), NodeCount: 9, Settings: kt.Settings})
				require.Equal(t, []string{"a"}, avoids(after(job, d)))
				require.Equal(t, kt.At(tc.want), d.Status.NodeFailures[0].Times[0].UTC())
			})
		}
	}
}

// A failure on a node whose clock is wrong is taken back all the same, if another one turns out to have come first.
func TestAFailureOfAWrongClockIsTakenBack(t *testing.T) {
	for name, says := range map[string]time.Duration{"ahead": 3 * time.Hour, "right": 70 * time.Second} {
		job := kt.Job(kt.Type("worker", 2), kt.JobScope, kt.BackoffLimit(99), kt.Begun, avoiding(v1beta1.AvoidNodes{After: new(int32(1))}))
		pods := []*corev1.Pod{kt.Pod(job, "worker", 0, kt.ExitedAt(1, kt.At(says)), onNode("a")), kt.Pod(job, "worker", 1, kt.Running, onNode("b"))}
		now := kt.At(72 * time.Second)
		job = after(job, planWorld(t, kernel.World{Job: job, Pods: pods, Now: now, NodeCount: 9, Settings: kt.Settings}))
		require.Equal(t, []string{"a"}, avoids(job), name)
		kt.ExitedAt(17, kt.At(-time.Hour))(pods[1])
		pods[1].Spec.NodeName = "b"
		job = after(job, planWorld(t, kernel.World{Job: job, Pods: pods, Now: now.Add(time.Second), NodeCount: 9, Settings: kt.Settings}))
		require.Equal(t, []string{"b"}, avoids(job), name)
		require.Len(t, job.Status.NodeFailures, 1, name)
		require.Equal(t, kt.Start, job.Status.NodeFailures[0].Times[0].UTC(), "%s: the creation of its pod", name)
	}
}
