package controllers_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestConformance runs every GenericJob that users of TensorStack's platform have published, to success and to failure.
func TestConformance(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("GENERICJOB_CONFORMANCE")
	if folder == "" {
		t.Skip("GENERICJOB_CONFORMANCE does not name the folder of third-party manifests (its sub-folder t9k is read)")
	}
	files, err := filepath.Glob(filepath.Join(folder, "t9k", "*.yaml"))
	require.NoError(t, err)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for i, document := range strings.Split(string(text), "\n---\n") {
			manifest := &unstructured.Unstructured{}
			if yaml.Unmarshal([]byte(document), &manifest.Object) != nil || manifest.GetKind() != v1beta1.KindGenericJob {
				continue
			}
			found++
			for _, succeed := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s-%d/succeed=%t", filepath.Base(file), i, succeed), func(t *testing.T) {
					t.Parallel()
					runManifest(t, manifest.DeepCopy(), succeed)
				})
			}
		}
	}
	require.NotZero(t, found)
}

func runManifest(t *testing.T, manifest *unstructured.Unstructured, succeed bool) {
	c := newCluster(t)
	if _, gang, _ := unstructured.NestedMap(manifest.Object, "spec", "scheduler"); gang {
		c.installPodGroups()
	}
	c.operate(operation{})
	manifest.SetNamespace(c.ns)
	require.NoError(t, c.Create(c.ctx, manifest))
	job := c.awaitPhase(manifest.GetName(), v1beta1.JobRunning)
	c.requireShape(job)
	c.requireService(job)
	c.requireGang(job)
	if succeed {
		c.endAll(job, job.Spec.SuccessRules[0], 0)
		job = c.awaitPhase(job.Name, v1beta1.JobSucceeded)
	} else {
		rule := job.Spec.FailureRules[len(job.Spec.FailureRules)-1]
		limit := int32(0)
		if p := job.Spec.ReplicaSpecs[0].RestartPolicy; p != nil {
			limit = ptr.Deref(p.Limit, 0)
		}
		c.until("the last failure is soon", func() bool {
			// Nobody waits for a hundred restarts: the ledger says that all but the last have been made.
			have := c.job(job.Name)
			have.Status.Ledger = nil
			for replicaType, ranks := range rule {
				l := v1beta1.TaskLedger{Type: replicaType}
				for _, rank := range ranks {
					l.Replicas = append(l.Replicas, v1beta1.RankRecord{Rank: int32(rank.IntValue()), Restarts: limit})
				}
				have.Status.Ledger = append(have.Status.Ledger, l)
			}
			return c.Status().Update(c.ctx, have) == nil
		})
		c.endAll(job, rule, 1)
		job = c.awaitPhase(job.Name, v1beta1.JobFailed)
		require.Equal(t, v1beta1.ReasonFailed, condition(job, v1beta1.ConditionFailed).Reason)
	}
	c.requireCleanUp(job)
}

// endAll ends all replicas that a rule names.
func (c *cluster) endAll(job *v1beta1.GenericJob, rule v1beta1.FinishRule, code int32) {
	c.t.Helper()
	for replicaType, ranks := range rule {
		for _, rank := range ranks {
			c.finish(job, replicaType+"-"+rank.String(), code)
		}
	}
}

// requireShape compares each pod with the template, whose variables it expands in its own simple way.
func (c *cluster) requireShape(job *v1beta1.GenericJob) {
	c.t.Helper()
	pods, total := c.pods(job), 0
	for _, r := range job.Spec.ReplicaSpecs {
		total += int(ptr.Deref(r.Replicas, 1))
		for rank := range int(ptr.Deref(r.Replicas, 1)) {
			short := fmt.Sprintf("%s-%d", r.Type, rank)
			pod := pods[short]
			require.Regexp(c.t, "^"+job.Name+"-[0-9a-f]{5}-"+short+"$", pod.Name)
			require.Equal(c.t, job.Name+"-"+short, pod.Spec.Hostname)
			require.Equal(c.t, corev1.RestartPolicyNever, pod.Spec.RestartPolicy)
			require.True(c.t, metav1.IsControlledBy(&pod, job))
			for key, want := range map[string]string{
				"replica-type": r.Type, "replica-index": fmt.Sprint(rank), "genericjob": job.Name,
				"tensorstack.dev/owner-kind": "GenericJob", "tensorstack.dev/owner-name": job.Name,
				"batch.tensorstack.dev/job-name": job.Name, "batch.tensorstack.dev/replica-rank": fmt.Sprint(rank),
			} {
				require.Equal(c.t, want, pod.Labels[key], key)
			}
			for i, container := range r.Template.Spec.Containers {
				have := pod.Spec.Containers[i]
				require.Equal(c.t, container.Image, have.Image)
				require.Equal(c.t, container.Command, have.Command)
				require.Equal(c.t, container.Args, have.Args)
				for j, env := range container.Env {
					require.Equal(c.t, byHand(job, r.Type, rank, env.Value), have.Env[j].Value)
					if env.Name == "TF_CONFIG" {
						require.True(c.t, json.Valid([]byte(have.Env[j].Value)), have.Env[j].Value)
					}
				}
			}
		}
	}
	require.Len(c.t, pods, total)
}

func byHand(job *v1beta1.GenericJob, replicaType string, rank int, text string) string {
	pairs := []string{"$(type)", replicaType, "$(rank)", fmt.Sprint(rank)}
	for _, r := range job.Spec.ReplicaSpecs {
		n := int(ptr.Deref(r.Replicas, 1))
		pairs = append(pairs, "$(replicas["+r.Type+"])", fmt.Sprint(n))
		for i := range n {
			pairs = append(pairs, fmt.Sprintf("$(service.%s[%d].host)", r.Type, i), fmt.Sprintf("%s-%s-%d.%s.%s.svc.cluster.local", job.Name, r.Type, i, job.Name, job.Namespace))
		}
	}
	if job.Spec.Service != nil {
		for _, p := range job.Spec.Service.Ports {
			pairs = append(pairs, "$(service.port["+p.Name+"])", fmt.Sprint(p.Port))
		}
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func (c *cluster) requireService(job *v1beta1.GenericJob) {
	c.t.Helper()
	services := &corev1.ServiceList{}
	require.NoError(c.t, c.List(c.ctx, services))
	mine := 0
	for _, s := range services.Items {
		if !metav1.IsControlledBy(&s, job) {
			continue
		}
		mine++
		require.Equal(c.t, job.Name, s.Name)
		require.Equal(c.t, corev1.ClusterIPNone, s.Spec.ClusterIP)
		require.True(c.t, s.Spec.PublishNotReadyAddresses)
		require.Len(c.t, s.Spec.Ports, len(job.Spec.Service.Ports))
		for _, pod := range c.pods(job) {
			require.Equal(c.t, job.Name, pod.Spec.Subdomain)
			require.Contains(c.t, pod.Spec.DNSConfig.Searches, job.Name+"."+c.ns+".svc.cluster.local")
			for key, value := range s.Spec.Selector {
				require.Equal(c.t, value, pod.Labels[key])
			}
		}
	}
	if job.Spec.Service == nil {
		require.Zero(c.t, mine)
	} else {
		require.Equal(c.t, 1, mine)
	}
}

func (c *cluster) requireGang(job *v1beta1.GenericJob) {
	c.t.Helper()
	if job.Spec.Scheduler == nil {
		return
	}
	group, err := c.podGroup(job.Name)
	require.NoError(c.t, err)
	spec := group.Object["spec"].(map[string]any)
	require.EqualValues(c.t, len(c.pods(job)), spec["minMember"])
	require.Equal(c.t, job.Spec.Scheduler.T9kScheduler.Queue, spec["queue"])
	require.EqualValues(c.t, job.Spec.Scheduler.T9kScheduler.Priority, spec["priority"])
}

func (c *cluster) requireCleanUp(job *v1beta1.GenericJob) {
	c.t.Helper()
	left := len(c.names(job))
	switch job.Spec.CleanUpPolicy {
	case v1beta1.CleanUpAll:
		left = 0
	case v1beta1.CleanUpUnfinished:
		left = int(job.Status.Aggregate.Succeeded + job.Status.Aggregate.Failed)
	default:
	}
	c.until("clean", func() bool { return len(c.pods(job)) == left && free(c, job) })
}
