package dependents

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
)

// team is a job beside an apiserver that notes writes, and refuses them if it is told to.
type team struct {
	calls.Owner
	writes  []string
	deleted []types.UID // the preconditions of deletes
	refuse  error
}

// newTeam returns a job that the cache shows as it is, or as it was if it is outdated.
func newTeam(t *testing.T, outdated bool, objects ...client.Object) *team {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1beta1.AddToScheme, autoscalingv2.AddToScheme, appsv1.AddToScheme, corev1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	tm := &team{}
	note := func(verb string, o client.Object, write func() error) error {
		if tm.writes = append(tm.writes, verb+" "+o.GetName()); tm.refuse != nil {
			return tm.refuse
		}
		return write()
	}
	job := newJob()
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(objects, job)...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			return note("create", o, func() error {
				o.SetUID(types.UID("uid-of-" + o.GetName()))
				o.SetCreationTimestamp(metav1.NewTime(now))
				return c.Create(ctx, o, options...)
			})
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			return note("update", o, func() error { return c.Update(ctx, o, options...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			return note("patch", o, func() error { return c.Patch(ctx, o, patch, options...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			of := client.DeleteOptions{}
			of.ApplyOptions(options)
			if of.Preconditions != nil && of.Preconditions.UID != nil {
				tm.deleted = append(tm.deleted, *of.Preconditions.UID)
			}
			return note("delete", o, func() error { return c.Delete(ctx, o) })
		},
	}).Build()
	kind := v1beta1.GroupVersion.WithKind(v1beta1.KindPyTorchTrainingJob)
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(job), job))
	if outdated {
		job.ResourceVersion = "1"
	}
	tm.Owner = calls.Owner{Client: c, Live: c, Object: job, Kind: kind}
	return tm
}

func newJob() *v1beta1.PyTorchTrainingJob {
	return &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "mnist", Namespace: "team", UID: "uid"}}
}

// scaler returns an autoscaler as the apiserver has it: with a field of its own, and an annotation of what was wanted.
func scaler(of *v1beta1.PyTorchTrainingJob, wanted autoscalingv2.HorizontalPodAutoscalerSpec) *autoscalingv2.HorizontalPodAutoscaler {
	have := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{
		Name: "mnist", Namespace: "team", UID: "scaler", Annotations: map[string]string{annotationAutoscaler: hashOf(wanted)},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(of, v1beta1.GroupVersion.WithKind(v1beta1.KindPyTorchTrainingJob))},
	}, Spec: *wanted.DeepCopy()}
	have.Spec.Behavior = &autoscalingv2.HorizontalPodAutoscalerBehavior{}
	return have
}

// TestAnAutoscalerIsBroughtToWhatIsWanted, and one that the job does not control is left alone.
func TestAnAutoscalerIsBroughtToWhatIsWanted(t *testing.T) {
	other := newJob()
	other.UID = "other"
	want := autoscalingv2.HorizontalPodAutoscalerSpec{MinReplicas: ptr.To[int32](1), MaxReplicas: 5}
	metric := *want.DeepCopy()
	metric.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.PodsMetricSourceType}}
	edited := scaler(newJob(), want)
	edited.Spec.MaxReplicas = 9
	for name, tc := range map[string]struct {
		have     *autoscalingv2.HorizontalPodAutoscaler
		want     *autoscalingv2.HorizontalPodAutoscalerSpec
		outdated bool
		writes   []string
	}{
		"there is none":                          {want: &want, writes: []string{"create mnist"}},
		"there is none, and the job has changed": {want: &want, outdated: true},
		"none is wanted, and there is none":      {},
		"it is as wanted":                        {have: scaler(newJob(), want), want: &want},
		"somebody has edited it":                 {have: edited, want: &want, writes: []string{"update mnist"}},
		"it has a metric that is wanted no more": {have: scaler(newJob(), metric), want: &want, writes: []string{"update mnist"}},
		"it is wanted no more":                   {have: scaler(newJob(), want), writes: []string{"delete mnist"}},
		"another's is wanted no more":            {have: scaler(other, want)},
		"another's is in the way":                {have: scaler(other, metric), want: &want},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tc.have != nil {
				objects = append(objects, tc.have)
			}
			tm := newTeam(t, tc.outdated, objects...)
			require.NoError(t, Autoscaler(t.Context(), tm.Owner, tc.want))
			require.Equal(t, tc.writes, tm.writes)
			if len(tm.writes) == 0 {
				return
			}
			if tc.want == nil {
				require.Equal(t, []types.UID{"scaler"}, tm.deleted, "and no other of the name")
				return
			}
			now := &autoscalingv2.HorizontalPodAutoscaler{}
			require.NoError(t, tm.Client.Get(t.Context(), client.ObjectKeyFromObject(tm.Object), now))
			require.Equal(t, want, now.Spec)
			require.True(t, metav1.IsControlledBy(now, tm.Object))
			require.NoError(t, Autoscaler(t.Context(), tm.Owner, tc.want))
			require.Len(t, tm.writes, 1, "what was brought stays")
		})
	}
}

// TestARefusedAutoscalerIsTold with what was tried: the apiserver's words do not say it.
func TestARefusedAutoscalerIsTold(t *testing.T) {
	tm := newTeam(t, false)
	tm.refuse = apierrors.NewForbidden(schema.GroupResource{Resource: "horizontalpodautoscalers"}, "mnist", errors.New("ask Ann"))
	err := Autoscaler(t.Context(), tm.Owner, &autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 5})
	var refusal *calls.RefusalError
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, v1beta1.ReasonCreateFailed, refusal.Reason)
	require.Contains(t, refusal.Message, "create HorizontalPodAutoscaler team/mnist: ")
	require.Contains(t, refusal.Message, "ask Ann")
}
