package ledger

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What is known of the starts of worker 1.
func TestStarts(t *testing.T) {
	restart := func(as Count) func(Draft) {
		return func(d Draft) { d.StartOver(d.Account("worker"), 1, as, 0, false, start) }
	}
	inPod := func(d Draft) { d.StartOver(d.Account("worker"), 1, Restart, 0, true, start) }
	other := func(d Draft) { d.StartOver(d.Account("worker"), 0, Disruption, 0, false, start) }
	back := func(d Draft) { d.StartScaledDownAnew("worker", 1, d.Attempt(d.Account("worker"), 1)) }
	replaced := func(d Draft) { d.ReplacePod(d.Account("worker"), 1) }
	ps := func(d Draft) { d.StartOver(d.Account("ps"), 0, Disruption, 0, false, start) }
	succeeds := func(d Draft) { d.Succeed(d.Account("worker"), 1) }
	mode := func(mode string) func(Draft) {
		return func(d Draft) {
			if d.mode = mode; mode != "" {
				d.beginModeGeneration()
			}
		}
	}
	aux := func(job *v1beta1.GenericJob) { job.Spec.ReplicaSpecs[0].Auxiliary = true }
	type steps []func(Draft)
	tests := map[string]struct {
		edits []func(*v1beta1.GenericJob)
		lives steps
		want  Starts
	}{
		"never":                                              {nil, steps{other}, Starts{}},
		"alone, whatever counts it":                          {nil, steps{restart(Restart), restart(Disruption), restart(Excepted), back}, Starts{Restarts: 1, Uncounted: 3}},
		"with the job, after its own failures":               {edits(jobScope), steps{restart(Restart), restart(Restart)}, Starts{Restarts: 2}},
		"with the job, after disruptions and excepted":       {edits(jobScope), steps{other, restart(Disruption), restart(Excepted)}, Starts{WithJob: 3}},
		"with the job, and alone when it is scaled back":     {edits(jobScope), steps{restart(Restart), restart(Restart), back}, Starts{Restarts: 2, Uncounted: 1}},
		"an auxiliary replica begins alone":                  {edits(jobScope, aux), steps{restart(Uncounted), restart(Uncounted)}, Starts{Uncounted: 2}},
		"in debug mode each is alone":                        {edits(jobScope), steps{mode(modeOf(debug)), restart(Restart)}, Starts{Restarts: 1}},
		"in debug mode, before any start of the job":         {edits(jobScope), steps{mode(modeOf(debug)), restart(Restart), restart(Uncounted)}, Starts{Restarts: 1, Uncounted: 1}},
		"alone or with the job: nobody knows":                {edits(jobScope), steps{mode(modeOf(debug)), restart(Restart), mode("Immediate"), other}, Starts{Restarts: 1, More: 1}},
		"alone or not is known without counted restarts":     {edits(jobScope), steps{mode(modeOf(debug)), restart(Uncounted), mode("Immediate"), other}, Starts{WithJob: 1, Uncounted: 1}},
		"in its pod, alone":                                  {edits(inPlace), steps{inPod, restart(Disruption)}, Starts{Restarts: 1, Uncounted: 1}},
		"in its pod, with the job":                           {edits(inPlace, jobScope), steps{inPod, other}, Starts{Restarts: 1, WithJob: 1}},
		"an auxiliary replica waits at no barrier":           {edits(inPlace, jobScope, aux), steps{ps, restart(Uncounted)}, Starts{WithJob: 1, Uncounted: 1}},
		"who has finished in place, alone":                   {edits(inPlace), steps{inPod, restart(Disruption), succeeds}, Starts{Restarts: 1, Uncounted: 1}},
		"one start with the job in a new pod is not two":     {edits(inPlace, jobScope), steps{other, replaced}, Starts{WithJob: 1, PerhapsMore: true}},
		"nor is its own failure":                             {edits(inPlace, jobScope), steps{inPod, replaced}, Starts{Restarts: 1, PerhapsMore: true}},
		"nobody knows either, in a pod or a new one":         {edits(inPlace, jobScope), steps{mode(modeOf(debug)), restart(Restart), mode("Immediate"), other, other}, Starts{Restarts: 1, More: 1, PerhapsMore: true}},
		"who has finished in place may have begun once more": {edits(inPlace, jobScope), steps{other, succeeds, other}, Starts{PerhapsMore: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			d := load(t, jobOf(2, tc.edits...))
			for _, step := range tc.lives {
				step(d)
			}
			d = load(t, jobOf(2, append(tc.edits, stored(saved(d, start)))...))
			got := d.Starts(d.Account("worker"), 1)
			require.Equal(t, tc.want, got)
			if !d.RestartsInPlace() {
				require.EqualValues(t, d.Attempt(d.Account("worker"), 1), got.All(), "each attempt is one start")
			}
		})
	}
	require.Equal(t, Starts{WithJob: 3}, load(t, jobOf(2, jobScope, stored(v1beta1.GenericJobStatus{JobAttempt: 3}))).Starts(nil, 7))
}
