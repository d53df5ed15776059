package states

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
	"github.com/genericjob/genericjob/translators/pytorch"
	"github.com/genericjob/genericjob/translators/tensorflow"
)

// Kind is a kind of jobs that is asked about.
type Kind struct {
	schema.GroupVersionKind
	crd       string // below deploy
	framework *framework.Registration
	spec      string
}

const containers = `template: {spec: {containers: [{name: pytorch, image: i, command: [train]}]}}`

// The kinds, each with a job of a master, or chief, and two workers.
var (
	Generic = Kind{GroupVersionKind: v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob), crd: "crd/batch.tensorstack.dev_genericjobs.yaml",
		spec: `{replicaSpecs: [{type: master, ` + containers + `}, {type: worker, replicas: 2, ` + containers + `}]}`}
	PyTorch = Kind{GroupVersionKind: v1beta1.GroupVersion.WithKind("PyTorchTrainingJob"), crd: "crd/batch.tensorstack.dev_pytorchtrainingjobs.yaml",
		framework: new(framework.Register(pytorch.Translator)),
		spec:      `{replicaSpecs: [{type: master, ` + containers + `}, {type: worker, replicas: 2, ` + containers + `}]}`}
	TensorFlow = Kind{GroupVersionKind: v1beta1.GroupVersion.WithKind("TensorFlowTrainingJob"), crd: "crd/batch.tensorstack.dev_tensorflowtrainingjobs.yaml",
		framework: new(framework.Register(tensorflow.Translator)),
		spec:      strings.ReplaceAll(`{replicaSpecs: [{type: chief, `+containers+`}, {type: worker, replicas: 2, `+containers+`}]}`, "pytorch", "tensorflow")}
	KubeflowPyTorch = Kind{GroupVersionKind: kubeflowv1.GroupVersion.WithKind("PyTorchJob"), crd: "kubeflow/crd/kubeflow.org_pytorchjobs.yaml",
		framework: new(framework.Register(kubeflow.PyTorchJobs)),
		spec:      `{pytorchReplicaSpecs: {Master: {replicas: 1, restartPolicy: OnFailure, ` + containers + `}, Worker: {replicas: 2, restartPolicy: OnFailure, ` + containers + `}}}`}
	KubeflowTensorFlow = Kind{GroupVersionKind: kubeflowv1.GroupVersion.WithKind("TFJob"), crd: "kubeflow/crd/kubeflow.org_tfjobs.yaml",
		framework: new(framework.Register(kubeflow.TFJobs)),
		spec: strings.ReplaceAll(`{tfReplicaSpecs: {Chief: {replicas: 1, restartPolicy: OnFailure, `+containers+
			`}, Worker: {replicas: 2, restartPolicy: OnFailure, `+containers+`}}}`, "pytorch", "tensorflow")}
)

// NewKind is the kind of a CRD below deploy, whose objects have no translator here.
func NewKind(t *testing.T, file string) Kind {
	t.Helper()
	crd := CRDOf(t, file)
	return Kind{GroupVersionKind: schema.GroupVersionKind{Group: crd.Spec.Group, Version: crd.Spec.Versions[0].Name, Kind: crd.Spec.Names.Kind}, crd: file}
}

// In is a job of the kind in a state, as a client reads it.
func (k Kind) In(t *testing.T, s State) *unstructured.Unstructured {
	t.Helper()
	job, owner := k.created(t)
	if s.shape != nil {
		s.shape(&job.Spec)
	}
	shown := client.Object(job)
	if owner != nil {
		shown = owner
	}
	if s.happens != nil {
		story := kerneltest.NewStory(job)
		for _, happens := range s.happens {
			happens(story)
			if owner != nil {
				k.mirror(owner, &story.Cluster.Job.Status)
			}
		}
		story.Then(settled, "time passes", func() {})
		if s.told != nil {
			s.told(story)
		}
		shown = k.mirrored(s, owner, story)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(shown)
	require.NoError(t, err)
	u := &unstructured.Unstructured{Object: content}
	if s.happens == nil {
		unstructured.RemoveNestedField(u.Object, "status")
	}
	return k.Read(t, u)
}

// Pods are those of a job of the kind, as the operator creates them.
func (k Kind) Pods(t *testing.T) map[string]*corev1.Pod {
	t.Helper()
	job, _ := k.created(t)
	return kerneltest.NewStory(job).Cluster.Pods
}

// created are a GenericJob and the object that it was compiled from. There is none if the kind is GenericJob itself.
func (k Kind) created(t *testing.T) (job *v1beta1.GenericJob, owner client.Object) {
	t.Helper()
	job = &v1beta1.GenericJob{}
	if k.framework == nil {
		require.NoError(t, yaml.UnmarshalStrict([]byte(k.spec), &job.Spec))
	} else {
		owner = k.framework.New()
		require.NoError(t, yaml.UnmarshalStrict([]byte("{spec: "+k.spec+"}"), owner))
		owner.SetCreationTimestamp(metav1.NewTime(kerneltest.Start))
		k.meta(owner)
		program, err := k.framework.Compile(owner)
		require.NoError(t, err)
		job.Spec = program.Spec
		job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, k.GroupVersionKind)}
	}
	k.meta(job)
	return job, owner
}

func (k Kind) meta(o client.Object) {
	o.SetName("job")
	o.SetNamespace("ns")
	o.SetUID("uid")
	o.SetGeneration(1)
}

// mirrored is what the job shows of its GenericJob, as its reconciler does it. A GenericJob shows itself.
func (k Kind) mirrored(s State, owner client.Object, story *kerneltest.Story) client.Object {
	have := story.Cluster.Job
	shown := have.Status.DeepCopy()
	generation := have.Generation
	if s.refused != "" {
		generation++
		status.Block(shown, story.Cluster.Now, v1beta1.ReasonInvalidSpec, s.refused)
	}
	shown.ObservedGeneration = generation
	if owner == nil {
		have = have.DeepCopy()
		have.Generation, have.Status = generation, *shown
		return have
	}
	owner.SetGeneration(generation)
	k.mirror(owner, shown)
	return owner
}

// mirror has a training job show the status of its GenericJob.
func (k Kind) mirror(owner client.Object, s *v1beta1.GenericJobStatus) {
	if err := k.framework.Mirror(owner, *s); err != nil {
		panic(err) // no kind of these has a definition
	}
}

// Read is an object as the apiserver serves it. One without a status has the one that its CRD says.
func (k Kind) Read(t *testing.T, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	u.SetGroupVersionKind(k.GroupVersionKind)
	defaulting.Default(u.Object, schemaOf(t, CRDOf(t, k.crd), k.Version))
	return u
}

// CRDOf reads a CRD below deploy.
func CRDOf(t *testing.T, file string) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../deploy", file))
	require.NoError(t, err)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.UnmarshalStrict(text, crd))
	return crd
}

// schemaOf is that of a version.
func schemaOf(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string) *structuralschema.Structural {
	t.Helper()
	for _, v := range crd.Spec.Versions {
		if v.Name != version {
			continue
		}
		internal := &apiextensions.JSONSchemaProps{}
		require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, internal, nil))
		structural, err := structuralschema.NewStructural(internal)
		require.NoError(t, err)
		return structural
	}
	t.Fatalf("%s has no version %s", crd.Name, version)
	return nil
}
