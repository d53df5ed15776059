package simulator

import (
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/training"
	"github.com/genericjob/genericjob/translators/definition"
	"github.com/genericjob/genericjob/translators/framework"
)

// DefinedJob is a job of a kind that a TrainingFramework defines, as its user sees it. The operator reads it as it reads any.
type DefinedJob struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DefinedJobSpec            `json:"spec"`
	Status v1beta1.TrainingJobStatus `json:"status,omitempty"`
}

// DefinedJobSpec is the spec of a DefinedJob.
type DefinedJobSpec struct {
	Replicas  *int32                  `json:"replicas,omitempty"`
	Policy    string                  `json:"policy,omitempty"`
	Template  corev1.PodTemplateSpec  `json:"template"`
	RunMode   *v1beta1.RunMode        `json:"runMode,omitempty"`
	RunPolicy *v1beta1.RunPolicy      `json:"runPolicy,omitempty"`
	Scheduler *v1beta1.SchedulePolicy `json:"scheduler,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (j *DefinedJob) DeepCopyObject() runtime.Object {
	out := &DefinedJob{TypeMeta: j.TypeMeta}
	j.DeepCopyInto(&out.ObjectMeta)
	j.Spec.deepCopyInto(&out.Spec)
	j.Status.DeepCopyInto(&out.Status)
	return out
}

func (s *DefinedJobSpec) deepCopyInto(out *DefinedJobSpec) {
	*out = DefinedJobSpec{
		Replicas: ptr.To(ptr.Deref(s.Replicas, 0)), Policy: s.Policy, Template: *s.Template.DeepCopy(),
		RunMode: s.RunMode.DeepCopy(), RunPolicy: s.RunPolicy.DeepCopy(), Scheduler: s.Scheduler.DeepCopy(),
	}
	if s.Replicas == nil {
		out.Replicas = nil
	}
}

// definedText is the definition. EDITION is what an admin edits.
const definedText = `
kind: {group: example.com, version: v1, kind: DefinedJob}
genericJob:
  replicaSpecs:
    - type: worker
      replicas: ${job.spec.?replicas.orValue(1)}
      restartPolicy: ${restartPolicy(job.spec.policy)}
      template: "${job.spec.template.putEnvFirst('main', [{'name': 'EDITION', 'value': 'EDITION'}])}"
  runMode: ${job.spec.?runMode}
  scheduler: ${job.spec.?scheduler}
runPolicy: job.spec.?runPolicy
`

// editions are the revisions of the definition that an admin may choose from.
var editions = []framework.Registration{edition("first"), edition("second")}

func edition(name string) framework.Registration {
	spec := &v1beta1.TrainingFrameworkSpec{}
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(definedText, "'value': 'EDITION'", "'value': '"+name+"'")), spec); err != nil {
		panic(err)
	}
	d, err := definition.New(spec, definition.Schemas{})
	if err != nil {
		panic(err)
	}
	r := d.Registration()
	return framework.Registration{
		New:     func() client.Object { return &DefinedJob{} },
		Compile: func(o client.Object) (framework.Program, error) { return r.Compile(raw(o)) },
		Mirror: func(o client.Object, s v1beta1.GenericJobStatus) error {
			job := raw(o)
			if err := r.Mirror(job, s); err != nil {
				return err
			}
			o.(*DefinedJob).Status = v1beta1.TrainingJobStatus{}
			return json.Unmarshal(job.Status.Raw, &o.(*DefinedJob).Status)
		},
		Phase:          func(o client.Object) v1beta1.JobPhase { return r.Phase(raw(o)) },
		CompletionTime: func(o client.Object) *metav1.Time { return r.CompletionTime(raw(o)) },
		Revision:       r.Revision,
	}
}

// raw is a job as a cache of the operator holds it.
func raw(o client.Object) *definition.Job {
	job := o.(*DefinedJob)
	out := &definition.Job{TypeMeta: job.TypeMeta, ObjectMeta: job.ObjectMeta}
	out.Spec.Raw, out.Status.Raw = encode(&job.Spec), encode(&job.Status)
	return out
}

func encode(part any) []byte {
	out, err := json.Marshal(part)
	if err != nil {
		panic(err)
	}
	return out
}

// defined is the kind.
var defined = &trained{
	kind: "DefinedJob", group: schema.GroupVersion{Group: "example.com", Version: "v1"}, registration: editions[0], editions: editions,
	draw:     drawDefined,
	pause:    func(o client.Object) *bool { return &o.(*DefinedJob).Spec.RunMode.Pause.Enabled },
	debug:    func(o client.Object) *bool { return &o.(*DefinedJob).Spec.RunMode.Debug.Enabled },
	deadline: func(o client.Object) *int64 { return o.(*DefinedJob).Spec.RunPolicy.ActiveDeadlineSeconds },
	replicas: func(o client.Object) []*int32 { return []*int32{o.(*DefinedJob).Spec.Replicas} },
}

func drawDefined(t *Tape) client.Object {
	replicas := int32(1 + t.Pick(3))
	return &DefinedJob{Spec: DefinedJobSpec{
		Replicas: &replicas, Policy: string(policyOf(t)), Template: template("main"),
		RunMode: modes(), RunPolicy: runPolicy(t), Scheduler: schedulerOf(t),
	}}
}

// admin edits the definition now and then. Each operator hears of it when it does.
func (l *Life) admin() {
	if l.framework == nil || l.framework.editions == nil {
		return
	}
	if l.meddling && l.tape.Chance(20) {
		l.edition = 1 - l.edition
		l.say("an admin edits the definition: revision %s", l.framework.editions[l.edition].Revision)
	}
	for _, o := range l.operators {
		if o.edition != l.edition && l.tape.Due(4) {
			o.define(l.edition)
		}
	}
}

// define has the operator compile new jobs by an edition.
func (o *operator) define(edition int) {
	o.edition = edition
	o.defined.Serve("defined", o.ofEdition(edition), o.ofEdition(1-edition))
}

func (o *operator) ofEdition(i int) *training.Reconciler {
	return o.training.With(o.life.framework.editions[i])
}

// compiledOnce checks that a GenericJob stays with the edition of the definition that it began with.
func (t *truth) compiledOnce(old, next client.Object) {
	is, ok := next.(*v1beta1.GenericJob)
	if !ok || t.life.framework == nil || t.life.framework.editions == nil || metav1.GetControllerOf(is) == nil {
		return
	}
	const name = v1beta1.AnnotationFrameworkRevision
	if was, ok := old.(*v1beta1.GenericJob); ok && was.Annotations[name] != is.Annotations[name] {
		t.violated("an edit of a definition touches a job", "%s: revision %q became %q", keyOf(is), was.Annotations[name], is.Annotations[name])
	}
	edition, known := is.Spec.ReplicaSpecs[0].Template.Spec.Containers[0].Env[0].Value, false
	for i, words := range []string{"first", "second"} {
		if t.life.framework.editions[i].Revision == is.Annotations[name] {
			known = words == edition
		}
	}
	if !known {
		t.violated("an edit of a definition touches a job", "%s of revision %q is compiled by the %s", keyOf(is), is.Annotations[name], edition)
	}
}
