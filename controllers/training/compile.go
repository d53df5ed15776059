package training

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/translators/framework"
)

// Compile compiles a training job of the kind. It adds to the GenericJob what is the same for all frameworks: labels, and the queue that a label of
// the job names. An error is a mistake in the job, which the user can correct, unless it is a DefinitionError.
func Compile(f framework.Registration, kind string, job client.Object) (framework.Program, error) {
	program, err := f.Compile(job)
	if err == nil && !program.Foreign {
		addPlatformLabels(&program.Spec, kind, job.GetName())
		setKueueQueue(&program.Spec, f, job)
	}
	return program, err
}

// addPlatformLabels adds to the templates the labels by which TensorStack's platform finds the pods of a training job. Labels of the user stay.
func addPlatformLabels(spec *v1beta1.GenericJobSpec, kind, name string) {
	for i := range spec.ReplicaSpecs {
		t := &spec.ReplicaSpecs[i].Template
		if t.Labels == nil {
			t.Labels = map[string]string{}
		}
		for key, value := range map[string]string{
			v1beta1.LabelT9kComponent: strings.ToLower(kind),
			v1beta1.LabelT9kOwnerKind: kind,
			v1beta1.LabelT9kOwnerName: name,
		} {
			if _, ok := t.Labels[key]; !ok {
				t.Labels[key] = value
			}
		}
	}
}

// setKueueQueue sets the Kueue queue that a label of the job names, unless the spec has a scheduler or Kueue knows the kind itself.
func setKueueQueue(into *v1beta1.GenericJobSpec, f framework.Registration, job client.Object) {
	if f.KnownToKueue || into.Scheduler != nil {
		return
	}
	labels := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Labels: job.GetLabels()}}
	if queue := spec.Kueue(labels); queue != nil {
		into.Scheduler = &v1beta1.SchedulePolicy{Kueue: queue}
	}
}
