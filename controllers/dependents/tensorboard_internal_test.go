package dependents

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
)

// crowded is an apiserver with 300 large pods, of any labels.
type crowded struct {
	client.Reader
	read int
}

// List implements client.Reader.
func (c *crowded) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := client.ListOptions{}
	o.ApplyOptions(options)
	from, _ := strconv.Atoi(o.Continue)
	to := 300
	if o.Limit > 0 {
		to = min(to, from+int(o.Limit))
	}
	for i := from; i < to; i++ {
		c.read++
		list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("pod-", i), Annotations: map[string]string{"a": strings.Repeat("x", 1000)}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Args: []string{strings.Repeat("x", 1000)}}}},
			Status:     corev1.PodStatus{Phase: corev1.PodPending},
		})
	}
	if to < 300 {
		list.SetContinue(strconv.Itoa(to))
	}
	return nil
}

// 300 pods of 1.35 MB with the labels of a TensorBoard took 1,314 MiB of memory, at every start.
func TestPodsThatWearTheLabelsOfATensorBoardAreNotAllRead(t *testing.T) {
	apiserver := &crowded{}
	p := &boardReconcile{Owner: calls.Owner{Live: apiserver, Object: &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "mnist", Namespace: "ns"}}}}
	pods, err := p.pods(t.Context())
	require.NoError(t, err)
	require.Equal(t, mostBoardPods, apiserver.read)
	require.Len(t, pods, mostBoardPods)
	for _, pod := range pods {
		require.NotEmpty(t, pod.Name)
		require.Equal(t, corev1.PodPending, pod.Status.Phase)
		require.Empty(t, pod.Spec, "what can be large is not kept")
		require.Empty(t, pod.Annotations)
	}
}
