package definitions

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/definition"
)

// revised returns a definition that has revisions 0, the newest, to n-1.
func revised(n int) *v1beta1.TrainingFramework {
	d := &v1beta1.TrainingFramework{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	d.Spec.Kind = v1beta1.FrameworkKind(largeKind)
	for i := range n {
		d.Status.Revisions = append(d.Status.Revisions, v1beta1.FrameworkRevision{Name: fmt.Sprint(i)})
	}
	return d
}

// compiledBy returns a GenericJob of a kind that a revision compiled.
func compiledBy(revision, kind string) *v1beta1.GenericJob {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "by-" + revision, Namespace: "team", Annotations: map[string]string{v1beta1.AnnotationFrameworkRevision: revision}}}
	job.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "j", UID: "u", Controller: ptr.To(true)}}
	return job
}

func names(d *v1beta1.TrainingFramework) (list []string) {
	for _, one := range d.Status.Revisions {
		list = append(list, one.Name)
	}
	return list
}

// TestARevisionGoesOnlyIfNoJobNeedsIt: a job without its revision cannot be compiled any more.
func TestARevisionGoesOnlyIfNoJobNeedsIt(t *testing.T) {
	ended, other := compiledBy("9", "LargeJob"), compiledBy("9", "OtherJob")
	ended.Status.CompletionTime, other.Name = ptr.To(metav1.Now()), "other"
	free := compiledBy("9", "LargeJob")
	free.Name, free.OwnerReferences = "free", nil
	all := make([]client.Object, maxRevisions)
	for i := range all {
		all[i] = compiledBy(fmt.Sprint(i), "LargeJob")
	}
	for name, tc := range map[string]struct {
		revisions int
		jobs      []client.Object
		want      []string // after the new one
		reason    string
	}{
		"there is room":                        {3, all[:3], []string{"0", "1", "2"}, v1beta1.ReasonAccepted},
		"the oldest is not used":               {maxRevisions, []client.Object{ended, other, free}, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"}, v1beta1.ReasonAccepted},
		"the oldest is used, and not the next": {maxRevisions, all[9:], []string{"0", "1", "2", "3", "4", "5", "6", "7", "9"}, v1beta1.ReasonAccepted},
		"all are used":                         {maxRevisions, all, nil, v1beta1.ReasonTooManyRevisions},
	} {
		t.Run(name, func(t *testing.T) {
			d := revised(tc.revisions)
			c := fake.NewClientBuilder().WithScheme(schemeWith(t, largeKind)).WithObjects(tc.jobs...).Build()
			j := &judgement{Reconciler: &Reconciler{Client: c}, definition: d}
			before := names(d)
			require.NoError(t, j.keep(t.Context(), d))
			require.True(t, hasReason(d, v1beta1.FrameworkAccepted, tc.reason))
			if tc.want == nil {
				require.Equal(t, before, names(d), "what compiles jobs stays")
				require.Equal(t, askForRoom, j.orSooner(askAgain))
				return
			}
			require.Equal(t, append([]string{definition.RevisionOf(&d.Spec)}, tc.want...), names(d))
			require.Zero(t, j.orSooner(0))
		})
	}
}

// TestAnEditThatIsTakenBackNeedsNoRoom: its revision becomes the newest again.
func TestAnEditThatIsTakenBackNeedsNoRoom(t *testing.T) {
	d := revised(maxRevisions)
	back := definition.RevisionOf(&d.Spec)
	d.Status.Revisions[4].Name = back
	require.NoError(t, (&Reconciler{}).keep(t.Context(), d), "nobody asks for jobs")
	require.Equal(t, []string{back, "0", "1", "2", "3", "5", "6", "7", "8", "9"}, names(d))
}

// TestTheOlderOfTwoDefinitionsServes, and the other says what to do.
func TestTheOlderOfTwoDefinitionsServes(t *testing.T) {
	now := time.Unix(1000, 0)
	other := func(age time.Duration, change func(*v1beta1.TrainingFramework)) *v1beta1.TrainingFramework {
		d := revised(0)
		d.Name, d.CreationTimestamp = "b", metav1.NewTime(now.Add(-age))
		change(d)
		return d
	}
	as := func(*v1beta1.TrainingFramework) {}
	for name, tc := range map[string]struct {
		other *v1beta1.TrainingFramework
		says  string
	}{
		"it is older":                         {other(time.Second, as), "TrainingFramework b is older and defines a kind LargeJob, of group example.com. Delete one"},
		"it is younger":                       {other(-time.Second, as), ""},
		"of the same second, a later name":    {other(0, as), ""},
		"of the same second, an earlier name": {other(0, func(d *v1beta1.TrainingFramework) { d.Name = "A" }), "TrainingFramework A is older"},
		"it is being deleted": {other(time.Second, func(d *v1beta1.TrainingFramework) {
			d.DeletionTimestamp, d.Finalizers = &metav1.Time{Time: now}, []string{"example.com/waits"}
		}), ""},
		"it defines another kind": {other(time.Second, func(d *v1beta1.TrainingFramework) { d.Spec.Kind.Kind = "OtherJob" }), ""},
		"it was never accepted": {other(time.Second, func(d *v1beta1.TrainingFramework) {
			setCondition(d, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, "")
		}), ", though it is not accepted itself (InvalidDefinition). Delete one"},
		"an edit of it is refused": {other(time.Second, func(d *v1beta1.TrainingFramework) {
			d.Status.Revisions = []v1beta1.FrameworkRevision{{Name: "one"}}
			setCondition(d, v1beta1.FrameworkAccepted, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition, "")
		}), "of group example.com. Delete one"},
	} {
		t.Run(name, func(t *testing.T) {
			d := revised(0)
			d.CreationTimestamp = metav1.NewTime(now)
			c := fake.NewClientBuilder().WithScheme(schemeWith(t, largeKind)).WithObjects(d, tc.other).Build()
			says, err := (&Reconciler{Client: c}).conflict(t.Context(), d)
			require.NoError(t, err)
			require.Equal(t, tc.says == "", says == "", says)
			require.Contains(t, says, tc.says)
		})
	}
	says, err := (&Reconciler{Taken: []string{"LargeJob"}}).conflict(t.Context(), revised(0))
	require.NoError(t, err)
	require.Contains(t, says, "The operator serves a kind LargeJob without a definition.")
}

// TestWhatIsNotAcceptedSaysWhatCompilesJobsMeanwhile.
func TestWhatIsNotAcceptedSaysWhatCompilesJobsMeanwhile(t *testing.T) {
	missing := whyNot{v1beta1.ReasonKindMissing, "There is no kind."}
	for name, tc := range map[string]struct {
		j      judgement
		is     metav1.ConditionStatus
		reason string
		says   string
	}{
		"a mistake": {judgement{mistakes: errors.New("spec.x: wrong")}, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition,
			"spec.x: wrong\nUntil this is mended, jobs are compiled by revision 0."},
		"a mistake, and the kind is missing": {judgement{mistakes: errors.New("spec.x: wrong"), notServed: missing}, metav1.ConditionFalse, v1beta1.ReasonInvalidDefinition,
			"spec.x: wrong\nMore may be found when the kind is there. There is no kind.\nUntil this is mended, jobs are compiled by revision 0."},
		"a schema that is refused": {judgement{schemaRefused: whyNot{v1beta1.ReasonRightsMissing, "Give rights."}}, metav1.ConditionFalse, v1beta1.ReasonRightsMissing,
			"Give rights.\nUntil this is mended, jobs are compiled by revision 0."},
		"the kind is missing": {judgement{notServed: missing}, metav1.ConditionUnknown, v1beta1.ReasonKindMissing,
			"What can be checked without the kind is right. There is no kind."},
	} {
		t.Run(name, func(t *testing.T) {
			j := &tc.j
			j.definition = revised(1)
			require.NoError(t, j.accept(t.Context()))
			c := meta.FindStatusCondition(j.definition.Status.Conditions, v1beta1.FrameworkAccepted)
			require.Equal(t, []string{string(tc.is), tc.reason, tc.says}, []string{string(c.Status), c.Reason, c.Message})
		})
	}
	require.Empty(t, meanwhile(revised(0)), "nothing compiles jobs")
}
