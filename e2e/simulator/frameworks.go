package simulator

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/translators/framework"
	kubeflowjobs "github.com/genericjob/genericjob/translators/kubeflow"
	"github.com/genericjob/genericjob/translators/pytorch"
	"github.com/genericjob/genericjob/translators/tensorflow"
)

// trained is a kind of jobs that a life may be about.
type trained struct {
	kind         string
	group        schema.GroupVersion
	registration framework.Registration   // empty for GenericJob itself
	editions     []framework.Registration // of a kind that a definition serves
	draw         func(*Tape) client.Object
	pause, debug func(client.Object) *bool
	deadline     func(client.Object) *int64
	replicas     func(client.Object) []*int32 // those that may change while the job runs
}

// plain is the GenericJob itself, as a user makes it.
var plain = &trained{
	kind: v1beta1.KindGenericJob, group: v1beta1.GroupVersion, draw: drawGenericJob,
	pause:    func(o client.Object) *bool { return &o.(*v1beta1.GenericJob).Spec.RunMode.Pause.Enabled },
	debug:    func(o client.Object) *bool { return &o.(*v1beta1.GenericJob).Spec.RunMode.Debug.Enabled },
	deadline: func(o client.Object) *int64 { return o.(*v1beta1.GenericJob).Spec.ActiveDeadlineSeconds },
	replicas: func(o client.Object) []*int32 {
		var list []*int32
		for _, r := range o.(*v1beta1.GenericJob).Spec.ReplicaSpecs {
			list = append(list, r.Replicas)
		}
		return list
	},
}

// frameworks are the translators that lives are about, beside plain GenericJobs.
var frameworks = []*trained{
	{
		kind: v1beta1.KindTensorFlowTrainingJob, group: v1beta1.GroupVersion,
		registration: framework.Register(tensorflow.Translator), draw: drawTensorFlow,
		pause: func(o client.Object) *bool { return &o.(*v1beta1.TensorFlowTrainingJob).Spec.RunMode.Pause.Enabled },
		debug: func(o client.Object) *bool { return &o.(*v1beta1.TensorFlowTrainingJob).Spec.RunMode.Debug.Enabled },
		deadline: func(o client.Object) *int64 {
			return o.(*v1beta1.TensorFlowTrainingJob).Spec.RunPolicy.ActiveDeadlineSeconds
		},
		replicas: none,
	},
	{
		kind: v1beta1.KindPyTorchTrainingJob, group: v1beta1.GroupVersion,
		registration: framework.Register(pytorch.Translator), draw: drawPyTorch,
		pause: func(o client.Object) *bool { return &o.(*v1beta1.PyTorchTrainingJob).Spec.RunMode.Pause.Enabled },
		debug: func(o client.Object) *bool { return &o.(*v1beta1.PyTorchTrainingJob).Spec.RunMode.Debug.Enabled },
		deadline: func(o client.Object) *int64 {
			return o.(*v1beta1.PyTorchTrainingJob).Spec.RunPolicy.ActiveDeadlineSeconds
		},
		replicas: func(o client.Object) []*int32 {
			if e := o.(*v1beta1.PyTorchTrainingJob).Spec.Elastic; e != nil {
				return []*int32{e.ExpectedReplicas}
			}
			return nil
		},
	},
	{
		kind: kubeflow.KindTFJob, group: kubeflow.GroupVersion,
		registration: framework.Register(kubeflowjobs.TFJobs), draw: drawTFJob,
		pause:    func(o client.Object) *bool { return o.(*kubeflow.TFJob).Spec.RunPolicy.Suspend },
		debug:    func(client.Object) *bool { return new(bool) }, // there is none
		deadline: func(o client.Object) *int64 { return o.(*kubeflow.TFJob).Spec.RunPolicy.ActiveDeadlineSeconds },
		replicas: none,
	},
	defined,
}

func none(client.Object) []*int32 { return nil }
