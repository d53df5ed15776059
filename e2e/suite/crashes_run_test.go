package suite_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const (
	// crashPatience bounds a run: several share two cores, and each imports PyTorch up to sixteen times.
	crashPatience = 20 * time.Minute
	// lingers is how long an elastic job may go on whose failure was told. It does not end while its replica 0 may yet do the work.
	lingers = 90 * time.Second
)

// observed is what a run has shown.
type observed struct {
	crash
	phase                 v1beta1.JobPhase
	restarts, disruptions int32
	told                  statements
	events                statements // about failures, in the order in which they came
	logs                  string     // of `kubectl gj logs -f`
	logsEnded             bool
	written               [crashRanks]string // what each rank wrote
	ends                  crashEnds
}

// statement is a text of the product's, and where it stands.
type statement struct {
	Source string `json:"source"`
	Text   string `json:"text"`
}

type statements []statement

func (list statements) String() string {
	var b strings.Builder
	for _, s := range list {
		fmt.Fprintf(&b, "  %-16s %s\n", s.Source+":", s.Text)
	}
	return b.String()
}

// crash runs a job of which a rank ends, and checks what is said of it.
func (u *user) crash(c crash) judgement {
	u.t.Helper()
	folder := u.crashFolder()
	o := observed{crash: c}
	ends := u.watchEnds()
	job := u.submitCrash(c, folder)
	follow := u.follow("crash")
	o.told = u.awaitCrash(job, c)
	o.logs, o.logsEnded = follow()
	u.observe(&o, job, folder)
	o.ends = ends()
	v := o.judge()
	u.t.Logf("%s\n%s%sends:\n%s", c, v.told, v, o.ends)
	if crashesInto != "" {
		u.record(&o, v)
	}
	return v
}

// awaitCrash waits until a job is over, and asks `kubectl gj why` as soon as a failure is told.
func (u *user) awaitCrash(job pyTorchJob, c crash) (told statements) {
	u.t.Helper()
	var failed time.Time
	untilWithin(u.t, crashPatience, "the end of "+c.String(), func() bool {
		u.refresh(job)
		status := job.status()
		over := status.CompletionTime != nil && !causeMayCome(status)
		if failed.IsZero() && (status.BackoffCount > 0 || len(status.Failures) > 0 || status.Phase == v1beta1.JobFailed) {
			failed = time.Now()
			told = append(told, statement{"why at once", u.asks("why", job.Name)})
		}
		return over || c.Shape == elasticShape && c.Final && !failed.IsZero() && time.Since(failed) > lingers
	})
	return append(told, statement{"why at the end", u.asks("why", job.Name)})
}

// causeMayCome reports whether a job that is over may still learn what failed first. It was told a first failure with
// "probably", and for a minute the operator reads how the other pods end.
func causeMayCome(s *v1beta1.TrainingJobStatus) bool {
	return s.FirstFailure != nil && s.FirstFailure.Probable && time.Since(s.CompletionTime.Time) < 70*time.Second
}

// asks runs `kubectl gj` and returns what it prints, on one line.
func (u *user) asks(args ...string) string {
	u.t.Helper()
	text, err := u.command(args...).CombinedOutput()
	if err != nil {
		return strings.TrimSpace(string(text)) + " [" + err.Error() + "]"
	}
	return strings.TrimSpace(string(text))
}

// follow begins to read a job's logs. The function that it returns waits for their end, which comes with that of the job.
func (u *user) follow(name string) func() (text string, ended bool) {
	u.t.Helper()
	cmd := u.command("logs", name, "-f")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(u.t, cmd.Start())
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(done)
	}()
	return func() (string, bool) {
		select {
		case <-done:
			return out.String(), true
		case <-time.After(patience):
		}
		_ = cmd.Process.Signal(os.Interrupt)
		select {
		case <-done:
		case <-time.After(patience):
			_ = cmd.Process.Kill()
			<-done
		}
		return out.String(), false
	}
}

// observe reads what the objects say at the end, and what the ranks have written.
func (u *user) observe(o *observed, job pyTorchJob, folder string) {
	u.t.Helper()
	u.refresh(job)
	status := job.status()
	o.phase, o.restarts, o.disruptions = status.Phase, status.BackoffCount, status.DisruptionCount
	for _, kind := range []string{"PyTorchTrainingJob", "GenericJob"} {
		o.told = append(o.told, u.statusSays(kind, job.Name)...)
	}
	if o.phase == v1beta1.JobFailed || o.restarts > 0 { // the events follow the status, later on a busy machine
		u.until("events of the failure", func() bool { return u.tells(o.phase == v1beta1.JobFailed) })
	}
	o.events = u.failureEvents()
	o.told = append(o.told, o.events...)
	for rank := range crashRanks {
		text, err := os.ReadFile(filepath.Join(folder, fmt.Sprintf("said-%d", rank)))
		if !errors.Is(err, os.ErrNotExist) {
			require.NoError(u.t, err)
		}
		o.written[rank] = string(text)
	}
}

// statusSays is what an object's status says of the failure: which was first, the list, and the condition.
func (u *user) statusSays(kind, name string) (list statements) {
	u.t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind))
	require.NoError(u.t, u.Get(u.ctx, client.ObjectKey{Namespace: u.ns, Name: name}, object))
	say := func(source string, value any) {
		text, err := json.Marshal(value)
		require.NoError(u.t, err)
		list = append(list, statement{source + " of " + kind, string(text)})
	}
	told, _, _ := unstructured.NestedMap(object.Object, "status", "firstFailure")
	if told != nil {
		delete(told, "others") // a count
		say("firstFailure", told)
	}
	if failures, _, _ := unstructured.NestedSlice(object.Object, "status", "failures"); len(failures) > 0 {
		// One that follows says itself that it is not the cause, and that it may not be says what was first.
		if first := failures[0].(map[string]any); first["follows"] == nil && told["orElse"] == nil {
			say("failures[0]", first)
		}
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(map[string]any); c["type"] == string(v1beta1.ConditionFailed) && c["status"] == "True" {
			say("condition", c["message"])
		}
	}
	return list
}

// tells reports whether an event tells of a failure; of the one that was the job's end, if it is final.
func (u *user) tells(final bool) bool {
	u.t.Helper()
	return slices.ContainsFunc(u.failureEvents(), func(s statement) bool {
		return !final || s.Source == "event of PyTorchTrainingJob" && strings.HasPrefix(s.Text, v1beta1.ReasonFailed+":")
	})
}

// failureEvents are the warnings about the job's restarts and its end, the oldest first.
func (u *user) failureEvents() (told statements) {
	u.t.Helper()
	list := &eventsv1.EventList{}
	require.NoError(u.t, u.List(u.ctx, list, client.InNamespace(u.ns)))
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	for _, e := range list.Items {
		isFailure := slices.Contains([]string{v1beta1.ReasonRestarted, v1beta1.ReasonErrorInPod, v1beta1.ReasonFailed}, e.Reason)
		if e.Regarding.Kind != "Pod" && e.Type == corev1.EventTypeWarning && isFailure { // a busy machine brings others
			told = append(told, statement{"event of " + e.Regarding.Kind, e.Reason + ": " + e.Note})
		}
	}
	return told
}
