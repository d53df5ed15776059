package controllers_test

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
)

// keys is the Secret that an MPIJob's pods mount.
func (c *cluster) keys(job *v2beta1.MPIJob) *corev1.Secret {
	c.t.Helper()
	names := map[string]bool{}
	for _, pod := range c.pods(c.job(job.Name)) {
		for _, volume := range pod.Spec.Volumes {
			if volume.Name == "ssh-auth" {
				names[volume.Secret.SecretName] = true
			}
		}
	}
	name := job.Name + "-ssh-" + string(job.UID)
	require.Equal(c.t, map[string]bool{name: true}, names)
	secret := &corev1.Secret{}
	require.NoError(c.t, c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: name}, secret))
	return secret
}

// The operator makes keys and cannot read them: the name tells whose they are.
func TestEachMPIJobHasKeysOfItsOwn(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.mpi("job", "")
	first := c.mpiJob("job")
	made := c.keys(first)
	require.True(t, *made.Immutable)
	require.True(t, metav1.IsControlledBy(made, first), "it goes with the job")
	require.Equal(t, corev1.SecretTypeSSHAuth, made.Type)
	block, _ := pem.Decode(made.Data["ssh-privatekey"])
	require.NotNil(t, block)
	private, err := x509.ParseECPrivateKey(block.Bytes)
	require.NoError(t, err)
	words := strings.Fields(string(made.Data["ssh-publickey"]))
	require.Len(t, words, 2)
	require.Equal(t, "ecdsa-sha2-nistp521", words[0])
	blob, err := base64.StdEncoding.DecodeString(words[1])
	require.NoError(t, err)
	point, err := private.PublicKey.Bytes()
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00\x13ecdsa-sha2-nistp521\x00\x00\x00\x08nistp521\x00\x00\x00\x85"+string(point), string(blob))
	require.NotContains(t, first.Status.Conditions[0].Message, "mpi-ssh", "nobody has to make them")

	c.mpi("other", "")
	require.NotEqual(t, made.Data, c.keys(c.mpiJob("other")).Data)
}

// suspendAndResume suspends an MPIJob, and waits until it runs again.
func (c *cluster) suspendAndResume(name string) {
	c.t.Helper()
	for _, suspend := range []bool{true, false} {
		c.until("the edit", func() bool {
			job := c.mpiJob(name)
			job.Spec.RunPolicy.Suspend = &suspend
			return c.Update(c.ctx, job) == nil
		})
		if suspend {
			c.awaitMPI(name, kubeflowv1.JobSuspended)
		}
	}
	c.awaitMPI(name, kubeflowv1.JobRunning)
}

// Keys that somebody has deleted are made again when the job is resumed.
func TestAResumedMPIJobHasItsKeys(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.mpi("job", "")
	require.NoError(t, c.Delete(c.ctx, c.keys(c.mpiJob("job"))))
	c.suspendAndResume("job")
	require.NotEmpty(t, c.keys(c.mpiJob("job")).Data)
}

// A quota refuses a Secret before anybody sees that it exists.
func TestAFullQuotaKeepsNoMPIJobFromBeingSuspendedAndResumed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	c.mpi("job", "")
	c.keys(c.mpiJob("job"))
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "full", Namespace: c.ns}}
	quota.Spec.Hard = corev1.ResourceList{corev1.ResourceSecrets: resource.MustParse("1")}
	require.NoError(t, c.Create(c.ctx, quota))
	quota.Status.Hard, quota.Status.Used = quota.Spec.Hard, quota.Spec.Hard // no controller counts here
	require.NoError(t, c.Status().Update(c.ctx, quota))
	c.until("the quota is full", func() bool {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{GenerateName: "more", Namespace: c.ns}}
		return apierrors.IsForbidden(c.Create(c.ctx, s, client.DryRunAll))
	})
	c.suspendAndResume("job")
}

// An operator without the right says what it may not do, and makes no pod that would wait for ever.
func TestAnOperatorThatMayNotMakeKeysSaysSo(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{tenant: c.tenant()})
	job := &v2beta1.MPIJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: c.ns}}
	require.NoError(t, yaml.UnmarshalStrict([]byte("{mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: any, image: busybox}]}}}}}"), &job.Spec))
	require.NoError(t, c.Create(c.ctx, job))
	_, last := c.awaitMPI("job", kubeflowv1.JobBlocked)
	require.Contains(t, last.Message, `cannot create resource "secrets"`)
	pods := &corev1.PodList{}
	require.NoError(t, c.List(c.ctx, pods, client.InNamespace(c.ns)))
	require.Empty(t, pods.Items)
}
