package suite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestTime compares what status.time says of a job with what its ranks have written down themselves. README.md tells the life of that job. It
// runs beside no other test.
func TestTime(t *testing.T) {
	timeIsKept(newSpace(t), pod, "")
}

// queuedTimeIsKept is the same in a queue of Kueue's, which is held at the start and at the end of the pause.
func queuedTimeIsKept(s *space) {
	timeIsKept(s, slotted, "scheduler: {kueue: {queueName: team}}")
}

const (
	clockRanks = 3
	// clockSaves is how many seconds a rank works on that is asked to stop; less than its grace period.
	clockSaves = 6
	// clockWait is how long the test holds the queue, keeps pods from the node, and pauses the job. It is more than shares may differ by.
	clockWait = 12 * time.Second
	// clockLabel is what the node needs for the job's pods.
	clockLabel = "genericjob.test/clock"
	// closeEnough is how much two records of one moment may differ: those of code, and of its container or of who looks at that.
	closeEnough = 2 * time.Second
)

// lifetime is what a job's time must have been spent on, one interval after the other.
type lifetime struct {
	at     time.Time
	spent  map[v1beta1.TimeCause]time.Duration
	pieces map[v1beta1.TimeCause]int
}

// passes ends an interval.
func (l *lifetime) passes(at time.Time, cause v1beta1.TimeCause) {
	l.spent[cause] += at.Sub(l.at)
	l.pieces[cause]++
	l.at = at
}

// clocked is a job whose ranks note when their code runs.
type clocked struct {
	*space
	job    *v1beta1.GenericJob
	file   string
	queued bool
	lifetime
}

func timeIsKept(s *space, template func(string) string, scheduler string) {
	folder := s.t.TempDir()
	require.NoError(s.t, os.Chmod(folder, 0o777)) // the worker is not root
	c := &clocked{space: s, file: filepath.Join(folder, "clock"), queued: scheduler != ""}
	c.lifetime = lifetime{spent: map[v1beta1.TimeCause]time.Duration{}, pieces: map[v1beta1.TimeCause]int{}}
	c.submitClocked(folder, template, scheduler)
	c.comes(0)
	c.works(0)

	s.end(c.job, "worker", 1, 3)
	c.loses(0, v1beta1.TimeLostToRestart)

	c.opens(false)
	s.deletePod(c.job)
	time.Sleep(clockSaves*time.Second + clockWait)
	c.opens(true)
	c.loses(1, v1beta1.TimeLostToDisruption)
	c.pauses()
	c.comes(3)
	c.works(3)

	s.finish(c.job, upTo(clockRanks)...)
	done := s.awaitPhase("clocked", v1beta1.JobSucceeded)
	c.passes(c.last("end", 3), v1beta1.TimeProductive)
	require.EqualValues(s.t, 1, done.Status.BackoffCount)
	require.EqualValues(s.t, 1, done.Status.DisruptionCount)
	c.compare(done)
}

// submitClocked creates the job, whose pods are not admitted, and have no node.
func (c *clocked) submitClocked(folder string, template func(string) string, scheduler string) {
	c.t.Helper()
	c.t.Cleanup(func() { c.opens(false) })
	c.opens(false)
	c.holds(true)
	text := strings.Replace(template(fmt.Sprintf("clock %d /shared/clock $(rank)", clockSaves)), `"args"`, `"command": ["/worker"], "args"`, 1)
	text = inPod(inContainer(text, `"volumeMounts": [{"name": "shared", "mountPath": "/shared"}]`),
		`"nodeSelector": {"`+clockLabel+`": "true"}, "volumes": [{"name": "shared", "hostPath": {"path": "`+folder+`"}}]`)
	c.job = c.submit("clocked", fmt.Sprintf("restartScope: Job\nrestartStrategy: InPlace\ninPlaceLimit: 10\nbackoffLimit: 5\n%s\n"+
		"replicaSpecs:\n- {type: worker, replicas: %d, template: %s}", scheduler, clockRanks, text))
	c.at = time.Now()
}

// opens has the node take pods of the job, or not.
func (c *clocked) opens(open bool) {
	label := clockLabel + "-"
	if open {
		label = clockLabel + "=true"
	}
	text, err := exec.Command(kubectl, "label", "--overwrite", "node", "local", label).CombinedOutput() // also when the test is over
	require.NoError(c.t, err, string(text))
}

// holds has the queue of the job admit nothing new, or admit again.
func (c *clocked) holds(hold bool) {
	if !c.queued {
		return
	}
	policy := map[bool]string{true: "Hold", false: "None"}[hold]
	kubectlOf(c.t, "patch", "clusterqueue", c.ns, "--type=merge", "--patch", `{"spec": {"stopPolicy": "`+policy+`"}}`)
}

// comes has a job be admitted, and then its pods find a node, and waits until all begin for the n-th time.
func (c *clocked) comes(n int) {
	c.t.Helper()
	if c.queued {
		time.Sleep(clockWait)
		c.holds(false)
		c.awaitPods(c.job, "worker-0", "worker-1", "worker-2")
		c.passes(c.admitted(), v1beta1.TimeQueued)
	}
	time.Sleep(clockWait)
	c.opens(true)
	c.begin(n)
	c.passes(c.last("begin", n), v1beta1.TimeStarting)
}

// begin waits until all ranks begin for the n-th time.
func (c *clocked) begin(n int) {
	c.t.Helper()
	c.until(fmt.Sprintf("all ranks begin for time %d", n), func() bool { return len(c.nth("begin", n)) == clockRanks })
}

// works waits for steps of all ranks after they have begun for the n-th time.
func (c *clocked) works(n int) {
	c.t.Helper()
	from := c.last("begin", n)
	c.until("all ranks work", func() bool {
		steps := map[string]int{}
		for _, e := range c.entries() {
			if e.what == "step" && e.at.After(from) {
				steps[e.rank]++
			}
		}
		return len(steps) == clockRanks && min(steps["0"], steps["1"], steps["2"]) >= int(clockWait/time.Second)
	})
}

// loses is a loss that begins with the first end of the n-th time.
func (c *clocked) loses(n int, cause v1beta1.TimeCause) {
	c.t.Helper()
	c.begin(n + 1)
	c.passes(c.first("end", n), v1beta1.TimeProductive)
	c.passes(c.last("begin", n+1), cause)
	c.works(n + 1)
}

// pauses pauses the job, and resumes it while it is not admitted and its pods have no node.
func (c *clocked) pauses() {
	c.t.Helper()
	pause := func(on bool) time.Time {
		c.edit("clocked", func(spec *v1beta1.GenericJobSpec) {
			spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: on}}
		})
		return time.Now()
	}
	c.passes(pause(true), v1beta1.TimeProductive)
	c.awaitPhase("clocked", v1beta1.JobPaused)
	c.awaitPods(c.job)
	c.opens(false)
	c.holds(true)
	time.Sleep(clockWait)
	c.passes(pause(false), v1beta1.TimePaused)
}

// admitted is when Kueue says that it has admitted the job.
func (c *clocked) admitted() (at time.Time) {
	c.t.Helper()
	c.until("Kueue says that the job is admitted", func() bool {
		all, _, err := unstructured.NestedSlice(c.workload(c.job).Object, "status", "conditions")
		require.NoError(c.t, err)
		for _, one := range all {
			if condition := one.(map[string]any); condition["type"] == "Admitted" && condition["status"] == "True" {
				at, err = time.Parse(time.RFC3339, condition["lastTransitionTime"].(string))
				require.NoError(c.t, err)
			}
		}
		return !at.IsZero()
	})
	return at
}

// entry is a line that a rank has written.
type entry struct {
	what, rank string
	at         time.Time
}

func (c *clocked) entries() (all []entry) {
	c.t.Helper()
	text, err := os.ReadFile(c.file)
	if !os.IsNotExist(err) {
		require.NoError(c.t, err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		require.Len(c.t, words, 3, line)
		seconds, err := strconv.ParseFloat(words[2], 64)
		require.NoError(c.t, err, line)
		all = append(all, entry{words[0], words[1], time.UnixMilli(int64(seconds * 1000))})
	}
	return all
}

// nth are when the ranks have done something for the n-th time, from 0.
func (c *clocked) nth(what string, n int) (all []time.Time) {
	c.t.Helper()
	times := map[string]int{}
	for _, e := range c.entries() {
		if e.what != what {
			continue
		}
		if times[e.rank] == n {
			all = append(all, e.at)
		}
		times[e.rank]++
	}
	return all
}

func (c *clocked) first(what string, n int) time.Time { return c.nth(what, n)[0] }

func (c *clocked) last(what string, n int) time.Time {
	all := c.nth(what, n)
	require.Len(c.t, all, clockRanks, "%s %d", what, n)
	return all[clockRanks-1]
}

// compare compares the shares of a job that is over with its life.
func (c *clocked) compare(done *v1beta1.GenericJob) {
	c.t.Helper()
	is := done.Status.Time
	require.Nil(c.t, is.Open)
	require.Empty(c.t, c.nth("begin", 4), "a rank has begun once more than the test knows of")
	c.t.Logf("TIME %-12s %10s %8s %8s", "cause", "its ranks", "status", "between")
	total := time.Duration(0)
	for _, cause := range v1beta1.TimeCauses {
		want, have := c.spent[cause], *is.Of(cause)
		total += want
		c.t.Logf("TIME %-12s %10.1f %8d %8.1f", cause, want.Seconds(), have, float64(have)-want.Seconds())
		if n := c.pieces[cause]; n == 0 {
			assert.Zero(c.t, have, cause)
		} else {
			assert.InDelta(c.t, want.Seconds(), have, closeEnough.Seconds()+float64(n), "%s: %d intervals", cause, n)
		}
	}
	assert.InDelta(c.t, total.Seconds(), is.Total, closeEnough.Seconds()+1, "total")
}
