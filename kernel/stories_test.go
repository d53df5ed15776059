package kernel_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kt "github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

var update = flag.Bool("update", false, "rewrite the golden stories")

const s, m = time.Second, time.Minute

// masterAndWorkers is a job of one master, whose success is the job's, and three workers.
func masterAndWorkers(options ...kt.JobOption) *v1beta1.GenericJob {
	return kt.Job(append([]kt.JobOption{kt.Type("master", 1), kt.Type("worker", 3, kt.Policy(onFailure, 1)), kt.WithService(),
		success(v1beta1.FinishRule{"master": ranks(0)}), failure(v1beta1.FinishRule{"worker": ranks(0)})}, options...)...)
}

func workers(n int32, options ...kt.JobOption) *v1beta1.GenericJob {
	return kt.Job(append([]kt.JobOption{kt.Type("worker", n, kt.Policy(onFailure, -1))}, options...)...)
}

// Each story is the life of a job, one line a step. To rewrite them after a change that is meant, and then read the diff:
// go test ./kernel -run Stories -update
func TestStories(t *testing.T) {
	stories := map[string]func() *kt.Story{
		"success": func() *kt.Story {
			return kt.NewStory(masterAndWorkers(cleanUp("Unfinished"))).Kubelet(s).Exit(m, "worker", 1, 0).Exit(m, "master", 0, 0).Kubelet(2 * s).Kubelet(30 * s).Kubelet(2 * s)
		},
		"counted-restart": func() *kt.Story {
			return kt.NewStory(workers(2, kt.BackoffLimit(3))).Kubelet(2*s).Exit(m, "worker", 1, 1).Kubelet(2*s).
				Exit(m, "worker", 1, 1).Kubelet(5*s).Exit(m, "worker", 0, 0).Exit(2*s, "worker", 1, 0)
		},
		"failure-policy": func() *kt.Story {
			return kt.NewStory(workers(2, kt.BackoffLimit(3), failureRules(uncounted(on(restarts, 3)), on(failsJob, 17)))).Kubelet(2*s).
				Exit(m, "worker", 1, 3).Kubelet(2*s).Exit(m, "worker", 0, 17)
		},
		"limit-spent": func() *kt.Story {
			return kt.NewStory(masterAndWorkers()).Kubelet(2*s).Exit(m, "worker", 0, 1).Kubelet(2*s).Exit(m, "worker", 0, 127)
		},
		"disruption": func() *kt.Story {
			story := kt.NewStory(workers(2)).Kubelet(2 * s)
			name := func(rank int) string { return podName(story, rank) }
			story.Then(m, "an outsider deletes worker-0", func() { story.Cluster.Delete(name(0)) }).Kubelet(5 * s).Kubelet(2 * s)
			story.Then(m, "the node evicts worker-1", func() { story.Cluster.Evict(name(1)) }).Kubelet(2 * s)
			story.Exit(m, "worker", 0, 0)
			story.Then(m, "an outsider deletes worker-0, which has succeeded", func() { story.Cluster.Delete(name(0)) })
			return story.Exit(m, "worker", 1, 0)
		},
		"dead-node": func() *kt.Story {
			story := kt.NewStory(workers(1)).Kubelet(2 * s)
			story.Then(m, "worker-0's node dies, and its pod is deleted", func() { story.Cluster.Delete(podName(story, 0)) })
			return story.Then(10*m, "ten minutes are over", func() {}).Kubelet(2*s).Exit(m, "worker", 0, 0)
		},
		"lost-node": func() *kt.Story {
			story := kt.NewStory(workers(2, kt.JobScope, kt.BackoffLimit(0), kt.Spec(func(s *v1beta1.GenericJobSpec) { s.NodeLost = &v1beta1.NodeLost{AfterSeconds: 30} }))).Kubelet(2 * s)
			story.Then(m, "worker-0's node loses power, which Kubernetes notices", func() { story.Cluster.Lose("n2", podName(story, 0)) })
			story.Then(30*s, "30 seconds are over, and Kubernetes deletes the pod", func() { story.Cluster.DeleteByTaint(podName(story, 0)) })
			story.Then(30*s, "the pod's grace period is over", func() {})
			return story.Kubelet(5*s).Kubelet(2*s).Exit(m, "worker", 0, 0).Exit(s, "worker", 1, 0)
		},
		"avoided-node": func() *kt.Story {
			story := kt.NewStory(workers(2, kt.BackoffLimit(9), avoiding(v1beta1.AvoidNodes{Within: "1h"})), onNodes("n1", "n2")).Kubelet(2 * s)
			return story.Exit(m, "worker", 0, 17).Kubelet(2*s).Exit(m, "worker", 0, 17).Kubelet(2*s).
				Exit(m, "worker", 0, 17).Kubelet(2*s).Exit(m, "worker", 0, 17).Kubelet(5*s).Kubelet(5*s).
				Then(time.Hour, "an hour later the failures on n1 do not count any more", func() {}).
				Exit(m, "worker", 1, 1).Kubelet(5*s).Exit(m, "worker", 0, 0).Exit(m, "worker", 1, 0)
		},
		"avoided-node-in-place": func() *kt.Story {
			story := kt.NewStory(workers(3, kt.InPlace, kt.JobScope, kt.BackoffLimit(9), avoiding(v1beta1.AvoidNodes{})), onNodes("n1", "n2", "n1")).Kubelet(2 * s)
			return story.Exit(m, "worker", 0, 17).Kubelet(2*s).Exit(m, "worker", 0, 17).Kubelet(5*s).Kubelet(5*s).
				Exit(m, "worker", 0, 0).Exit(m, "worker", 1, 0).Exit(m, "worker", 2, 0)
		},
		"pause-resume": func() *kt.Story {
			return kt.NewStory(workers(2, deadline(600))).Kubelet(2*s).Exit(m, "worker", 0, 0).
				Edit(m, "pauses the job", kt.PauseNow(true)).Kubelet(5*s).
				Edit(time.Hour, "resumes the job", kt.PauseNow(false)).Kubelet(2*s).Exit(m, "worker", 1, 0)
		},
		"edit": func() *kt.Story {
			return kt.NewStory(workers(2)).Then(5*s, "no node can pull the image", func() {}).Edit(m, "corrects the image", imageOf("worker", "right")).
				Kubelet(5*s).Kubelet(2*s).Exit(m, "worker", 0, 0).Exit(s, "worker", 1, 0)
		},
		"debug": func() *kt.Story {
			return kt.NewStory(workers(1, kt.DebugNow(true))).Kubelet(2*s).Exit(m, "worker", 0, 1).Kubelet(2*s).
				Edit(m, "leaves debug mode", kt.DebugNow(false)).Kubelet(5*s).Kubelet(2*s).Exit(m, "worker", 0, 0)
		},
		"scale": func() *kt.Story {
			return kt.NewStory(workers(2)).Kubelet(2*s).Edit(m, "scales up to 3", kt.Replicas("worker", 3)).Kubelet(2*s).
				Edit(m, "scales down to 1", kt.Replicas("worker", 1)).Kubelet(5*s).
				Edit(m, "scales up to 2", kt.Replicas("worker", 2)).Kubelet(2*s).Exit(m, "worker", 0, 0).Exit(2*s, "worker", 1, 0)
		},
		"restart-scope-job": func() *kt.Story {
			return kt.NewStory(workers(3, kt.JobScope, kt.BackoffLimit(1))).Kubelet(2*s).Exit(m, "worker", 2, 0).Exit(m, "worker", 0, 1).
				Kubelet(5*s).Kubelet(2*s).Exit(m, "worker", 1, 1)
		},
		"in-place": func() *kt.Story {
			story := kt.NewStory(workers(2, kt.InPlace, kt.BackoffLimit(9))).Kubelet(2 * s)
			for range 4 { // one more than is done in place
				story.Exit(m, "worker", 1, 3)
			}
			return story.Kubelet(5*s).Kubelet(2*s).Exit(m, "worker", 0, 0).Exit(m, "worker", 1, 0)
		},
		"in-place-together": func() *kt.Story {
			story := kt.NewStory(workers(3, kt.InPlace, kt.JobScope, kt.BackoffLimit(2))).Kubelet(2*s).Exit(m, "worker", 2, 0)
			story.Cluster.Mute = map[string]bool{podName(story, 0): true}
			story.Exit(m, "worker", 1, 3)
			story.Then(s, "worker-0 has stopped, too", func() { story.Cluster.Mute = nil })
			story.Then(m, "the node evicts worker-0", func() { story.Cluster.Evict(podName(story, 0)) }).Kubelet(2 * s)
			return story.Exit(m, "worker", 0, 0).Exit(m, "worker", 1, 0)
		},
		"in-place-limit": func() *kt.Story {
			return kt.NewStory(workers(2, kt.InPlace, kt.JobScope, kt.BackoffLimit(1))).Kubelet(2*s).Exit(m, "worker", 1, 3).Kubelet(2*s).Exit(m, "worker", 0, 4).Kubelet(2 * s)
		},
		"deadline": func() *kt.Story {
			return kt.NewStory(workers(2, deadline(90), cleanUp("All"))).Kubelet(2*s).Then(2*m, "two minutes are over", func() {}).Kubelet(2 * s)
		},
		"clean-up-all": func() *kt.Story {
			return kt.NewStory(workers(2, cleanUp("all"))).Kubelet(2*s).Exit(m, "worker", 0, 0).Exit(m, "worker", 1, 0)
		},
		"ttl": func() *kt.Story {
			return kt.NewStory(workers(1, ttl(60))).Kubelet(2*s).Exit(m, "worker", 0, 0).Then(2*m, "two minutes are over", func() {})
		},
		"stop-together": func() *kt.Story {
			story := kt.NewStory(workers(3, kt.JobScope, stopTogether, kt.BackoffLimit(1))).Kubelet(2 * s)
			story.Then(m, "a drain deletes worker-1", func() { story.Cluster.Delete(podName(story, 1)) })
			return story.Kubelet(5*s).Kubelet(2*s).Exit(m, "worker", 0, 0).Exit(s, "worker", 1, 0).Exit(s, "worker", 2, 0)
		},
		"invalid-spec": func() *kt.Story {
			return kt.NewStory(workers(1, success(v1beta1.FinishRule{"chief": ranks(0)})))
		},
		"gang": func() *kt.Story {
			story := kt.NewStory(workers(2, t9k("team", 7)), kt.Missing("PodGroup"))
			story.Then(m, "the scheduler's kinds are installed", func() { story.Missing = "" })
			story.Then(3*m, "the scheduler is started", func() {})
			return story.Kubelet(2*s).Exit(m, "worker", 0, 0).Exit(2*s, "worker", 1, 0)
		},
		"queue": func() *kt.Story {
			story := kt.NewStory(workers(2, inQueue("team", ""), kt.BackoffLimit(1)))
			story.Then(m, "Kueue says what it waits for", func() { story.Cluster.Refuse("1 more cpu is needed") })
			story.Then(m, "Kueue admits the job", story.Cluster.Admit).Kubelet(2*s).Exit(m, "worker", 0, 0)
			story.Then(m, "Kueue preempts the job", func() { story.Cluster.EvictWorkload("Preempted", "for a job of higher priority") })
			story.Kubelet(5 * s).Kubelet(s)
			story.Then(m, "Kueue admits the job again", story.Cluster.Admit)
			return story.Kubelet(2*s).Exit(m, "worker", 1, 0)
		},
	}
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) { golden(t, name, tell().String()) })
	}
	files, err := filepath.Glob("testdata/stories/*.golden")
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, stories, strings.TrimSuffix(filepath.Base(file), ".golden"), "a golden file that no story writes")
	}
}

func podName(story *kt.Story, rank int) string {
	return spec.PodName(story.Cluster.Job, "worker", rank)
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "stories", name+".golden")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}
