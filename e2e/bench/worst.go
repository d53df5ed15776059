package main

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	batch "github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

// worst is what a tenant would store to fill the operator's memory.
type worst struct {
	make func(i int) client.Object
	// paths are where the apiserver has the objects, and those that the operator makes of them.
	paths []string
}

const (
	ofBatch    = "/apis/batch.tensorstack.dev/v1beta1/namespaces/" + hostileNamespace + "/"
	ofKubeflow = "/apis/kubeflow.org/v1/namespaces/" + hostileNamespace + "/"
)

// worstObjects are, for each row, the largest object of a kind that the apiserver stores, made of what grows most in memory and
// is still valid, or what asks most of a pass. Something of the 1.5 MiB is left to the status.
var worstObjects = map[string]worst{
	"weight-genericjob": {func(i int) client.Object {
		job := &batch.GenericJob{ObjectMeta: named(i)}
		job.Spec.SuccessRules, job.Spec.FailureRules = manyRanks(), manyRanks()
		job.Spec.ReplicaSpecs = []batch.ReplicaSpec{{Type: "worker", Template: emptyWords("main", 1_150_000)}}
		return job
	}, []string{ofBatch + "genericjobs"}},
	"weight-tensorflow": {func(i int) client.Object {
		job := &batch.TensorFlowTrainingJob{ObjectMeta: named(i)}
		job.Spec.ReplicaSpecs = []batch.TensorFlowReplicaSpec{{Type: batch.TensorFlowWorker, Template: emptyWords("tensorflow", 1_350_000)}}
		return job
	}, []string{ofBatch + "tensorflowtrainingjobs", ofBatch + "genericjobs"}},
	"weight-pytorch": {func(i int) client.Object {
		job := &batch.PyTorchTrainingJob{ObjectMeta: named(i)}
		job.Spec.ReplicaSpecs = []batch.PyTorchReplicaSpec{{Type: "worker", Template: emptyWords("python", 1_350_000)}}
		return job
	}, []string{ofBatch + "pytorchtrainingjobs", ofBatch + "genericjobs"}},
	"weight-tfjob": {func(i int) client.Object {
		job := &kubeflow.TFJob{ObjectMeta: named(i)}
		job.Spec.TFReplicaSpecs = map[string]*kubeflow.ReplicaSpec{"Worker": {Template: emptyWords("tensorflow", 1_350_000)}}
		return job
	}, []string{ofKubeflow + "tfjobs", ofBatch + "genericjobs"}},
	"weight-pytorchjob": {func(i int) client.Object {
		job := &kubeflow.PyTorchJob{ObjectMeta: named(i)}
		job.Spec.PyTorchReplicaSpecs = map[string]*kubeflow.ReplicaSpec{"Master": {Template: emptyWords("pytorch", 1_350_000)}}
		return job
	}, []string{ofKubeflow + "pytorchjobs", ofBatch + "genericjobs"}},
	// Small ones that ask for much.
	"weight-replicas": {func(i int) client.Object {
		job := &batch.GenericJob{ObjectMeta: named(i)}
		for t := range 16 {
			job.Spec.ReplicaSpecs = append(job.Spec.ReplicaSpecs, batch.ReplicaSpec{Type: fmt.Sprint("t", t), Replicas: ptr.To[int32](1250), Template: template})
		}
		return job
	}, []string{ofBatch + "genericjobs"}},
	"weight-services": {func(i int) client.Object {
		if i == 0 {
			return &batch.GenericJob{ObjectMeta: named(0), Spec: batch.GenericJobSpec{ReplicaSpecs: []batch.ReplicaSpec{{Type: "worker", Template: template}}}}
		}
		return largeService(i)
	}, []string{"/api/v1/namespaces/" + hostileNamespace + "/services"}},
	"weight-pod": {func(i int) client.Object {
		pod := &corev1.Pod{ObjectMeta: named(i), Spec: template.Spec}
		pod.Labels = map[string]string{batch.LabelJobUID: "somebody"} // by which the operator finds its own
		pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "i", Env: []corev1.EnvVar{{Name: "DATA", Value: strings.Repeat("x", 1_350_000)}}}}
		return pod
	}, []string{"/api/v1/namespaces/" + hostileNamespace + "/pods"}},
}

// manyObjects is of how many objects a row is, where that is not 40.
var manyObjects = map[string]int{"weight-services": 101}

// largeService is a Service of a megabyte of labels that names the first job as its controller.
func largeService(i int) client.Object {
	service := &corev1.Service{ObjectMeta: named(i), Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}
	service.Labels = map[string]string{batch.LabelJobUID: "somebody"} // by which the operator finds its own
	for n := range 3000 {
		service.Labels[fmt.Sprintf("%s.example/%d", strings.Repeat("x", 240), n)] = strings.Repeat("y", 63)
	}
	service.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: batch.GroupVersion.String(), Kind: batch.KindGenericJob, Name: named(0).Name, UID: "somebody", Controller: ptr.To(true),
	}}
	return service
}

func named(i int) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: hostileNamespace, Name: fmt.Sprintf("large-%d", i)}
}

// manyRanks are as many ranks as rules may name: two bytes each as JSON, 32 in memory.
func manyRanks() []batch.FinishRule {
	rules := make([]batch.FinishRule, 5)
	for i := range rules {
		rules[i] = batch.FinishRule{"worker": make([]intstr.IntOrString, 10_000)}
	}
	return rules
}

// emptyWords is a template of so many bytes of JSON: three for each argument, which are 16 in memory.
func emptyWords(container string, bytes int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: container, Image: "i", Args: make([]string, bytes/len(`"",`))}},
	}}
}
