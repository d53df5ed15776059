package definition

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

// Registration returns the definition as a translator.
func (d *Definition) Registration() framework.Registration {
	kind := v1beta1.TrainingFrameworkSpec{Kind: d.kind}
	return framework.Registration{
		AddToScheme: func(s *runtime.Scheme) error {
			AddToScheme(s, KindOf(&kind))
			return nil
		},
		New:            func() client.Object { return &Job{} },
		Compile:        func(o client.Object) (framework.Program, error) { return d.Compile(o.(*Job)) },
		Mirror:         func(o client.Object, s v1beta1.GenericJobStatus) error { return d.mirror(o.(*Job), s) },
		Phase:          func(o client.Object) v1beta1.JobPhase { return d.phaseOf(o.(*Job)) },
		CompletionTime: func(o client.Object) *metav1.Time { return d.completionTime(o.(*Job)) },
		Revision:       d.revision,
	}
}

// statusOf reads the status of a job, as far as it looks like that of a training job.
func statusOf(job *Job) *v1beta1.TrainingJobStatus {
	s := &v1beta1.TrainingJobStatus{}
	if json.Unmarshal(job.Status.Raw, s) == nil {
		return s
	}
	// In a status of its own shape the conditions may still be the usual ones: their dates are worth keeping.
	var some struct {
		Conditions []v1beta1.JobCondition `json:"conditions"`
	}
	_ = json.Unmarshal(job.Status.Raw, &some)
	return &v1beta1.TrainingJobStatus{Conditions: some.Conditions}
}

// mirror writes the status of a job. What is shown stays if that fails: tryStatus has tried few rows, and a job may have thousands.
func (d *Definition) mirror(job *Job, s v1beta1.GenericJobStatus) error {
	before := statusOf(job)
	state := before.DeepCopy()
	framework.MirrorStatus(state, s)
	if d.status == nil && equality.Semantic.DeepEqual(before, state) {
		return nil // as in most reconciles: a status is written, and compared, as JSON only for news
	}
	value, err := d.statusFor(state)
	if err != nil {
		return err
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return withPath("spec.status", err)
	}
	var have, want any
	_ = utiljson.Unmarshal(job.Status.Raw, &have)
	_ = utiljson.Unmarshal(raw, &want)
	if !equality.Semantic.DeepEqual(have, want) {
		job.Status.Raw = raw
	}
	return nil
}

// statusFor returns the status that a job in this state has.
func (d *Definition) statusFor(state *v1beta1.TrainingJobStatus) (any, error) {
	if d.status == nil {
		return state, nil
	}
	object, err := objectOf(state)
	if err != nil {
		return nil, err
	}
	r := &run{Definition: d, known: map[string]any{nameObserved: object}}
	return r.plain(d.status)
}

func (d *Definition) phaseOf(job *Job) v1beta1.JobPhase {
	if d.status == nil {
		var shown struct { // no more of it, for it is asked often
			Phase v1beta1.JobPhase `json:"phase"`
		}
		_ = json.Unmarshal(job.Status.Raw, &shown)
		return shown.Phase
	}
	var shown any = map[string]any{}
	if len(job.Status.Raw) > 0 && utiljson.Unmarshal(job.Status.Raw, &shown) != nil {
		return ""
	}
	r := &run{Definition: d, known: map[string]any{nameShown: shown}}
	value, err := r.value("spec.phase", d.phase)
	if err != nil {
		return ""
	}
	return v1beta1.JobPhase(textOf(value))
}

// completionTime returns when a job finished. A status of its own shape has to call it so, too.
func (d *Definition) completionTime(job *Job) *metav1.Time {
	var some struct {
		CompletionTime *metav1.Time `json:"completionTime"`
	}
	_ = json.Unmarshal(job.Status.Raw, &some)
	return some.CompletionTime
}

// tryStatus writes the status of a job in each phase and each of statesToTry, and reads the phase back.
func (d *Definition) tryStatus(r *reader) {
	for _, phase := range v1beta1.JobPhases() {
		for _, try := range statesToTry() {
			try.state.Phase = phase
			value, err := d.statusFor(try.state)
			if err != nil {
				r.wrong("spec.status", "for a job that is %s%s: %v. Ask whether there is what may be missing, as in observed.?tasks[?0].?replicas.orValue([]) or has(observed.startTime)", phase, try.which, err)
				return
			}
			raw, err := json.Marshal(value)
			if err != nil {
				r.wrong("spec.status", "%v", err)
				return
			}
			job := &Job{Status: runtime.RawExtension{Raw: raw}}
			if read := d.phaseOf(job); read != phase && (phase.IsFinal() || read.IsFinal()) {
				r.wrong("spec.phase", "reads %q from the status %s of a job that is %s", read, raw, phase)
				return
			}
		}
	}
}

// tried is a state that a definition has to be able to show. Which says how it differs from a state in which every field has a value.
type tried struct {
	which string
	state *v1beta1.TrainingJobStatus
}

// statesToTry returns a state without a value, one with all, and one of a job so large that it has no rows. For each field that may be missing it
// returns one without it and one with it alone. A job that runs has a startTime and no completionTime. A job that waits may have nothing but
// conditions.
func statesToTry() []tried {
	states := []tried{
		{", and has no more to tell", &v1beta1.TrainingJobStatus{}},
		{"", filledState()},
		{", and so large that its tasks have no replicas", stateWithoutRows()},
	}
	fields := reflect.TypeFor[v1beta1.TrainingJobStatus]()
	for i := range fields.NumField() {
		name, mayMiss := strings.CutSuffix(fields.Field(i).Tag.Get("json"), ",omitempty")
		if !mayMiss || name == "phase" {
			continue
		}
		without, alone := filledState(), &v1beta1.TrainingJobStatus{}
		reflect.ValueOf(without).Elem().Field(i).SetZero()
		fill(reflect.ValueOf(alone).Elem().Field(i))
		states = append(states, tried{", and has no " + name, without}, tried{", and has no more to tell than " + name, alone})
	}
	return states
}

// filledState returns a state in which every field has a value.
func filledState() *v1beta1.TrainingJobStatus {
	s := &v1beta1.TrainingJobStatus{}
	fill(reflect.ValueOf(s).Elem())
	return s
}

// stateWithoutRows returns the state of a job with too many replicas for rows.
func stateWithoutRows() *v1beta1.TrainingJobStatus {
	s := filledState()
	for i := range s.Tasks {
		s.Tasks[i].Replicas = nil
	}
	return s
}

func fill(v reflect.Value) {
	switch {
	case v.Type() == reflect.TypeFor[metav1.Time]():
		v.Set(reflect.ValueOf(metav1.NewTime(time.Unix(1, 0))))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case v.Kind() == reflect.String:
		v.SetString("x")
	case v.CanInt():
		v.SetInt(1)
	}
}
