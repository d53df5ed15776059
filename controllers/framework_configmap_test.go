package controllers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/tensorflow"
)

func TestALargeJobKeepsItsClusterInOneConfigMap(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := c.train("large", "replicaSpecs: [{type: worker, replicas: 65, template: POD}]")
	gj := c.awaitGenericJob(job)
	c.until("all pods", func() bool { return len(c.pods(gj)) == 65 })
	env := c.pods(gj)["worker-64"].Spec.Containers[0].Env
	require.Contains(t, env[1].Value, `{"cluster":$(TF_CONFIG_CLUSTER),"task":{"type":"worker","index":64}}`)
	ref := env[0].ValueFrom.ConfigMapKeyRef
	have := &corev1.ConfigMap{}
	read := func() error { return c.Get(c.ctx, client.ObjectKey{Namespace: c.ns, Name: ref.Name}, have) }
	require.NoError(t, read())
	require.Equal(t, 65, strings.Count(have.Data[ref.Key], "large-worker-"))
	require.True(t, metav1.IsControlledBy(have, job))
	require.NoError(t, c.Delete(c.ctx, have))
	c.until("it is made again", func() bool { return read() == nil })
	require.NoError(t, c.Delete(c.ctx, job))
	c.until("it goes with the job", func() bool { return apierrors.IsNotFound(read()) })
}

// A ConfigMap of somebody else's is not in the cache: no event tells when it is gone.
func TestAStrangersConfigMapBlocksTheJobUntilItGoes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.operate(operation{})
	job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "wide", Namespace: c.ns}}
	require.NoError(t, yaml.Unmarshal([]byte(strings.ReplaceAll("replicaSpecs: [{type: worker, replicas: 65, template: POD}]", "POD", onePodTF)), &job.Spec))
	program, err := tensorflow.Compile(job)
	require.NoError(t, err)
	theirs := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: framework.ConfigMapName("wide", program.Data), Namespace: c.ns}}
	require.NoError(t, c.Create(c.ctx, theirs))
	require.NoError(t, c.Create(c.ctx, job))
	require.Contains(t, c.awaitBlocked("wide", v1beta1.ReasonNameConflict).Message, "ConfigMap "+c.ns+"/"+theirs.Name+" exists already")
	require.NoError(t, c.Delete(c.ctx, theirs))
	c.awaitGenericJob(job)
}
