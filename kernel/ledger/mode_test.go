package ledger

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

var (
	paused  = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	debug   = &v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}}
	debugLs = &v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true, ReplicaSpecs: []v1beta1.ReplicaDebugSet{{Type: "worker", Command: []string{"ls"}}}}}
)

// modeOf is the value of status.mode for a run mode.
func modeOf(m *v1beta1.RunMode) string {
	return spec.Mode(jobOf(1, func(job *v1beta1.GenericJob) { job.Spec.RunMode = m }), false)
}

func withMode(m *v1beta1.RunMode, s v1beta1.GenericJobStatus) *v1beta1.GenericJob {
	return jobOf(2, stored(s), func(job *v1beta1.GenericJob) { job.Spec.RunMode = m })
}

// The time is minute 10 in all of these.
func TestSwitch(t *testing.T) {
	tests := map[string]struct {
		was     v1beta1.GenericJobStatus
		mode    *v1beta1.RunMode
		want    v1beta1.GenericJobStatus
		resumed bool
	}{
		"the first mode changes nothing that pods were made for": {
			v1beta1.GenericJobStatus{}, nil, v1beta1.GenericJobStatus{Mode: "Immediate"}, false},
		"the same mode is no change": {
			v1beta1.GenericJobStatus{Mode: "Immediate", StartTime: stamp(0)}, nil, v1beta1.GenericJobStatus{Mode: "Immediate", StartTime: stamp(0)}, false},
		"a pause stops the clock": {
			v1beta1.GenericJobStatus{Mode: "Immediate", StartTime: stamp(0)}, paused,
			v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 1, StartTime: stamp(0), PauseTime: stamp(10), PauseCount: 1}, false},
		"a pause goes on from when it began": {
			v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 1, StartTime: stamp(0), PauseTime: stamp(5), PauseCount: 1}, paused,
			v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 1, StartTime: stamp(0), PauseTime: stamp(5), PauseCount: 1}, false},
		"a job that has not begun has no clock to stop": {
			v1beta1.GenericJobStatus{Mode: "Immediate"}, paused, v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 1}, false},
		"and is not resumed but begins": {
			v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 1}, nil, v1beta1.GenericJobStatus{Mode: "Immediate", ModeGeneration: 2}, false},
		"the end of a pause adds it to those before": {
			v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 3, StartTime: stamp(0), PauseTime: stamp(8), PausedSeconds: 60, PauseCount: 2}, nil,
			v1beta1.GenericJobStatus{Mode: "Resumed", ModeGeneration: 4, StartTime: stamp(0), PausedSeconds: 180, PauseCount: 2}, true},
		"a clock slower than that of the operator that paused gives no time back": {
			v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 3, StartTime: stamp(0), PauseTime: stamp(12), PausedSeconds: 60, PauseCount: 2}, nil,
			v1beta1.GenericJobStatus{Mode: "Resumed", ModeGeneration: 4, StartTime: stamp(0), PausedSeconds: 60, PauseCount: 2}, true},
		"a pause that ends in debug mode has ended": {
			v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 1, StartTime: stamp(0), PauseTime: stamp(9), PauseCount: 1}, debug,
			v1beta1.GenericJobStatus{Mode: modeOf(debug), ModeGeneration: 2, StartTime: stamp(0), PausedSeconds: 60, PauseCount: 1}, true},
		"pods of another debug command are other pods": {
			v1beta1.GenericJobStatus{Mode: modeOf(debug), ModeGeneration: 1, StartTime: stamp(0)}, debugLs,
			v1beta1.GenericJobStatus{Mode: modeOf(debugLs), ModeGeneration: 2, StartTime: stamp(0)}, false},
		"after debug mode a job that was once paused starts as resumed": {
			v1beta1.GenericJobStatus{Mode: modeOf(debug), ModeGeneration: 2, StartTime: stamp(0), PauseCount: 1}, nil,
			v1beta1.GenericJobStatus{Mode: "Resumed", ModeGeneration: 3, StartTime: stamp(0), PauseCount: 1}, false},
		"a pause of which somebody has erased the time adds nothing": {
			v1beta1.GenericJobStatus{Mode: "Paused", ModeGeneration: 1, StartTime: stamp(0), PauseCount: 1}, nil,
			v1beta1.GenericJobStatus{Mode: "Resumed", ModeGeneration: 2, StartTime: stamp(0), PauseCount: 1}, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, withMode(tc.mode, tc.was))
			d.SwitchMode(minute(10), false)
			require.Equal(t, tc.want, saved(d, minute(10)))
			require.Equal(t, tc.resumed, d.WasResumed())
			d.SwitchMode(minute(11), false)
			require.Equal(t, tc.want, saved(d, minute(11)), "to follow the same mode again changes nothing")
		})
	}
}

// The time is minute 10 in all of these.
func TestRecognise(t *testing.T) {
	tests := map[string]struct {
		was  v1beta1.GenericJobStatus
		pod  int // the minute in which the first pod was created; 0 if there is none
		want v1beta1.GenericJobStatus
	}{
		"the deadline counts from the first pod":                   {v1beta1.GenericJobStatus{}, 3, v1beta1.GenericJobStatus{Mode: "Immediate", StartTime: stamp(3)}},
		"no pod, no start":                                         {v1beta1.GenericJobStatus{}, 0, v1beta1.GenericJobStatus{}},
		"a job that has begun is known":                            {v1beta1.GenericJobStatus{Mode: "Immediate", StartTime: stamp(5)}, 3, v1beta1.GenericJobStatus{Mode: "Immediate", StartTime: stamp(5)}},
		"a clock ahead of ours does not begin a job in the future": {v1beta1.GenericJobStatus{}, 12, v1beta1.GenericJobStatus{Mode: "Immediate", StartTime: stamp(10)}},
		"a job that was paused before its pods were known is one that had begun": {
			v1beta1.GenericJobStatus{Mode: "Paused"}, 3, v1beta1.GenericJobStatus{Mode: "Paused", StartTime: stamp(3), PauseTime: stamp(10), PauseCount: 1}},
		"debug mode stays": {
			v1beta1.GenericJobStatus{Mode: modeOf(debug)}, 3, v1beta1.GenericJobStatus{Mode: modeOf(debug), StartTime: stamp(3)}},
		"a job that has finished begins no more": {
			v1beta1.GenericJobStatus{CompletionTime: stamp(2)}, 3, v1beta1.GenericJobStatus{}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(2, stored(tc.was)))
			var pod time.Time
			if tc.pod > 0 {
				pod = minute(tc.pod)
			}
			d.SetMissingStartTime(pod, minute(10))
			require.Equal(t, tc.want, saved(d, minute(10)))
		})
	}
}

// The time is minute 10 in all of these.
func TestActive(t *testing.T) {
	tests := map[string]struct {
		was    v1beta1.GenericJobStatus
		active time.Duration
		ticks  bool
	}{
		"a job that was never paused":                {v1beta1.GenericJobStatus{StartTime: stamp(2)}, 8 * time.Minute, true},
		"pauses that are over do not count":          {v1beta1.GenericJobStatus{StartTime: stamp(2), PausedSeconds: 180}, 5 * time.Minute, true},
		"a pause stops it":                           {v1beta1.GenericJobStatus{StartTime: stamp(2), PauseTime: stamp(6), PausedSeconds: 60}, 3 * time.Minute, false},
		"a pause that begins later by another clock": {v1beta1.GenericJobStatus{StartTime: stamp(2), PauseTime: stamp(12)}, 10 * time.Minute, false},
		"a mangled sum makes no time out of nothing": {v1beta1.GenericJobStatus{StartTime: stamp(2), PausedSeconds: math.MaxInt64}, 8*time.Minute - Seconds(math.MaxInt64), true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(2, stored(tc.was)))
			active, ticks := d.Active(minute(10))
			require.Equal(t, tc.active, active)
			require.Equal(t, tc.ticks, ticks)
		})
	}
}

func TestSecondsDoNotOverflow(t *testing.T) {
	tests := map[int64]time.Duration{0: 0, 90: 90 * time.Second, -5: -5 * time.Second}
	for n, want := range tests {
		require.Equal(t, want, Seconds(n))
	}
	century := int64(100 * 365 * 24 * 3600)
	for _, n := range []int64{math.MaxInt64, math.MaxInt64 / int64(time.Second)} {
		require.Greater(t, Seconds(n), Seconds(century))
		require.Less(t, Seconds(-n), Seconds(-century))
		require.Positive(t, Seconds(n)+Seconds(n), "a sum of two can be said")
		require.Negative(t, Seconds(-n)+Seconds(-n), "a sum of two can be said")
	}
}

func TestRenew(t *testing.T) {
	now := spec.PodsHash(jobOf(2))
	of := func(hash string, observed int64) v1beta1.GenericJobStatus {
		return v1beta1.GenericJobStatus{Mode: "Immediate", ModeGeneration: 4, ObservedGeneration: observed, UnstartedSpec: hash}
	}
	tests := map[string]struct {
		generation int64
		was        v1beta1.GenericJobStatus
		want       int
		hash       string
	}{
		"pods of a first spec are those of this one":     {1, v1beta1.GenericJobStatus{}, 0, now},
		"a spec that was edited before its first status": {2, v1beta1.GenericJobStatus{}, 1, now},
		"many edits are one":                             {9, v1beta1.GenericJobStatus{}, 1, now},
		"an edit once code has started":                  {2, of("", 1), 4, ""},
		"an edit before code has started":                {2, of("of another spec", 1), 5, now},
		"an edit that needs no other pods":               {2, of(now, 1), 4, now},
		"a spec that another build hashes otherwise":     {2, of("of the same spec", 2), 4, "of the same spec"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(2, stored(tc.was), func(job *v1beta1.GenericJob) { job.Generation = tc.generation }))
			d.BeginModeGenerationIfEdited()
			require.Equal(t, tc.want, d.ModeGeneration())
			require.Equal(t, tc.hash, d.unstarted)
			d.NoteCodeStarted()
			require.False(t, d.IsUnstarted())
		})
	}
}
