package jobs

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/kernel/podstate"
	"github.com/genericjob/genericjob/translators/framework"
)

// remembered is what the process remembers of a job, until the job is gone. sweep forgets it.
type remembered struct {
	// refusals are what the apiserver refuses.
	refusals calls.Refusals
	// edit is an edit of the spec that the training job has not undone yet.
	edit edit
	// arrived are the reports of pods that have arrived in the attempt of their orders. These pods need not be asked again.
	arrived map[types.UID]inplace.Report
	// sawAll is the last beginning at which no pod was missing in the cache; see Reconciler.seesAll.
	sawAll beginning
	// nextProgress is when to ask again for the code's step and loss, nextFurthest for the highest step, and nextHeld for held ends.
	nextProgress, nextFurthest, nextHeld time.Time
	// nextLost is when to look at lost nodes again. nodesAgain is in what time to look at those of pods again; 0 if the pods say so.
	nextLost   time.Time
	nodesAgain time.Duration
	// lastNode is the node that was read last.
	lastNode string
	// rounds are the rounds of questions, by subject. Only questions reads and writes them.
	rounds [subjects]*round
}

// edit is an edit of a GenericJob by somebody else than the training job that owns it. If the training job has compiled another generation since, it
// is another edit.
type edit struct {
	compiled int64
	since    time.Time
}

// undoneWithin is how long a reconcile waits for an edit to be undone. An edit that lasts longer cannot be undone: the definition is gone, or the
// training job cannot be compiled. Then the edit is obeyed, or ends of pods would not be recorded any more.
const undoneWithin = 10 * time.Second

// awaitsUndo reports whether an edit of the job is about to be undone. After a restart of the operator the wait begins anew.
func (m *remembered) awaitsUndo(job *v1beta1.GenericJob, now time.Time) bool {
	compiled, edited := framework.IsEditedByOthers(job)
	if !edited || job.DeletionTimestamp != nil || job.Status.CompletionTime != nil {
		m.edit = edit{}
		return false
	}
	if m.edit.since.IsZero() || m.edit.compiled != compiled {
		m.edit = edit{compiled, now}
	}
	return now.Sub(m.edit.since) < undoneWithin
}

// arrivedOf returns the remembered reports of pods, those of their present orders alone.
func (m *remembered) arrivedOf(pods []*corev1.Pod) map[types.UID]inplace.Report {
	known := map[types.UID]inplace.Report{}
	for _, pod := range pods {
		if report, ok := m.arrived[pod.UID]; ok && report.Attempt == podstate.NumbersOf(pod).CodeAttempt() {
			known[pod.UID] = report
		}
	}
	return known
}
