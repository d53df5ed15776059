package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// worst is what somebody would store, or do, to fill the operator's memory.
type worst struct {
	count int // of what is stored
	make  func(i int) client.Object
	// beside is what is stored beside an object, once that has a UID.
	beside func(client.Object) []client.Object
	// paths are where the apiserver has the objects, and those that the operator makes of them.
	paths []string
	// live begins what is done while the operator runs, and goes on until the context ends.
	live func(context.Context, *target) error
}

const (
	ofTensorStack = "/apis/batch.tensorstack.dev/v1beta1/namespaces/" + hostileNamespace + "/"
	ofKubeflow    = "/apis/kubeflow.org/v1/namespaces/" + hostileNamespace + "/"
)

// As many jobs as the ResourceQuota in the threat model lets a tenant have; each training job has a GenericJob.
const (
	quotaOfJobs          = 20
	quotaOfFrameworkJobs = 10
)

// largestJobs are, for each kind, the largest job that the apiserver stores, made of what grows most in memory and is still valid. Something
// of the 1.5 MiB is left to the status.
var largestJobs = []attack{
	{"weight-genericjob", []worst{{count: quotaOfJobs, make: func(i int) client.Object {
		job := &v1beta1.GenericJob{ObjectMeta: named(i)}
		job.Spec.SuccessRules, job.Spec.FailureRules = manyRanks(), manyRanks()
		job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Template: emptyWords("main", 1_150_000)}}
		return job
	}, paths: []string{ofTensorStack + "genericjobs"}}}},
	{"weight-tensorflow", []worst{{count: quotaOfFrameworkJobs, make: func(i int) client.Object {
		job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: named(i)}
		job.Spec.ReplicaSpecs = []v1beta1.TensorFlowReplicaSpec{{Type: v1beta1.TensorFlowWorker, Template: emptyWords("tensorflow", 1_350_000)}}
		return job
	}, paths: []string{ofTensorStack + "tensorflowtrainingjobs", ofTensorStack + "genericjobs"}}}},
	{"weight-pytorch", []worst{{count: quotaOfFrameworkJobs, make: func(i int) client.Object {
		job := &v1beta1.PyTorchTrainingJob{ObjectMeta: named(i)}
		job.Spec.ReplicaSpecs = []v1beta1.PyTorchReplicaSpec{{Type: "worker", Template: emptyWords("python", 1_350_000)}}
		return job
	}, paths: []string{ofTensorStack + "pytorchtrainingjobs", ofTensorStack + "genericjobs"}}}},
	{"weight-tfjob", []worst{{count: quotaOfFrameworkJobs, make: func(i int) client.Object {
		job := &kubeflow.TFJob{ObjectMeta: named(i)}
		job.Spec.TFReplicaSpecs = map[string]*kubeflow.ReplicaSpec{"Worker": {Template: emptyWords("tensorflow", 1_350_000)}}
		return job
	}, paths: []string{ofKubeflow + "tfjobs", ofTensorStack + "genericjobs"}}}},
	{"weight-pytorchjob", []worst{{count: quotaOfFrameworkJobs, make: func(i int) client.Object {
		job := &kubeflow.PyTorchJob{ObjectMeta: named(i)}
		job.Spec.PyTorchReplicaSpecs = map[string]*kubeflow.ReplicaSpec{"Master": {Template: emptyWords("pytorch", 1_350_000)}}
		return job
	}, paths: []string{ofKubeflow + "pytorchjobs", ofTensorStack + "genericjobs"}}}},
	{"weight-pod", []worst{{count: 40, make: func(i int) client.Object {
		pod := largePod(fmt.Sprint("large-", i), map[string]string{v1beta1.LabelJobUID: "somebody"}) // by which the operator finds its own
		if i%2 == 1 {
			pod.Spec.Containers[0].Env = nil
			pod.OwnerReferences = []metav1.OwnerReference{{
				APIVersion: v1beta1.GroupVersion.String(), Kind: v1beta1.KindGenericJob, Name: strings.Repeat("x", 1_350_000), UID: "somebody", Controller: ptr.To(true),
			}}
		}
		return pod
	}, paths: []string{"/api/v1/namespaces/" + podsNamespace + "/pods"}}}},
}

// largePod is a pod of 1.35 MB of environment.
func largePod(name string, labels map[string]string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: podsNamespace, Name: name, Labels: labels}, Spec: template.Spec}
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "i", Env: []corev1.EnvVar{{Name: "DATA", Value: strings.Repeat("x", 1_350_000)}}}}
	return pod
}

func named(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: hostileNamespace, Name: fmt.Sprintf("large-%d", i)}
}

// manyRanks are as many ranks as rules may name: two bytes each as JSON, 32 in memory.
func manyRanks() []v1beta1.FinishRule {
	rules := make([]v1beta1.FinishRule, 5)
	for i := range rules {
		rules[i] = v1beta1.FinishRule{"worker": make([]intstr.IntOrString, 10_000)}
	}
	return rules
}

// emptyWords is a template of so many bytes of JSON: three for each argument, which are 16 in memory.
func emptyWords(container string, bytes int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: container, Image: "i", Args: make([]string, bytes/len(`"",`))}},
	}}
}

// manyReplicas are small jobs that ask for as much as a job may.
func manyReplicas(i int) client.Object {
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: hostileNamespace, Name: fmt.Sprint("replicas-", i)}}
	for t := range 16 {
		job.Spec.ReplicaSpecs = append(job.Spec.ReplicaSpecs, v1beta1.ReplicaSpec{Type: fmt.Sprint("t", t), Replicas: ptr.To[int32](1250), Template: template})
	}
	return job
}
