package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/tensorboard"
)

// attack is a row, and what it is made of.
type attack struct {
	name  string
	parts []worst
}

func (a attack) objects() (n int) {
	for _, of := range a.parts {
		n += of.count
	}
	return n
}

// mostMemory is how many MiB above its footprint an operator may need while it is attacked.
const mostMemory = 400

// attacks are all, those that ask for much of what is small first.
func attacks() []attack {
	list := []attack{
		{"weight-ports", []worst{{live: flood}}},
		{"weight-replicas", []worst{{count: 40, make: manyReplicas, paths: []string{ofTensorStack + "genericjobs"}}}},
		{"weight-boards", []worst{{count: 20, make: boardJob, beside: podsOfBoard, paths: []string{
			"/apis/batch.tensorstack.dev/v1beta1/namespaces/" + podsNamespace + "/tensorflowtrainingjobs",
		}}}},
		{"weight-gangs", []worst{{count: 10, make: gangJob, beside: groupsOfGang}}},
		{"weight-silent", []worst{{live: fallSilent}}},
		{"weight-services", []worst{{count: 1, make: jobOfServices, beside: largeServices, paths: []string{"/api/v1/namespaces/" + hostileNamespace + "/services"}}}},
	}
	mix := attack{name: "weight-mix"}
	for _, a := range list {
		mix.parts = append(mix.parts, a.parts...)
	}
	return append(append(list, mix), largestJobs...)
}

// partsOf are those of the attack of a name.
func partsOf(name string) []worst {
	all := attacks()
	return all[slices.IndexFunc(all, func(a attack) bool { return a.name == name })].parts
}

// boardJob is a job with a TensorBoard, which never serves here.
func boardJob(i int) client.Object {
	job := tensorFlowJob.make(fmt.Sprint("board-", i), 1).(*v1beta1.TensorFlowTrainingJob)
	job.Namespace = podsNamespace
	job.Spec.TensorBoardSpec = &v1beta1.TensorBoardSpec{TrainingLogFilesets: []string{"t9k://pvc/logs/run"}}
	return job
}

// podsOfBoard are large pods with the labels of a job's TensorBoard, by which the operator looks for what keeps that from serving.
func podsOfBoard(job client.Object) (pods []client.Object) {
	for i := range 10 {
		pods = append(pods, largePod(fmt.Sprintf("%s-%d", job.GetName(), i), tensorboard.Labels(job)))
	}
	return pods
}

// gangJob is a job of Kubernetes' own gang scheduling, whose PodGroups each reconcile lists.
func gangJob(i int) client.Object {
	job := newJob(fmt.Sprint("gang-", i), 1)
	job.Namespace = hostileNamespace
	job.Spec.Scheduler = &v1beta1.SchedulePolicy{Kubernetes: &v1beta1.KubernetesScheduler{}}
	return job
}

// groupsOfGang are large PodGroups that name the job as their controller, as many as the operator reads of a job.
func groupsOfGang(job client.Object) (groups []client.Object) {
	for i := range 20 {
		group := &unstructured.Unstructured{Object: map[string]any{
			"spec": map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(1)}}},
		}}
		group.SetAPIVersion("scheduling.k8s.io/v1beta1")
		group.SetKind("PodGroup")
		group.SetNamespace(job.GetNamespace())
		group.SetName(fmt.Sprintf("%s-large-%d", job.GetName(), i))
		group.SetLabels(ofJob(job))
		group.SetOwnerReferences(largeOwners(job))
		groups = append(groups, group)
	}
	return groups
}

func jobOfServices(int) client.Object {
	job := newJob("services", 1)
	job.Namespace = hostileNamespace
	return job
}

// largeServices name a job as their controller.
func largeServices(job client.Object) (services []client.Object) {
	for i := range 100 {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: job.GetNamespace(), Name: fmt.Sprint("large-", i)}}
		service.Spec.ClusterIP = corev1.ClusterIPNone
		service.Labels, service.OwnerReferences = ofJob(job), largeOwners(job)
		services = append(services, service)
	}
	return services
}

// ofJob is the label by which the operator finds what is a job's.
func ofJob(job client.Object) map[string]string {
	return map[string]string{v1beta1.LabelJobUID: string(job.GetUID())}
}

// largeOwners are a job, as the controller, and an owner whose name is 1.35 MB long. The apiserver bounds the names of owners in no way, and
// is quick to store them.
func largeOwners(job client.Object) []metav1.OwnerReference {
	return []metav1.OwnerReference{
		{APIVersion: v1beta1.GroupVersion.String(), Kind: v1beta1.KindGenericJob, Name: job.GetName(), UID: job.GetUID(), Controller: ptr.To(true)},
		{APIVersion: "v1", Kind: "ConfigMap", Name: strings.Repeat("x", 1_350_000), UID: "none"},
	}
}
