package jobs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/kerneltest"
)

// apiserver has one GenericJob, and answers in one way to who asks for another kind. It has no pods.
type apiserver struct {
	client.Reader
	job    *v1beta1.GenericJob
	others error
}

func (a apiserver) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	job, ok := into.(*v1beta1.GenericJob)
	if !ok {
		return a.others
	}
	a.job.DeepCopyInto(job)
	return nil
}

func (apiserver) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// Who may read a GenericJob sees it, whatever has become of its owner.
func TestAGenericJobWhoseOwnerCannotBeReadIsFound(t *testing.T) {
	const group, kind = "kubeflow.org", "PyTorchJob"
	job := kerneltest.Job(kerneltest.Type("worker", 1))
	job.OwnerReferences = []metav1.OwnerReference{{APIVersion: group + "/v1", Kind: kind, Name: job.Name, UID: "owner", Controller: new(true)}}
	resource := schema.GroupResource{Group: group, Resource: "pytorchjobs"}
	broken := errors.New("connection refused")
	for name, tc := range map[string]struct{ says, want error }{
		"no right":       {apierrors.NewForbidden(resource, job.Name, nil), nil},
		"gone":           {apierrors.NewNotFound(resource, job.Name), nil},
		"no such kind":   {&meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: group, Kind: kind}}, nil},
		"an odd cluster": {broken, broken},
	} {
		t.Run(name, func(t *testing.T) {
			named, err := jobs.ParseName("gj/" + job.Name)
			require.NoError(t, err)
			f, err := jobs.Find(t.Context(), apiserver{job: job, others: tc.says}, job.Namespace, named)
			require.ErrorIs(t, err, tc.want)
			if tc.want == nil {
				require.Equal(t, "GenericJob/job", f.Title())
			}
		})
	}
}
