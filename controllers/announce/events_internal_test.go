package announce

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// TestEventsOfOneReasonAboutSeveralObjectsAreAllKept: of two nodes that a job came to avoid within minutes, Kubernetes kept the first alone, and
// counted it twice.
func TestEventsOfOneReasonAboutSeveralObjectsAreAllKept(t *testing.T) {
	for name, of := range map[string]func(object string) kernel.Event{
		"nodes": func(object string) kernel.Event {
			return kernel.Event{Reason: v1beta1.ReasonNodeAvoided, Node: object, Message: object}
		},
		"pods": func(object string) kernel.Event {
			return kernel.Event{Reason: v1beta1.ReasonReplaced, Pod: object, Node: "one", Message: object}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cluster, scheme, stop := fake.NewClientset(), runtime.NewScheme(), make(chan struct{})
			require.NoError(t, v1beta1.AddToScheme(scheme))
			defer close(stop)
			broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: cluster.EventsV1()})
			broadcaster.StartRecordingToSink(stop)
			defer broadcaster.Shutdown()
			job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
			Events(broadcaster.NewRecorder(scheme, "genericjob"), job, []kernel.Event{of("a"), of("b")})
			require.Eventually(t, func() bool {
				list, err := cluster.EventsV1().Events("ns").List(t.Context(), metav1.ListOptions{})
				require.NoError(t, err)
				notes := map[string]bool{}
				for i := range list.Items {
					notes[list.Items[i].Note] = true
				}
				return notes["a"] && notes["b"]
			}, time.Minute, 10*time.Millisecond)
		})
	}
}

// noting is a recorder that keeps what it is told.
type noting struct{ kinds, actions, notes []string }

// Eventf implements events.EventRecorder.
func (n *noting) Eventf(_, _ runtime.Object, kind, _, action, note string, args ...any) {
	n.kinds, n.actions, n.notes = append(n.kinds, kind), append(n.actions, action), append(n.notes, fmt.Sprintf(note, args...))
}

// TestEventsKeepWhatARecorderWouldLose: it counts two restarts as one if they have the same action, and the apiserver refuses a long note.
func TestEventsKeepWhatARecorderWouldLose(t *testing.T) {
	n := &noting{}
	Events(n, &v1beta1.GenericJob{}, []kernel.Event{
		{Reason: "Restarted", Attempt: 1, Warning: true, Message: "100%d"}, {Reason: "Restarted", Attempt: 2, Warning: true}, {Reason: "Completed", Message: strings.Repeat("é", MaxNote)},
	})
	require.Equal(t, []string{"Restarted1", "Restarted2", "Completed"}, n.actions)
	require.Equal(t, []string{"Warning", "Warning", "Normal"}, n.kinds)
	require.Equal(t, "100%d", n.notes[0], "a message is no format")
	require.LessOrEqual(t, len(n.notes[2]), MaxNote)
	require.True(t, utf8.ValidString(n.notes[2]))
}
