package jobs_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/kerneltest"
)

// apiserver has one GenericJob, and perhaps what controls it. It answers in one way to who asks for another object. It has no pods.
type apiserver struct {
	client.Reader
	job    *v1beta1.GenericJob
	owner  *unstructured.Unstructured
	others error
}

func (a apiserver) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	job, ok := into.(*v1beta1.GenericJob)
	if of, unknown := into.(*unstructured.Unstructured); unknown && a.owner != nil && of.GroupVersionKind() == a.owner.GroupVersionKind() {
		a.owner.DeepCopyInto(of)
		return nil
	}
	if !ok {
		return a.others
	}
	a.job.DeepCopyInto(job)
	return nil
}

func (a apiserver) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	if list, ok := into.(*v1beta1.GenericJobList); ok {
		list.Items = []v1beta1.GenericJob{*a.job}
	}
	return nil
}

// Who may read a GenericJob sees it, whatever has become of its owner.
func TestAGenericJobWhoseOwnerCannotBeReadIsFound(t *testing.T) {
	const group, kind = "kubeflow.org", "PyTorchJob"
	job := kerneltest.Job(kerneltest.Type("worker", 1))
	metav1.SetMetaDataAnnotation(&job.ObjectMeta, v1beta1.AnnotationCompiledGeneration, "1")
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

// A workflow of which a job is a step is no job, though it controls the job, and the user may read it. What a definition serves is one.
func TestOnlyATrainingJobThatWasCompiledIsTheJob(t *testing.T) {
	workflow := &unstructured.Unstructured{}
	workflow.SetGroupVersionKind(schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Workflow"})
	workflow.SetName("all")
	workflow.SetUID("workflow")
	step := kerneltest.Job(kerneltest.Type("worker", 1))
	step.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(workflow, workflow.GroupVersionKind())}
	compiled := step.DeepCopy()
	metav1.SetMetaDataAnnotation(&compiled.ObjectMeta, v1beta1.AnnotationCompiledGeneration, "1")
	for want, job := range map[string]*v1beta1.GenericJob{"gj/job": step, "workflow/all": compiled} {
		cluster := apiserver{job: job, owner: workflow, others: apierrors.NewNotFound(schema.GroupResource{}, job.Name)}
		for _, text := range []string{"gj/job", "job"} {
			named, err := jobs.ParseName(text)
			require.NoError(t, err)
			f, err := jobs.Find(t.Context(), cluster, job.Namespace, named)
			require.NoError(t, err)
			require.Equal(t, want, f.Address(), text)
			require.Equal(t, job.UID, f.GenericJob.UID)
		}
		all, err := jobs.List(t.Context(), cluster, job.Namespace, labels.Everything())
		require.NoError(t, err)
		require.Len(t, all, 1)
		require.Equal(t, want, all[0].Address())
		require.Equal(t, want, jobs.AddressOf(job))
	}
}
