package v1_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// edits are edits of a job that has started, or has not. "" wants it accepted.
var edits = map[string]struct {
	kind, before, after string
	waiting             bool // it has not started
	unstarted           bool // it has pods, and their code has not started
	want                string
}{
	"B13 TF template":                             {kind: "TFJob", before: workerTF, after: "tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: b}]}}}}", want: "set spec.runPolicy.suspend to true, then edit"},
	"B13 PT template":                             {kind: "PyTorchJob", before: "pytorchReplicaSpecs: {Worker: {PT}}", after: "pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: pytorch, image: b}]}}}}", want: "set spec.runPolicy.suspend to true, then edit"},
	"before it starts":                            {kind: "TFJob", waiting: true, before: workerTF, after: "tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: b}]}}}}"},
	"while suspended":                             {kind: "TFJob", before: workerTF + ", runPolicy: {suspend: true}", after: "tfReplicaSpecs: {Worker: {template: {spec: {nodeSelector: {a: b}, containers: [{name: tensorflow, image: b}]}}}}, runPolicy: {suspend: false}"},
	"suspended by it":                             {kind: "PyTorchJob", before: workerPT, after: "pytorchReplicaSpecs: {Worker: {replicas: 2, template: {spec: {nodeSelector: {a: b}, containers: [{name: pytorch, image: b}]}}}}, runPolicy: {suspend: true}"},
	"TF restart policy":                           {kind: "TFJob", before: workerTF, after: "tfReplicaSpecs: {Worker: {restartPolicy: Always, TF}}", want: "immutable unless the job is suspended"},
	"TF the same in words":                        {kind: "TFJob", before: workerTF, after: "tfReplicaSpecs: {Worker: {replicas: 1, restartPolicy: Never, TF}}"},
	"TF another type":                             {kind: "TFJob", before: workerTF, after: "tfReplicaSpecs: {Worker: {TF}, PS: {TF}}", want: "immutable unless the job is suspended"},
	"TF scale":                                    {kind: "TFJob", before: workerTF, after: "tfReplicaSpecs: {Worker: {replicas: 2, TF}}", want: "immutable unless the job is suspended"},
	"TF dynamic workers":                          {kind: "TFJob", before: workerTF + ", enableDynamicWorker: true", after: "tfReplicaSpecs: {Worker: {replicas: 2, TF}}, enableDynamicWorker: true"},
	"TF dynamic servers":                          {kind: "TFJob", before: "tfReplicaSpecs: {PS: {TF}}, enableDynamicWorker: true", after: "tfReplicaSpecs: {PS: {replicas: 2, TF}}, enableDynamicWorker: true", want: "immutable unless the job is suspended"},
	"PT scale":                                    {kind: "PyTorchJob", before: workerPT, after: "pytorchReplicaSpecs: {Worker: {replicas: 3, PT}}", want: "immutable unless the job is suspended"},
	"PT elastic":                                  {kind: "PyTorchJob", before: workerPT + ", elasticPolicy: {minReplicas: 1, maxReplicas: 3}", after: "pytorchReplicaSpecs: {Worker: {replicas: 3, PT}}, elasticPolicy: {minReplicas: 1, maxReplicas: 3}"},
	"PT elastic too many":                         {kind: "PyTorchJob", before: workerPT + ", elasticPolicy: {minReplicas: 1, maxReplicas: 3}", after: "pytorchReplicaSpecs: {Worker: {replicas: 4, PT}}, elasticPolicy: {minReplicas: 1, maxReplicas: 3}", want: "from elasticPolicy.minReplicas to elasticPolicy.maxReplicas"},
	"B9 TF managedBy":                             {kind: "TFJob", waiting: true, before: workerTF + ", runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", after: workerTF + ", runPolicy: {managedBy: kubeflow.org/training-operator}", want: "managedBy is immutable"},
	"B9 TF managedBy removed":                     {kind: "TFJob", waiting: true, before: workerTF + ", runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", after: workerTF, want: "managedBy is immutable"},
	"B9 PT managedBy":                             {kind: "PyTorchJob", waiting: true, before: workerPT, after: workerPT + ", runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", want: "managedBy is immutable"},
	"managedBy the default":                       {kind: "PyTorchJob", before: workerPT, after: workerPT + ", runPolicy: {managedBy: kubeflow.org/training-operator}"},
	"queue":                                       {kind: "TFJob", before: workerTF + ", runPolicy: {schedulingPolicy: {queue: a}}", after: workerTF + ", runPolicy: {schedulingPolicy: {queue: b}}", want: "queue is immutable"},
	"suspend and resume":                          {kind: "TFJob", before: workerTF + ", runPolicy: {suspend: true, ttlSecondsAfterFinished: 1}", after: workerTF + ", runPolicy: {suspend: false, ttlSecondsAfterFinished: 2}"},
	"XG template":                                 {kind: "XGBoostJob", before: "xgbReplicaSpecs: {Master: {XG}}", after: "xgbReplicaSpecs: {Master: {template: {spec: {containers: [{name: xgboost, image: b}]}}}}", want: "set spec.runPolicy.suspend to true, then edit"},
	"XG suspended by it":                          {kind: "XGBoostJob", before: "xgbReplicaSpecs: {Master: {XG}}", after: "xgbReplicaSpecs: {Master: {template: {spec: {containers: [{name: xgboost, image: b}]}}}}, runPolicy: {suspend: true}"},
	"XG restart policy":                           {kind: "XGBoostJob", before: "xgbReplicaSpecs: {Master: {XG}}", after: "xgbReplicaSpecs: {Master: {restartPolicy: Always, XG}}", want: "immutable unless the job is suspended"},
	"XG the same in words":                        {kind: "XGBoostJob", before: "xgbReplicaSpecs: {Master: {XG}}", after: "xgbReplicaSpecs: {Master: {replicas: 1, restartPolicy: Never, XG}}"},
	"XG managedBy":                                {kind: "XGBoostJob", waiting: true, before: "xgbReplicaSpecs: {Master: {XG}}", after: "xgbReplicaSpecs: {Master: {XG}}, runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", want: "managedBy is immutable"},
	"PD template":                                 {kind: "PaddleJob", before: "paddleReplicaSpecs: {Worker: {PD}}", after: "paddleReplicaSpecs: {Worker: {template: {spec: {containers: [{name: paddle, image: b}]}}}}", want: "set spec.runPolicy.suspend to true, then edit"},
	"PD suspended by it":                          {kind: "PaddleJob", before: "paddleReplicaSpecs: {Worker: {PD}}", after: "paddleReplicaSpecs: {Worker: {template: {spec: {containers: [{name: paddle, image: b}]}}}}, runPolicy: {suspend: true}"},
	"PD restart policy":                           {kind: "PaddleJob", before: "paddleReplicaSpecs: {Worker: {PD}}", after: "paddleReplicaSpecs: {Worker: {restartPolicy: Always, PD}}", want: "immutable unless the job is suspended"},
	"PD the same in words":                        {kind: "PaddleJob", before: "paddleReplicaSpecs: {Worker: {PD}}", after: "paddleReplicaSpecs: {Worker: {replicas: 1, restartPolicy: OnFailure, PD}}"},
	"PD managedBy":                                {kind: "PaddleJob", waiting: true, before: "paddleReplicaSpecs: {Worker: {PD}}", after: "paddleReplicaSpecs: {Worker: {PD}}, runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", want: "managedBy is immutable"},
	"JX template":                                 {kind: "JAXJob", before: "jaxReplicaSpecs: {Worker: {JX}}", after: "jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax, image: b}]}}}}", want: "set spec.runPolicy.suspend to true, then edit"},
	"JX suspended by it":                          {kind: "JAXJob", before: "jaxReplicaSpecs: {Worker: {JX}}", after: "jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax, image: b}]}}}}, runPolicy: {suspend: true}"},
	"JX restart policy":                           {kind: "JAXJob", before: "jaxReplicaSpecs: {Worker: {JX}}", after: "jaxReplicaSpecs: {Worker: {restartPolicy: Always, JX}}", want: "immutable unless the job is suspended"},
	"JX the same in words":                        {kind: "JAXJob", before: "jaxReplicaSpecs: {Worker: {JX}}", after: "jaxReplicaSpecs: {Worker: {replicas: 1, restartPolicy: Never, JX}}"},
	"JX managedBy":                                {kind: "JAXJob", waiting: true, before: "jaxReplicaSpecs: {Worker: {JX}}", after: "jaxReplicaSpecs: {Worker: {JX}}, runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", want: "managedBy is immutable"},
	"MP template":                                 {kind: "MPIJob", before: "mpiReplicaSpecs: {Launcher: {MP}}", after: "mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: any, image: b}]}}}}", want: "set spec.runPolicy.suspend to true, then edit"},
	"MP suspended by it":                          {kind: "MPIJob", before: "mpiReplicaSpecs: {Launcher: {MP}}", after: "mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: any, image: b}]}}}}, runPolicy: {suspend: true}"},
	"MP restart policy":                           {kind: "MPIJob", before: "mpiReplicaSpecs: {Launcher: {MP}}", after: "mpiReplicaSpecs: {Launcher: {restartPolicy: Always, MP}}", want: "immutable unless the job is suspended"},
	"MP managedBy":                                {kind: "MPIJob", waiting: true, before: "mpiReplicaSpecs: {Launcher: {MP}}", after: "mpiReplicaSpecs: {Launcher: {MP}}, runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", want: "managedBy is immutable"},
	"PD scale":                                    {kind: "PaddleJob", before: "paddleReplicaSpecs: {Worker: {PD}}", after: "paddleReplicaSpecs: {Worker: {replicas: 2, PD}}", want: "immutable unless the job is suspended"},
	"PD elastic":                                  {kind: "PaddleJob", before: "paddleReplicaSpecs: {Worker: {PD}}, elasticPolicy: {minReplicas: 1, maxReplicas: 3}", after: "paddleReplicaSpecs: {Worker: {replicas: 3, PD}}, elasticPolicy: {minReplicas: 1, maxReplicas: 3}"},
	"TF before its code has started":              {kind: "TFJob", unstarted: true, before: "tfReplicaSpecs: {Worker: {TF}}", after: "tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow, image: b}]}}}}"},
	"PT before its code has started":              {kind: "PyTorchJob", unstarted: true, before: "pytorchReplicaSpecs: {Worker: {PT}}", after: "pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: pytorch, image: b}]}}}}"},
	"XG before its code has started":              {kind: "XGBoostJob", unstarted: true, before: "xgbReplicaSpecs: {Master: {XG}}", after: "xgbReplicaSpecs: {Master: {template: {spec: {containers: [{name: xgboost, image: b}]}}}}"},
	"PD before its code has started":              {kind: "PaddleJob", unstarted: true, before: "paddleReplicaSpecs: {Worker: {PD}}", after: "paddleReplicaSpecs: {Worker: {template: {spec: {containers: [{name: paddle, image: b}]}}}}"},
	"JX before its code has started":              {kind: "JAXJob", unstarted: true, before: "jaxReplicaSpecs: {Worker: {JX}}", after: "jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax, image: b}]}}}}"},
	"MP before its code has started":              {kind: "MPIJob", unstarted: true, before: "mpiReplicaSpecs: {Launcher: {MP}}", after: "mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: any, image: b}]}}}}"},
	"TF replicas before its code has started":     {kind: "TFJob", unstarted: true, before: workerTF, after: "tfReplicaSpecs: {Worker: {replicas: 2, TF}}", want: "immutable unless the job is suspended"},
	"TF another type before its code has started": {kind: "TFJob", unstarted: true, before: workerTF, after: "tfReplicaSpecs: {Worker: {TF}, PS: {TF}}", want: "immutable unless the job is suspended"},
}

func TestEdits(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for name, e := range edits {
		t.Run(name, func(t *testing.T) {
			job := started(t, c, ns, e.kind, e.before, !e.waiting)
			if e.unstarted {
				require.NoError(t, unstructured.SetNestedField(job.Object, "0123456789abcdef", "status", "unstartedSpec"))
				require.NoError(t, c.Status().Update(t.Context(), job))
			}
			job.Object["spec"] = object(t, versionsOf(e.kind)[0], e.kind, "job", e.after).Object["spec"]
			err := c.Update(t.Context(), job)
			if e.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, e.want)
		})
	}
}

// started makes a job and, if asked, has it started.
func started(t *testing.T, c client.Client, ns, kind, spec string, start bool) *unstructured.Unstructured {
	t.Helper()
	job := object(t, versionsOf(kind)[0], kind, "", spec)
	job.SetNamespace(ns)
	job.SetGenerateName("job-")
	require.NoError(t, c.Create(t.Context(), job))
	if start {
		job.Object["status"] = map[string]any{
			"startTime":       "2026-01-01T00:00:00Z",
			"replicaStatuses": map[string]any{"Worker": map[string]any{"active": int64(2), "selector": "a=b"}},
		}
		require.NoError(t, c.Status().Update(t.Context(), job))
	}
	return job
}

func TestScale(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	scale := func(job *unstructured.Unstructured, n int64) error {
		s := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": n}}}
		s.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
		s.SetName(job.GetName())
		s.SetNamespace(ns)
		return c.SubResource("scale").Update(t.Context(), job, client.WithSubResourceBody(s))
	}
	elastic := started(t, c, ns, "PyTorchJob", workerPT+", elasticPolicy: {minReplicas: 1, maxReplicas: 3}", true)
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(autoscalingv1.SchemeGroupVersion.WithKind("Scale"))
	require.NoError(t, c.SubResource("scale").Get(t.Context(), elastic, have))
	require.Equal(t, map[string]any{"replicas": int64(2)}, have.Object["spec"])
	require.Equal(t, map[string]any{"replicas": int64(2), "selector": "a=b"}, have.Object["status"])
	require.NoError(t, scale(elastic, 3))

	// B8: a scale to 0 made the job "succeed".
	require.ErrorContains(t, scale(elastic, 0), "replicas must be 1 or more: to stop a job set spec.runPolicy.suspend")
	plain := started(t, c, ns, "PyTorchJob", pairPT, true)
	require.ErrorContains(t, scale(plain, 3), "immutable unless the job is suspended")
}

// An object keeps what its author wrote, in whatever version he wrote it, and is read in the other.
func TestVersionsAreOneKind(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	const spec = workerTF + ", backoffLimit: 3, cleanPodPolicy: All, activeDeadlineSeconds: 9, ttlSecondsAfterFinished: 7"
	older := object(t, "v1beta2", "TFJob", "job", spec)
	older.SetNamespace(ns)
	require.NoError(t, c.Create(t.Context(), older))
	require.Equal(t, object(t, "v1", "TFJob", "job", spec).Object["spec"], older.Object["spec"], "nothing is defaulted in storage")
	newer := &kubeflow.TFJob{}
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(older), newer))
	require.EqualValues(t, 3, *newer.Spec.BackoffLimit)
	require.Equal(t, kubeflow.CleanPodsAll, newer.Spec.CleanPodPolicy)
	require.Equal(t, "tensorflow", newer.Spec.TFReplicaSpecs["Worker"].Template.Spec.Containers[0].Name)
	newer.Status.Conditions = []kubeflow.JobCondition{{Type: kubeflow.JobCreated, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
	require.NoError(t, c.Status().Update(t.Context(), newer))
	require.NoError(t, c.Get(t.Context(), client.ObjectKeyFromObject(older), older))
	require.Equal(t, "kubeflow.org/v1beta2", older.GetAPIVersion())
	conditions, _, err := unstructured.NestedSlice(older.Object, "status", "conditions")
	require.NoError(t, err)
	require.Len(t, conditions, 1)
}
