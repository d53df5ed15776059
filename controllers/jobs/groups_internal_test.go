package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/build"
)

// largeGroups is a client that knows PodGroups of a megabyte of labels.
type largeGroups struct {
	client.Client
	groups []unstructured.Unstructured
}

// List implements client.Reader.
func (l *largeGroups) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*unstructured.UnstructuredList).Items = l.groups
	return nil
}

// Each reconcile keeps the PodGroups of its job until it ends, and there are many reconciles.
func TestOfALargePodGroupAReconcileKeepsWhatItCompares(t *testing.T) {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "job", UID: "u"}}
	job.Spec.Scheduler = &v1beta1.SchedulePolicy{Kubernetes: &v1beta1.KubernetesScheduler{}}
	version := build.GangVersions(job)[0]
	own := build.GangObject(job, build.Group{Number: 4, MinMember: 3}, version)
	own.SetUID("g")
	own.SetResourceVersion("7")
	owners := own.GetOwnerReferences()
	owners[0].Controller, owners[0].Name = ptr.To(true), strings.Repeat("n", 1<<20)
	labels := map[string]string{}
	for n := range 1000 {
		labels[fmt.Sprint("label-", n)] = strings.Repeat("x", 63)
		owners = append(owners, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: strings.Repeat("n", 250), UID: "o"})
	}
	own.SetOwnerReferences(owners)
	own.SetLabels(labels)
	large := &largeGroups{groups: []unstructured.Unstructured{*own}}
	found, err := (&Reconciler{Client: large}).podGroups(t.Context(), job, version)
	require.NoError(t, err)
	require.Len(t, found, 1)
	require.True(t, build.Has(found, build.GangObject(job, build.Group{Number: 4, MinMember: 3}, version)), "it is seen to be what is wanted")
	require.False(t, build.Has(found, build.GangObject(job, build.Group{Number: 4, MinMember: 2}, version)))
	require.EqualValues(t, "g", found[0].GetUID(), "it can be deleted")
	require.Equal(t, "7", found[0].GetResourceVersion())
	raw, err := json.Marshal(found[0])
	require.NoError(t, err)
	require.Less(t, len(raw), 2000)
}
