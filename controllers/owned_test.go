package controllers_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// uidsOf are the pods of a job.
func (c *cluster) uidsOf(job *v1beta1.GenericJob) map[string]types.UID {
	uids := map[string]types.UID{}
	for name, pod := range c.pods(job) {
		uids[name] = pod.UID
	}
	return uids
}

// slowClock goes at a twentieth of the machine's pace. By it an operator on a busy machine undoes an edit in time: it has ten seconds.
type slowClock struct{ began time.Time }

func newSlowClock() slowClock { return slowClock{clock.RealClock{}.Now()} }

func (s slowClock) Now() time.Time { return s.began.Add(clock.RealClock{}.Since(s.began) / 20) }

func (s slowClock) Since(t time.Time) time.Duration { return s.Now().Sub(t) }

// Its owner has the edit undone. If it acted before that, all pods would be stopped and made again, and no limit would count it.
func TestAnEditOfAGenericJobThatATrainingJobOwnsIsUndoneBeforeItActs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{clock: newSlowClock()})
	job := c.train("owned", chiefAndTwo)
	gj := c.awaitGenericJob(job)
	c.until("all run", func() bool { return c.training("owned").Status.Running == "3/3" })
	before := c.uidsOf(gj)

	for name, edit := range map[string]func(*v1beta1.GenericJobSpec){
		"a pause": func(s *v1beta1.GenericJobSpec) {
			s.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
		},
		"debug mode": func(s *v1beta1.GenericJobSpec) {
			s.RunMode = &v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}}
		},
		"a deadline": func(s *v1beta1.GenericJobSpec) { s.ActiveDeadlineSeconds = new(int64(1)) },
	} {
		spec := c.job("owned").Spec
		c.edit("owned", edit)
		c.until(name+" is undone", func() bool { return c.quietlyEqual("owned", spec) })
	}
	c.await("owned", func(j *v1beta1.GenericJob) bool { return j.Status.ObservedGeneration == j.Generation })
	require.Equal(t, before, c.uidsOf(gj), "no pod was stopped")
	now := c.job("owned").Status
	require.Equal(t, v1beta1.JobRunning, now.Phase)
	require.Zero(t, now.PauseCount+now.ModeGeneration+now.DisruptionCount+now.BackoffCount)
	c.awaitEvent(gj, "Warning FieldIgnored", "Edit TensorFlowTrainingJob owned instead")
	c.awaitEvent(job, "Warning FieldIgnored", "Somebody edited the spec of GenericJob "+c.ns+"/owned")
}

// quietlyEqual reports whether the spec of a GenericJob is this again.
func (c *cluster) quietlyEqual(name string, spec v1beta1.GenericJobSpec) bool {
	have := c.job(name)
	return have.Annotations[v1beta1.AnnotationCompiledGeneration] != "" && equality.Semantic.DeepEqual(have.Spec, spec)
}

// A GenericJob of an earlier version of the operator has no annotation of what was compiled: it gets one, once.
func TestAGenericJobOfAnEarlierVersionIsProtectedToo(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	stop := c.operate(operation{})
	job := c.train("earlier", chiefAndTwo)
	gj := c.awaitGenericJob(job)
	c.until("all run", func() bool { return c.training("earlier").Status.Running == "3/3" })
	stop()
	c.until("nothing says what was compiled", func() bool {
		have := c.job("earlier")
		have.Annotations = nil
		return c.Update(c.ctx, have) == nil
	})
	c.operate(operation{clock: newSlowClock()})
	c.until("it is annotated", func() bool { return c.job("earlier").Annotations[v1beta1.AnnotationCompiledGeneration] == "1" })
	before := c.uidsOf(gj)
	c.edit("earlier", func(s *v1beta1.GenericJobSpec) {
		s.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	})
	c.await("earlier", func(j *v1beta1.GenericJob) bool {
		return j.Generation == 3 && j.Status.ObservedGeneration == 3 && j.Spec.RunMode == nil
	})
	require.Equal(t, before, c.uidsOf(gj))
}

// Nobody can undo an edit if the kind of the job's owner is not served. So the edit acts in the end: else the ends of pods would never be
// recorded.
func TestAnEditThatCannotBeUndoneFreezesNoJob(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner", Namespace: c.ns}}
	require.NoError(t, c.Create(c.ctx, owner))
	gj := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{
		Name: "stuck", Namespace: c.ns, Annotations: map[string]string{v1beta1.AnnotationCompiledGeneration: "1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
	}}
	require.NoError(t, yaml.UnmarshalStrict([]byte("replicaSpecs: [{type: main, template: {spec: {containers: [{name: main, image: busybox}]}}}]"), &gj.Spec))
	require.NoError(t, c.Create(c.ctx, gj))
	c.awaitPhase("stuck", v1beta1.JobRunning)
	c.edit("stuck", func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = v1beta1.CleanUpAll })
	c.finish(gj, "main-0", 0)
	c.awaitPhase("stuck", v1beta1.JobSucceeded)
}

// A webhook denies the annotation of what was compiled. The job of an earlier version goes on to its end, and its owner shows it.
func TestAGenericJobOfAnEarlierVersionGoesOnWhereItsAnnotationIsRefused(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]int{
		"forbidden": http.StatusForbidden, "bad": http.StatusBadRequest, "large": http.StatusRequestEntityTooLarge, "down": http.StatusInternalServerError,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			stop := c.operate(operation{})
			gj := c.awaitGenericJob(c.train(name, chiefAndTwo))
			c.until("all run", func() bool { return c.training(name).Status.Running == "3/3" })
			stop()
			c.until("nothing says what was compiled", func() bool {
				have := c.job(name)
				have.Annotations = nil
				return c.Update(c.ctx, have) == nil
			})
			n := &network{code: code}
			n.breakWhere(func(k call) bool { return k.verb == "PUT" && strings.HasSuffix(k.path, "/genericjobs/"+name) })
			c.operate(operation{network: n})
			c.until("the annotation is refused", func() bool {
				return slices.ContainsFunc(n.seen("PUT", "/genericjobs/"+name), func(k call) bool {
					return strings.Contains(k.body, v1beta1.AnnotationCompiledGeneration)
				})
			})
			c.finish(gj, "chief-0", 0)
			c.awaitTraining(name, v1beta1.JobSucceeded)
			require.Empty(t, c.job(name).Annotations)
		})
	}
}
