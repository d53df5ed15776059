package jobs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/translators/framework"
)

// told are events, each as its object's kind and its reason.
type told []string

// Eventf implements events.EventRecorder.
func (t *told) Eventf(about, _ runtime.Object, _, reason, _, _ string, _ ...any) {
	switch o := about.(type) {
	case *corev1.ObjectReference:
		*t = append(*t, o.Kind+" "+reason)
	case *v1beta1.GenericJob:
		*t = append(*t, v1beta1.KindGenericJob+" "+reason)
	}
}

// `kubectl get events` showed what happens to a training job twice. The phases of a training job are told by its own reconciler. A workflow has none
// that would, nor has a training job whose definition is gone.
func TestWhatHappensToAJobIsToldOnce(t *testing.T) {
	list := []kernel.Event{{Reason: v1beta1.ReasonRunning}, {Reason: v1beta1.ReasonRestarted}}
	for name, tc := range map[string]struct {
		owner    string
		compiled bool
		want     told
	}{
		"a job that a user submitted":      {"", false, told{"GenericJob Running", "GenericJob Restarted"}},
		"a job of a training job":          {"PyTorchJob", true, told{"PyTorchJob Restarted"}},
		"of a kind without its definition": {"JAXJob", true, told{"JAXJob Running", "JAXJob Restarted"}},
		"a job of a workflow":              {"Workflow", false, told{"GenericJob Running", "GenericJob Restarted"}},
		"a job that wears the mark":        {"", true, told{"GenericJob Running", "GenericJob Restarted"}},
	} {
		t.Run(name, func(t *testing.T) {
			job, heard := &v1beta1.GenericJob{}, told{}
			if tc.owner != "" {
				job.OwnerReferences = []metav1.OwnerReference{{Kind: tc.owner, Name: "owner", Controller: new(true)}}
			}
			if tc.compiled {
				framework.AnnotateCompiled(job, 1, false)
			}
			(&Reconciler{Recorder: &heard, serves: func(o *metav1.OwnerReference) bool { return o.Kind == "PyTorchJob" }}).announce(job, list)
			require.Equal(t, tc.want, heard)
		})
	}
}

// A node that goes takes a thousand replicas with it, and each event is a write.
func TestAThousandReplicasAreNoStormOfEvents(t *testing.T) {
	list := []kernel.Event{{Reason: v1beta1.ReasonStarted}}
	for rank := range 1000 {
		list = append(list, kernel.Event{Reason: v1beta1.ReasonDisrupted, Replica: fmt.Sprintf("worker-%d", rank)})
	}
	list = append(list, kernel.Event{Reason: v1beta1.ReasonErrorInPod})
	got := bounded(list)
	require.Len(t, got, 1+maxReplaced+1+1)
	require.Equal(t, v1beta1.ReasonErrorInPod, got[maxReplaced+1].Reason, "others are told")
	require.Equal(t, "990 more replicas were replaced; status.ledger and the operator's log have each.", got[maxReplaced+2].Message)
	require.Equal(t, list[:5], bounded(list[:5]))
}
