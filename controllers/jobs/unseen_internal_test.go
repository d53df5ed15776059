package jobs

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/controllers/remember"
	"github.com/genericjob/genericjob/controllers/wake"
	"github.com/genericjob/genericjob/kernel"
)

// livePods is what an apiserver has, and how often it was asked.
type livePods struct {
	client.Reader
	pods  []metav1.PartialObjectMetadata
	err   error
	asked int
}

// List implements client.Reader.
func (l *livePods) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	l.asked++
	list.(*metav1.PartialObjectMetadataList).Items = l.pods
	return l.err
}

// The simulator found this in a life with two operators. One of them has a cache that is a second old.
func TestPodsBeginAgainOnlyWhenAllThatRunAreSeen(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "u"}}
	podOf := func(owner *v1beta1.GenericJob, uid types.UID) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: "pod-" + string(uid), UID: uid, OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, calls.GVKGenericJob)},
		}}
	}
	stranger := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "another"}}
	live := &livePods{pods: []metav1.PartialObjectMetadata{podOf(job, "a"), podOf(job, "b"), podOf(stranger, "c")}}
	r := &Reconciler{Live: live, memory: &remember.Jobs[remembered]{}}
	creates := []kernel.Action{{Verb: kernel.ReleasePod}, {Verb: kernel.CreatePod}}
	seen := func(uids ...types.UID) kernel.World {
		w := kernel.World{Job: job}
		for _, uid := range uids {
			w.Pods = append(w.Pods, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uid}})
		}
		return w
	}
	look := func(w kernel.World, actions []kernel.Action) bool {
		sees, err := r.isCurrent(t.Context(), w, actions, true)
		require.NoError(t, err)
		return sees
	}

	require.True(t, look(seen(), creates), "nothing came before the first start")
	require.Zero(t, live.asked)

	job.Status.JobAttempt = 1
	require.True(t, look(seen(), creates[:1]), "nothing is created")
	require.Zero(t, live.asked)
	require.False(t, look(seen("a"), creates), "b is not seen")
	require.False(t, look(seen("a"), creates), "it is still not seen")
	require.True(t, look(seen("a", "b"), creates), "c is none of the job's")
	require.Equal(t, 3, live.asked)
	require.True(t, look(seen("a"), creates), "a cache never goes back: b is gone")
	require.Equal(t, 3, live.asked, "once for each beginning is enough")

	job.Status.ModeGeneration = 2
	require.False(t, look(seen("a"), creates), "after a pause it is asked again")
	job.Status.JobAttempt = 2
	live.err = errors.New("no answer")
	_, err := r.isCurrent(t.Context(), seen("a", "b"), creates, true)
	require.ErrorContains(t, err, "look for pods of GenericJob ns/job that run: no answer")
	live.err = nil
	require.True(t, look(seen("a", "b"), creates))
}

// Whoever may make pods may write any owner into them. The cache finds a job's pods by the kind, version and name of their owner.
func TestAPodThatNoReconcileEverSeesHoldsNothingUp(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "u"}, Status: v1beta1.GenericJobStatus{JobAttempt: 1}}
	group := v1beta1.GroupVersion.Group
	for name, owner := range map[string]metav1.OwnerReference{
		"of another kind":    {APIVersion: "example.com/v1", Kind: "Thing", Name: "job"},
		"of another name":    {APIVersion: v1beta1.GroupVersion.String(), Kind: v1beta1.KindGenericJob, Name: "other"},
		"of another version": {APIVersion: group + "/v9", Kind: v1beta1.KindGenericJob, Name: "job"},
	} {
		t.Run(name, func(t *testing.T) {
			owner.UID, owner.Controller = job.UID, ptr.To(true)
			pod := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "pod", UID: "p", OwnerReferences: []metav1.OwnerReference{owner}}}
			require.NotContains(t, wake.JobOf(&pod), job.Name)
			r := &Reconciler{Live: &livePods{pods: []metav1.PartialObjectMetadata{pod}}, memory: &remember.Jobs[remembered]{}}
			sees, err := r.seesAll(t.Context(), kernel.World{Job: job}, []kernel.Action{{Verb: kernel.CreatePod}})
			require.NoError(t, err)
			require.True(t, sees)
		})
	}
}
