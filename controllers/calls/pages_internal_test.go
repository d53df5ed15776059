package calls

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
)

// many is an apiserver with so many pods, the first of which have ended.
type many struct {
	client.Reader
	pods, over int
	pages      []int
}

// List implements client.Reader.
func (m *many) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(options)
	if o.Limit == 0 {
		return errors.New("a list without a limit")
	}
	into := list.(*metav1.PartialObjectMetadataList)
	at, _ := strconv.Atoi(o.Continue)
	for ; at < m.pods && int64(len(into.Items)) < o.Limit; at++ {
		phase := corev1.PodRunning
		if at < m.over {
			phase = corev1.PodSucceeded
		}
		of := labels.Set{v1beta1.LabelReplicaType: "worker", v1beta1.LabelReplicaRank: strconv.Itoa(at), v1beta1.LabelJobUID: "uid"}
		if o.LabelSelector.Matches(of) && o.FieldSelector.Matches(fields.Set{"status.phase": string(phase)}) {
			into.Items = append(into.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "pod-" + strconv.Itoa(at), Labels: of}})
		}
	}
	m.pages = append(m.pages, len(into.Items))
	if at < m.pods {
		list.SetContinue(strconv.Itoa(at))
	}
	return nil
}

// The pods of a job that waits in a queue were read at once, whole, however many wear its label.
func TestPodsThatUseQuotaAreLookedForPageByPage(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "uid"}}
	look := func(m *many, keeps *kernel.QuotaPrecondition) error {
		d := &Executor{Owner: Owner{Live: m, Object: job}, Job: job}
		return d.checkQuotaPrecondition(t.Context(), kernel.Action{QuotaPrecondition: keeps})
	}
	m := &many{pods: 1000}
	require.ErrorContains(t, look(m, &kernel.QuotaPrecondition{}), "there still is Pod pod-0")
	require.Equal(t, []int{Many}, m.pages, "one page says that somebody is there")

	m = &many{pods: 1000, over: 1000}
	require.NoError(t, look(m, &kernel.QuotaPrecondition{}), "who is over uses no quota")

	m = &many{pods: 2*Many + 1, over: 1}
	require.NoError(t, look(m, &kernel.QuotaPrecondition{Others: map[string]int{"worker": 2 * Many}}))
	require.Equal(t, []int{Many, Many}, m.pages)
	require.ErrorContains(t, look(m, &kernel.QuotaPrecondition{Others: map[string]int{"worker": 2*Many - 1}}), "there still is Pod pod-100")
}
