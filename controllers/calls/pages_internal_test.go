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
	owner      []metav1.OwnerReference
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
			into.Items = append(into.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "pod-" + strconv.Itoa(at), Labels: of, OwnerReferences: m.owner}})
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
	owner := []metav1.OwnerReference{*metav1.NewControllerRef(job, GVKGenericJob)}
	m := &many{pods: 1000, owner: owner}
	require.ErrorContains(t, look(m, &kernel.QuotaPrecondition{}), "Pod pod-0 is not free yet: the job controls it, and it has not ended")
	require.Equal(t, []int{PageOfMetadata}, m.pages, "one page says that somebody is there")

	m = &many{pods: 1000, over: 1000, owner: owner}
	require.NoError(t, look(m, &kernel.QuotaPrecondition{}), "who is over uses no quota")

	m = &many{pods: 2*PageOfMetadata + 1, over: 1, owner: owner}
	require.NoError(t, look(m, &kernel.QuotaPrecondition{Others: map[string]int{"worker": 2 * PageOfMetadata}}))
	require.Equal(t, []int{PageOfMetadata, PageOfMetadata}, m.pages)
	require.ErrorContains(t, look(m, &kernel.QuotaPrecondition{Others: map[string]int{"worker": 2*PageOfMetadata - 1}}), "Pod pod-100 is not free yet: the job controls it, and it has not ended")
}

// A copy of a pod that somebody made to look into it wears the labels of the job. While it ran, the quota of the job that was over stayed taken.
func TestPodsThatTheJobDoesNotControlHoldBackNoQuota(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "uid"}}
	controller := func(change func(*metav1.OwnerReference)) []metav1.OwnerReference {
		ref := metav1.NewControllerRef(job, GVKGenericJob)
		change(ref)
		return []metav1.OwnerReference{*ref}
	}
	for name, owner := range map[string][]metav1.OwnerReference{
		"bare":               nil,
		"of another kind":    controller(func(ref *metav1.OwnerReference) { ref.Kind = "Thing" }),
		"of another version": controller(func(ref *metav1.OwnerReference) { ref.APIVersion = "example.com/v1" }),
		"of another name":    controller(func(ref *metav1.OwnerReference) { ref.Name = "other" }),
		"of another UID":     controller(func(ref *metav1.OwnerReference) { ref.UID = "other" }),
		"owned, and no more": controller(func(ref *metav1.OwnerReference) { ref.Controller = nil }),
	} {
		t.Run(name, func(t *testing.T) {
			x := &Executor{Owner: Owner{Live: &many{pods: 3, owner: owner}, Object: job}, Job: job}
			require.NoError(t, x.checkQuotaPrecondition(t.Context(), kernel.Action{QuotaPrecondition: &kernel.QuotaPrecondition{}}))
		})
	}
}
