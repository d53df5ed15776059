package announce

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/text"
)

// MaxNote is the length in bytes that the events API allows a note.
const MaxNote = 1024

// Reference returns the owner, as events name it.
func Reference(namespace string, owner *metav1.OwnerReference) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: owner.APIVersion, Kind: owner.Kind, Namespace: namespace, Name: owner.Name, UID: owner.UID}
}

// Events emits events about an object. An event of a replica names its pod, and one of a node that node. Otherwise events of the same reason would be
// counted as one.
func Events(recorder events.EventRecorder, about runtime.Object, list []kernel.Event) {
	for _, e := range list {
		kind := corev1.EventTypeNormal
		if e.Warning {
			kind = corev1.EventTypeWarning
		}
		var related runtime.Object
		switch {
		case e.Pod != "":
			related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: e.Pod, UID: e.UID}
		case e.Node != "":
			related = &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: e.Node}
		}
		action := e.Reason
		if e.Attempt > 0 { // a recorder counts events alike by all but their note, and keeps the first note: each restart is another action
			action += strconv.Itoa(e.Attempt)
		}
		recorder.Eventf(about, related, kind, e.Reason, action, "%s", text.Cut(e.Message, MaxNote))
	}
}
