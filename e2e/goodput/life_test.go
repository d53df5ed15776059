package goodput

import (
	"fmt"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

// The life of the job. All times are seconds since it was created.
const (
	admitted    = 120 // by its queue
	initializes = 10  // each start does: its accelerators
	prepares    = 15  // ... then: a model, and a checkpoint
	stepTakes   = 10  // but the first of a start, which compiles
	endsAfter   = 2   // what the code takes to exit, after it has recorded its end
)

// start is one start of the code of all replicas.
type start struct {
	begins, ends int
	first, last  int // steps; the end cuts the last one off, but for the last start
	firstTakes   int
}

// starts are ended by a failure of rank 1, by the eviction of its pod, and by success. Code saves a checkpoint at each tenth step.
var starts = []start{
	{begins: 150, ends: 460, first: 0, last: 25, firstTakes: 40},
	{begins: 470, ends: 670, first: 20, last: 35, firstTakes: 30},
	{begins: 730, ends: 877, first: 30, last: 39, firstTakes: 30},
}

// stepBegins is when a step begins, and the one before it is done.
func (s start) stepBegins(step int) int {
	at := s.begins + initializes + prepares
	if step == s.first {
		return at
	}
	return at + s.firstTakes + stepTakes*(step-s.first-1)
}

// ours is what the kernel makes of that life.
func ours() *v1beta1.GenericJob {
	job := kt.Job(kt.Type("worker", 2), kt.InPlace, kt.JobScope, kt.BackoffLimit(9), kt.Spec(func(s *v1beta1.GenericJobSpec) {
		s.Scheduler = &v1beta1.SchedulePolicy{Kueue: &v1beta1.KueueScheduler{QueueName: "team"}}
		s.Progress = &v1beta1.ProgressFormat{Stdout: "step (?P<step>[0-9]+) is done"}
	}))
	story := kt.NewStory(job, func(s *kt.Story) { s.Tells = tells })
	seconds := func(n int) time.Duration { return time.Duration(n) * time.Second }
	pod := func(rank int) string { return spec.PodName(story.Cluster.Job, "worker", rank) }

	story.Then(seconds(admitted), "Kueue admits the job", story.Cluster.Admit)
	story.Kubelet(seconds(starts[0].begins - admitted))
	story.Then(seconds(starts[0].ends-starts[0].begins), "rank 1 fails, and rank 0 does not stop at once", func() {
		story.Cluster.Mute = map[string]bool{pod(0): true}
		story.Cluster.Exit(pod(1), 3)
	})
	story.Then(seconds(starts[1].begins-starts[0].ends), "rank 0 has stopped, too", func() { story.Cluster.Mute = nil })
	story.Then(seconds(starts[1].ends-starts[1].begins), "the pod of rank 1 is evicted", func() { story.Cluster.Evict(pod(1)) })
	story.Kubelet(seconds(starts[2].begins - starts[1].ends))
	story.Then(seconds(starts[2].ends-starts[2].begins), "all succeed", func() {
		story.Cluster.Exit(pod(0), 0)
		story.Cluster.Exit(pod(1), 0)
	})
	return story.Cluster.Job
}

// tells is what the wrapper of rank 0 knows at a time, whose pod lives as long as the job. The code prints each step when that is done.
func tells(now time.Time) (step string, pace *inplace.Pace) {
	at := int(now.Sub(kt.Start) / time.Second)
	for i, s := range starts {
		if at < s.begins || at >= s.ends {
			continue
		}
		done := s.first - 1
		for done < s.last && s.stepBegins(done+2) <= at {
			done++
		}
		if done < s.first {
			return "", nil
		}
		pace = &inplace.Pace{First: int64(s.first), Each: true, Seconds: stepTakes}
		if i > 0 {
			before := int64(starts[i-1].last - 1)
			pace.Before = &before
		}
		return fmt.Sprint(done), pace
	}
	return "", nil
}

// records are what the code has recorded by Google's library in that life. Each is the name of a call, a time since the epoch, and a
// step.
func records() (all [][3]any) {
	at := func(name string, seconds int) {
		all = append(all, [3]any{name, kt.Start.Unix() + int64(seconds), nil})
	}
	for _, s := range starts {
		at("job_start", s.begins)
		at("tpu_init_start", s.begins)
		at("tpu_init_end", s.begins+initializes)
		at("training_preparation_start", s.begins+initializes)
		at("training_preparation_end", s.begins+initializes+prepares)
		for step := s.first; step <= s.last; step++ {
			all = append(all, [3]any{"step_start", kt.Start.Unix() + int64(s.stepBegins(step)), step})
		}
	}
	at("job_end", starts[len(starts)-1].ends-endsAfter)
	return all
}
