package v1beta1_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

var (
	editable = []v1beta1.JobPhase{"", v1beta1.JobPaused}
	frozen   = []v1beta1.JobPhase{v1beta1.JobPending, v1beta1.JobRunning, v1beta1.JobResuming, v1beta1.JobSucceeded,
		v1beta1.JobFailed, v1beta1.JobUnknown}
)

// inPhase creates a job and puts it into a phase, as the operator does.
func inPhase[T client.Object](t *testing.T, c client.Client, ns string, j T, phase v1beta1.JobPhase) T {
	t.Helper()
	j.SetName("")
	j.SetGenerateName("job-")
	j.SetNamespace(ns)
	require.NoError(t, c.Create(t.Context(), j))
	if phase != "" {
		status := fmt.Sprintf(`{"status":{"phase":%q}}`, phase)
		require.NoError(t, c.Status().Patch(t.Context(), j, client.RawPatch(client.Merge.Type(), []byte(status))))
	}
	return j
}

// waiting is an edit that waits for a pause, and what the apiserver must say before.
type waiting[T client.Object] struct {
	edit func(T)
	want string
}

// tryWaiting tries edits, which wait for a pause, on a good job in each phase.
func tryWaiting[T client.Object](t *testing.T, good func(...func(T)) T, edits map[string]waiting[T]) {
	t.Helper()
	c := newClient(t)
	ns := newNamespace(t, c)
	for name, w := range edits {
		for _, phase := range editable {
			t.Run(name+"/accepted in phase "+string(phase), func(t *testing.T) {
				j := inPhase(t, c, ns, good(), phase)
				w.edit(j)
				require.NoError(t, c.Update(t.Context(), j))
			})
		}
		for _, phase := range frozen {
			t.Run(name+"/rejected in phase "+string(phase), func(t *testing.T) {
				j := inPhase(t, c, ns, good(), phase)
				w.edit(j)
				err := c.Update(t.Context(), j)
				require.True(t, apierrors.IsInvalid(err), "%v", err)
				require.Contains(t, said(err), w.want)
				require.NotContains(t, said(err), "while the job runs", "it may be over")
				require.Contains(t, said(err), "once the job is over, delete it and create it again")
			})
		}
	}
}

// A job without a phase may have pods already. Under other names a second one of the same replica would be made.
func TestPodNamesWaitForAPauseFromTheStart(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for _, phase := range append(editable, frozen...) {
		t.Run("in phase "+string(phase), func(t *testing.T) {
			j := inPhase(t, c, ns, job(), phase)
			j.Spec.PodNames = v1beta1.PodNamesPlain
			err := c.Update(t.Context(), j)
			if phase == v1beta1.JobPaused {
				require.NoError(t, err)
				return
			}
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			require.ErrorContains(t, err, "podNames is immutable")
		})
	}
}

// tryFree tries edits, which wait for nothing, on a good job in each phase.
func tryFree[T client.Object](t *testing.T, good func(...func(T)) T, edits map[string]func(T)) {
	t.Helper()
	c := newClient(t)
	ns := newNamespace(t, c)
	for name, edit := range edits {
		for _, phase := range append(editable, frozen...) {
			t.Run(name+"/in phase "+string(phase), func(t *testing.T) {
				j := inPhase(t, c, ns, good(), phase)
				edit(j)
				require.NoError(t, c.Update(t.Context(), j))
			})
		}
	}
}

func TestEditsThatWaitForAPause(t *testing.T) {
	tryWaiting(t, job, map[string]waiting[*v1beta1.GenericJob]{
		"another image": {
			worker(func(s *v1beta1.ReplicaSpec) { s.Template.Spec.Containers[0].Image = "image:2" }),
			"template is immutable unless the job is paused: set spec.runMode.pause.enabled, wait for status.phase Paused",
		},
		"a label of the template": {
			worker(func(s *v1beta1.ReplicaSpec) { s.Template.Labels = map[string]string{"a": "b"} }),
			"template is immutable",
		},
		"another restart limit": {
			worker(func(s *v1beta1.ReplicaSpec) { s.RestartPolicy.Limit = ptr.To[int32](2) }),
			"restartPolicy is immutable",
		},
		"auxiliary": {
			spec(func(s *v1beta1.GenericJobSpec) {
				s.ReplicaSpecs[0].Auxiliary, s.ReplicaSpecs[0].RestartPolicy, s.SuccessRules = true, nil, nil
			}),
			"immutable unless the job is paused",
		},
		"no restart policy": {
			worker(func(s *v1beta1.ReplicaSpec) { s.RestartPolicy = nil }),
			"restartPolicy is immutable",
		},
		"one more type": {
			spec(func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs = append(s.ReplicaSpecs, replicas("evaluator", 1)) }),
			"types and their order are immutable",
		},
		"a type renamed": {retyped("chief"), "types and their order are immutable"},
		"a type less": {
			spec(func(s *v1beta1.GenericJobSpec) { s.ReplicaSpecs, s.FailureRules = s.ReplicaSpecs[:1], nil }),
			"types and their order are immutable",
		},
		"types in another order: $(index) depends on it": {
			spec(func(s *v1beta1.GenericJobSpec) {
				s.ReplicaSpecs[0], s.ReplicaSpecs[1] = s.ReplicaSpecs[1], s.ReplicaSpecs[0]
			}),
			"types and their order are immutable",
		},
		"no Service": {spec(func(s *v1beta1.GenericJobSpec) { s.Service = nil }), "service is immutable"},
		"another port": {
			spec(func(s *v1beta1.GenericJobSpec) { s.Service.Ports[0].Port = 80 }), "service is immutable",
		},
		"no success rules": {
			spec(func(s *v1beta1.GenericJobSpec) { s.SuccessRules = nil }), "successRules are immutable",
		},
		"other success rules": {
			spec(func(s *v1beta1.GenericJobSpec) { s.SuccessRules[0]["worker"] = nil }), "successRules are immutable",
		},
		"no failure rules": {
			spec(func(s *v1beta1.GenericJobSpec) { s.FailureRules = nil }), "failureRules are immutable",
		},
		"other failure rules": {
			spec(func(s *v1beta1.GenericJobSpec) { s.FailureRules[0]["ps"] = nil }), "failureRules are immutable",
		},
		"no scheduler": {spec(func(s *v1beta1.GenericJobSpec) { s.Scheduler = nil }), "scheduler is immutable"},
		"another queue": {
			spec(func(s *v1beta1.GenericJobSpec) { s.Scheduler.T9kScheduler.Queue = "fast" }), "scheduler is immutable",
		},
		"another restartScope": {
			spec(func(s *v1beta1.GenericJobSpec) { s.RestartScope = v1beta1.RestartScopeJob }), "restartScope is immutable",
		},
		"a pause and another image at once": {
			all(paused, worker(func(s *v1beta1.ReplicaSpec) { s.Template.Spec.Containers[0].Image = "image:2" })),
			"template is immutable",
		},
	})
}

func paused(j *v1beta1.GenericJob) {
	j.Spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
}

func TestEditsThatWaitForNothing(t *testing.T) {
	tryFree(t, job, map[string]edit{
		"more replicas":       worker(func(s *v1beta1.ReplicaSpec) { s.Replicas = ptr.To[int32](5) }),
		"fewer replicas":      worker(func(s *v1beta1.ReplicaSpec) { s.Replicas = ptr.To[int32](1) }),
		"replicas by default": worker(func(s *v1beta1.ReplicaSpec) { s.Replicas = nil }),
		"a pause":             paused,
		"debug mode": spec(func(s *v1beta1.GenericJobSpec) {
			s.RunMode = &v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}}
		}),
		"a deadline":             spec(func(s *v1beta1.GenericJobSpec) { s.ActiveDeadlineSeconds = ptr.To[int64](9) }),
		"a shared limit":         spec(func(s *v1beta1.GenericJobSpec) { s.BackoffLimit = ptr.To[int32](9) }),
		"a time to live":         spec(func(s *v1beta1.GenericJobSpec) { s.TTLSecondsAfterFinished = ptr.To[int32](9) }),
		"a clean-up policy":      spec(func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = v1beta1.CleanUpAll }),
		"default names in words": spec(func(s *v1beta1.GenericJobSpec) { s.PodNames = v1beta1.PodNamesHashed }),
		"the default in words":   spec(func(s *v1beta1.GenericJobSpec) { s.RestartScope = v1beta1.RestartScopeReplica }),
		"a label":                func(j *v1beta1.GenericJob) { j.Labels = map[string]string{"a": "b"} },
	})
}

// An operator that could not write its status because of a rule about spec would never get a job out of that state.
func TestStatusIsNeverHeldUpByRulesAboutSpec(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for kind := range kinds(t) {
		j := inPhase(t, c, ns, good[kind](), "")
		for _, phase := range append(frozen, editable...) {
			part(j, "Status").FieldByName("Phase").Set(reflect.ValueOf(phase))
			part(j, "Status").FieldByName("Conditions").Set(reflect.ValueOf(
				[]v1beta1.JobCondition{{Type: v1beta1.ConditionRunning, Status: metav1.ConditionTrue}}))
			require.NoError(t, c.Status().Update(t.Context(), j), "%s in phase %q", kind, phase)
		}
	}
}

// The rules take a write that changes the status for one that leaves the spec alone: no write may change both.
func TestAChangedStatusIsNoWayRoundTheRules(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for kind := range kinds(t) {
		j := inPhase(t, c, ns, good[kind](), v1beta1.JobRunning)
		status := part(j, "Status")
		status.FieldByName("Aggregate").FieldByName("Running").SetInt(7)
		if written := status.FieldByName("LastUpdateTime"); written.IsValid() {
			written.Set(reflect.ValueOf(ptr.To(metav1.NowMicro())))
		}
		labels := func() *map[string]string {
			return &part(j, "Spec").FieldByName("ReplicaSpecs").Index(0).FieldByName("Template").Addr().Interface().(*corev1.PodTemplateSpec).Labels
		}
		*labels() = map[string]string{"a": "b"}

		err := c.Update(t.Context(), j.DeepCopyObject().(client.Object))
		require.True(t, apierrors.IsInvalid(err), "%s: %v", kind, err)
		require.ErrorContains(t, err, "spec.replicaSpecs: Invalid value", kind)
		require.NoError(t, c.Status().Update(t.Context(), j), kind)
		require.Empty(t, *labels(), kind)
		require.EqualValues(t, 7, part(j, "Status").FieldByName("Aggregate").FieldByName("Running").Int(), kind)
	}
}

func TestPhaseIsOneOfSeven(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for kind := range kinds(t) {
		j := inPhase(t, c, ns, good[kind](), v1beta1.JobPending)
		part(j, "Status").FieldByName("Phase").SetString("Done")
		err := c.Status().Update(t.Context(), j)
		for _, want := range oneOf("phase", "Done", "Pending", "Running", "Paused", "Resuming", "Succeeded", "Failed", "Unknown") {
			require.ErrorContains(t, err, want, kind)
		}
	}
}

// Status is the operator's memory: nobody creates a job that has succeeded before it ran.
func TestStatusOfACreatedJobIsDropped(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for kind := range kinds(t) {
		j := good[kind]()
		j.SetNamespace(ns)
		part(j, "Status").FieldByName("Phase").Set(reflect.ValueOf(v1beta1.JobSucceeded))
		require.NoError(t, c.Create(t.Context(), j))
		require.Empty(t, part(j, "Status").FieldByName("Phase").String(), kind)
	}
}
