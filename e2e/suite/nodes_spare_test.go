package suite_test

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// place is what a replica needs a node for alone: each node has one.
const place = "genericjob.test/place"

// havePlaces gives both nodes one place each, until the test is over.
func (s *space) havePlaces() {
	s.t.Helper()
	for _, name := range []string{"local", second} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		at := "/status/capacity/" + strings.ReplaceAll(place, "/", "~1")
		add := []byte(`[{"op": "add", "path": "` + at + `", "value": "1"}]`)
		require.NoError(s.t, s.Status().Patch(s.ctx, node, client.RawPatch(types.JSONPatchType, add)))
		s.t.Cleanup(func() {
			remove := []byte(`[{"op": "remove", "path": "` + at + `"}]`)
			_ = cluster.Status().Patch(context.Background(), node, client.RawPatch(types.JSONPatchType, remove))
		})
		s.until(name+" has a place", func() bool {
			require.NoError(s.t, s.Get(s.ctx, client.ObjectKey{Name: name}, node))
			n, has := node.Status.Allocatable[place]
			return has && n.Value() == 1
		})
	}
}

// inPlaceOf has the container of a template ask for the place of a node.
func inPlaceOf(template string) string {
	return strings.Replace(template, `"args": [`, `"resources": {"limits": {"`+place+`": "1"}}, "args": [`, 1)
}

// spareIsTaken holds the place of a node by a pod of lower priority, as kernel/lost-nodes.md says. The replica of a lost node preempts that.
func spareIsTaken(s *space) {
	s.havePlaces()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: s.ns + "-spare"}, Value: -10, PreemptionPolicy: new(corev1.PreemptNever)}
	require.NoError(s.t, s.Create(s.ctx, class))
	s.t.Cleanup(func() { _ = cluster.Delete(context.Background(), class) })

	job := s.submit("takes", `{nodeLost: {afterSeconds: 10}, backoffLimit: 0, replicaSpecs: [{type: worker, template: `+inPlaceOf(strings.Replace(there(false, "print up then obey"),
		`"tolerationSeconds": 3`, `"tolerationSeconds": 10`, 2))+`}]}`)
	s.awaitRunning("takes", "1/1")
	s.requireOn(job, second)

	labels := map[string]string{"app": "spare"}
	spare := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "spare", Namespace: s.ns}}
	spare.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	spare.Spec.Template.Labels = labels
	require.NoError(s.t, json.Unmarshal([]byte(inPlaceOf(pod("obey"))), &spare.Spec.Template))
	spare.Spec.Template.Labels = labels
	p := &spare.Spec.Template.Spec
	p.PriorityClassName, p.TerminationGracePeriodSeconds, p.RestartPolicy = class.Name, new(int64(0)), corev1.RestartPolicyAlways
	require.NoError(s.t, s.Create(s.ctx, spare))
	var holder corev1.Pod
	s.until("the spare pod has the other place", func() bool {
		var list corev1.PodList
		require.NoError(s.t, s.List(s.ctx, &list, client.InNamespace(s.ns), client.MatchingLabels(labels)))
		for _, holder = range list.Items {
			if holder.Status.Phase == corev1.PodRunning {
				return true
			}
		}
		return false
	})
	require.Equal(s.t, "local", holder.Spec.NodeName)

	s.killOnNode("everything")
	s.await("takes", "it runs on the spare place", func(j *v1beta1.GenericJob) bool {
		return j.Status.CompletionTime != nil || j.Status.DisruptionCount == 1 && j.Status.Running == "1/1" && s.pods(j)["worker-0"].Spec.NodeName == "local"
	})
	s.awaitGone(&holder)
	recovery := s.await("takes", "its recovery is known", func(j *v1beta1.GenericJob) bool { return j.Status.Recovery != nil && j.Status.Recovery.Replaced != nil }).Status.Recovery
	require.Equal(s.t, v1beta1.TimeLostToNode, recovery.Cause)
	s.t.Logf("SPARE PLACE: told after %s, pods after %s", recovery.Detected.Sub(recovery.Began.Time), recovery.Replaced.Sub(recovery.Began.Time))
	require.NoError(s.t, s.Delete(s.ctx, spare))
	s.end(job, "worker", 0, 0)
	done := s.awaitPhase("takes", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, done.Status.DisruptionCount)
	require.Zero(s.t, done.Status.BackoffCount)
}
