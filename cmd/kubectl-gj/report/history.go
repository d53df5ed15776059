package report

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// History is status.history of a GenericJob: what came between its work.
type History struct {
	Entries []Entry `json:"entries,omitempty"`
	Earlier []Sum   `json:"earlier,omitempty"`
}

// Entry is one thing that came between. One without an end goes on.
type Entry struct {
	Kind     string            `json:"kind"`
	Begin    metav1.Time       `json:"begin"`
	End      *metav1.Time      `json:"end,omitempty"`
	Seconds  int64             `json:"seconds,omitempty"`
	Restarts int32             `json:"restarts,omitempty"`
	Pod      string            `json:"pod,omitempty"`
	Node     string            `json:"node,omitempty"`
	ExitCode *int32            `json:"exitCode,omitempty"`
	Cause    v1beta1.CauseKind `json:"cause,omitempty"`
	Message  string            `json:"message,omitempty"`
	From     *int32            `json:"from,omitempty"`
	To       *int32            `json:"to,omitempty"`
}

// Sum is the sum of entries of a kind that are no longer listed.
type Sum struct {
	Kind     string `json:"kind"`
	Count    int64  `json:"count"`
	Seconds  int64  `json:"seconds,omitempty"`
	Restarts int64  `json:"restarts,omitempty"`
}

// The kinds of entries.
const (
	kindStart      = "Start"
	kindFailure    = "Failure"
	kindHang       = "Hang"
	kindDisruption = "Disruption"
	kindNodeLost   = "NodeLost"
	kindPause      = "Pause"
	kindQueue      = "Queue"
	kindScale      = "Scale"
)

// causes are what the time of an entry counts as.
var causes = map[string]v1beta1.TimeCause{
	kindStart: v1beta1.TimeStarting, kindFailure: v1beta1.TimeLostToRestart, kindHang: v1beta1.TimeLostToHang,
	kindDisruption: v1beta1.TimeLostToDisruption, kindNodeLost: v1beta1.TimeLostToNode, kindPause: v1beta1.TimePaused, kindQueue: v1beta1.TimeQueued,
}

// HistoryOf reads the history in the status of a job as the apiserver has it. It is nil if the operator keeps none.
func HistoryOf(job *unstructured.Unstructured) *History {
	value, has, err := unstructured.NestedMap(job.Object, "status", "history")
	h := &History{}
	if !has || err != nil || runtime.DefaultUnstructuredConverter.FromUnstructured(value, h) != nil || len(h.Entries) == 0 {
		return nil
	}
	return h
}

// readHistory reads the history of a GenericJob.
func readHistory(ctx context.Context, c client.Reader, gj *v1beta1.GenericJob) (*History, error) {
	job := &unstructured.Unstructured{}
	job.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob))
	if err := c.Get(ctx, client.ObjectKeyFromObject(gj), job); err != nil {
		return nil, fmt.Errorf("read GenericJob %s/%s: %w", gj.Namespace, gj.Name, err)
	}
	return HistoryOf(job), nil
}
