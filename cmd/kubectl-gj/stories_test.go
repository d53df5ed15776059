package main_test

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
	"github.com/genericjob/genericjob/kernel/status"
)

const never, onFailure = v1beta1.RestartNever, v1beta1.RestartOnFailure

// stories are lives of jobs. The statuses in them are made by the kernel itself, so what is shown of them is what a user sees.
var stories = map[string]func() *jobs.Family{
	"new":     func() *jobs.Family { return newborn(2 * time.Second) },
	"unseen":  func() *jobs.Family { return newborn(time.Minute) },
	"foreign": foreign,
	"runs":    func() *jobs.Family { return alone(two().Kubelet(time.Second)) },
	"restarted": func() *jobs.Family {
		return alone(then(two(kerneltest.Policy(onFailure, 3)).Kubelet(time.Second), time.Minute, "worker-1 fails",
			lastWords("worker", 1, 3, "loss is nan")).Kubelet(2 * time.Second))
	},
	"restarted-together": func() *jobs.Family {
		s := kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 2, kerneltest.Policy(onFailure, 3)), kerneltest.Spec(func(s *v1beta1.GenericJobSpec) {
			s.RestartScope = v1beta1.RestartScopeJob
		}))).Kubelet(time.Second)
		return alone(then(s, time.Minute, "worker-1 fails", lastWords("worker", 1, 143, "step 7")).Kubelet(2 * time.Second).Kubelet(2 * time.Second))
	},
	"delayed": func() *jobs.Family {
		s := two(kerneltest.Policy(onFailure, 3)).Kubelet(time.Second)
		return alone(s.Exit(time.Second, "worker", 1, 1).Kubelet(time.Second).Exit(time.Second, "worker", 1, 1))
	},
	"failed": func() *jobs.Family {
		return alone(then(two(kerneltest.Policy(never, 0)).Kubelet(time.Second).Exit(time.Minute, "worker", 0, 0), time.Minute, "worker-1 fails",
			lastWords("worker", 1, 9, "no data")))
	},
	"succeeded": func() *jobs.Family {
		return alone(two().Kubelet(time.Second).Exit(time.Minute, "worker", 0, 0).Exit(time.Minute, "worker", 1, 0))
	},
	"survived": func() *jobs.Family {
		s := then(two(kerneltest.Policy(onFailure, 3)).Kubelet(time.Second), time.Minute, "worker-1 fails", lastWords("worker", 1, 3, "loss is nan"))
		return alone(s.Kubelet(2*time.Second).Exit(time.Minute, "worker", 0, 0).Exit(time.Minute, "worker", 1, 0))
	},
	"unplaced-again": func() *jobs.Family {
		s := then(two(kerneltest.Policy(onFailure, 3)).Kubelet(time.Second), time.Minute, "worker-1 fails", lastWords("worker", 1, 3, "loss is nan"))
		return alone(then(s, 2*time.Second, "no node takes it again", unplaced))
	},
	"survived-something": func() *jobs.Family {
		const parted = "RuntimeError: [gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.7]:4411"
		s := then(two(kerneltest.Policy(onFailure, 3)).Kubelet(time.Second), time.Minute, "worker-1 fails", lastWords("worker", 1, 1, parted)).Then(5*time.Second, "nobody else does", func() {})
		return alone(s.Kubelet(2*time.Second).Exit(time.Minute, "worker", 0, 0).Exit(time.Minute, "worker", 1, 0))
	},
	"progress": func() *jobs.Family {
		f := alone(then(two(kerneltest.Policy(onFailure, 3)).Kubelet(time.Second), time.Minute, "worker-1 fails", lastWords("worker", 1, 3, "loss is nan")).Kubelet(2 * time.Second))
		f.GenericJob.Status.Progress = &v1beta1.Progress{Step: new(int64(70)), Loss: "0.25"}
		return f
	},
	"unschedulable": func() *jobs.Family { return alone(then(two(), time.Second, "no node takes worker-1", unplaced)) },
	"image":         func() *jobs.Family { return alone(then(two(), time.Second, "worker-0 has no image", unpulled)) },
	"claim":         func() *jobs.Family { return alone(then(two(), time.Second, "worker-1 has no claim", unclaimed)) },
	"mount":         func() *jobs.Family { return unmounted(alone(then(two(), time.Second, "worker-1 is being made", made))) },
	"unstartable": func() *jobs.Family {
		return alone(then(two(kerneltest.Policy(never, 0)).Kubelet(time.Second), time.Second, "worker-1 has no program", unstarted))
	},
	"quota": refused,
	"invalid": func() *jobs.Family {
		return alone(kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 1), kerneltest.Spec(func(s *v1beta1.GenericJobSpec) {
			s.ReplicaSpecs[0].Template.Spec.Containers[0].Args = []string{"$(replicas[master])"}
		}))))
	},
	"deadline": func() *jobs.Family {
		return alone(kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 2), kerneltest.Spec(func(s *v1beta1.GenericJobSpec) {
			seconds := int64(60)
			s.ActiveDeadlineSeconds = &seconds
		}))).Kubelet(time.Second).Then(2*time.Minute, "time passes", func() {}))
	},
	"gang": func() *jobs.Family {
		return alone(kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 2), kerneltest.Spec(func(s *v1beta1.GenericJobSpec) {
			s.Scheduler = &v1beta1.SchedulePolicy{Volcano: &v1beta1.VolcanoScheduler{}}
		})), kerneltest.Missing("PodGroup of scheduling.volcano.sh/v1beta1")))
	},
	"pausing": func() *jobs.Family {
		return alone(two().Kubelet(time.Second).Edit(time.Minute, "pauses it", kerneltest.PauseNow(true)))
	},
	"paused": func() *jobs.Family {
		return alone(two().Kubelet(time.Second).Edit(time.Minute, "pauses it", kerneltest.PauseNow(true)).Kubelet(time.Second))
	},
	"debugs": func() *jobs.Family {
		return alone(two().Kubelet(time.Second).Edit(time.Minute, "debugs it", kerneltest.DebugNow(true)).Kubelet(time.Second).Kubelet(time.Second))
	},
	"disrupted": func() *jobs.Family {
		s := two().Kubelet(time.Second)
		return alone(s.Then(time.Minute, "worker-1 is deleted", func() { s.Cluster.Delete(podOf(s, "worker", 1)) }).Kubelet(time.Second).Kubelet(time.Second))
	},
	"drained-together": func() *jobs.Family {
		s := together(kerneltest.Type("worker", 2)).Kubelet(time.Second)
		for range 2 {
			s.Then(time.Minute, "worker-1 is deleted", func() { s.Cluster.Delete(podOf(s, "worker", 1)) }).Kubelet(time.Second).Kubelet(time.Second).Kubelet(4 * time.Second)
		}
		return alone(s)
	},
	"excepted-together": func() *jobs.Family {
		s := together(kerneltest.Type("worker", 2, kerneltest.Policy(onFailure, 3)), kerneltest.Spec(func(s *v1beta1.GenericJobSpec) {
			s.FailurePolicy = &v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{{
				Match: v1beta1.FailureMatch{ExitCodes: []int32{42}}, Action: v1beta1.FailureActionRestart, Counts: new(false)}}}
		})).Kubelet(time.Second)
		return alone(then(s, time.Minute, "worker-1 fails", lastWords("worker", 1, 42, "the license server is away")).Kubelet(2 * time.Second).Kubelet(2 * time.Second))
	},
	"auxiliary": func() *jobs.Family {
		s := kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 1), kerneltest.Type("rendezvous", 1, func(r *v1beta1.ReplicaSpec) { r.Auxiliary = true }))).Kubelet(time.Second)
		return alone(s.Exit(time.Minute, "rendezvous", 0, 1).Kubelet(time.Second))
	},
	"scaled-back": func() *jobs.Family {
		s := together(kerneltest.Type("worker", 3, kerneltest.Policy(onFailure, 3))).Kubelet(time.Second)
		then(s, time.Minute, "worker-2 fails", lastWords("worker", 2, 3, "loss is nan")).Kubelet(2 * time.Second).Kubelet(2 * time.Second)
		s.Edit(time.Minute, "scales it down", kerneltest.Replicas("worker", 2)).Kubelet(time.Second)
		return alone(s.Edit(time.Minute, "scales it up", kerneltest.Replicas("worker", 3)).Kubelet(time.Second))
	},
	"types-alike": func() *jobs.Family {
		s := kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 2, kerneltest.Policy(onFailure, 3)), kerneltest.Type("gpu-worker", 2, kerneltest.Policy(onFailure, 3)))).Kubelet(time.Second)
		s.Exit(time.Minute, "worker", 1, 1).Kubelet(2 * time.Second)
		return alone(then(s, time.Minute, "gpu-worker-1 fails", lastWords("gpu-worker", 1, 3, "loss is nan")).Kubelet(2 * time.Second))
	},
	"many": func() *jobs.Family {
		s := kerneltest.NewStory(kerneltest.Job(kerneltest.Type("master", 1), kerneltest.Type("worker", 100, kerneltest.Policy(onFailure, 3)))).Kubelet(time.Second)
		return alone(then(s, time.Minute, "worker-50 fails", lastWords("worker", 50, 1, "link down")))
	},
	"pytorch":  func() *jobs.Family { return owned(&v1beta1.PyTorchTrainingJob{}, training) },
	"kubeflow": func() *jobs.Family { return owned(&kubeflow.TFJob{}, kubeflowTraining) },
}

const (
	training = `{runPolicy: {restartScope: Replica}, replicaSpecs: [{type: master, template: {spec: {containers: [{name: main, image: i}]}}},
{type: worker, replicas: 2, template: {spec: {containers: [{name: main, image: i}]}}}]}`
	kubeflowTraining = `{tfReplicaSpecs: {Chief: {template: {spec: {containers: [{name: tensorflow, image: i}]}}},
Worker: {replicas: 2, restartPolicy: ExitCode, template: {spec: {containers: [{name: tensorflow, image: i}]}}}}}`
)

// clockOf is the time at which a family is looked at.
var clockOf = map[*jobs.Family]time.Time{}

func kindOf(kind string) *jobs.Kind {
	for _, k := range jobs.Kinds() {
		if k.Kind == kind {
			return k
		}
	}
	return nil
}

// settled is after when all that waits to be written has been.
const settled = 3 * time.Second

// alone returns the family of a GenericJob that is no part of another job.
func alone(s *kerneltest.Story) *jobs.Family {
	return family(s.Then(settled, "time passes", func() {}))
}

// family returns what there is of a story's job now.
func family(s *kerneltest.Story) *jobs.Family {
	return at(s.Cluster.Now, jobs.NewFamily(kindOf(v1beta1.KindGenericJob), s.Cluster.Job, s.Cluster.Job, podsOf(s)))
}

func at(now time.Time, f *jobs.Family) *jobs.Family {
	clockOf[f] = now
	return f
}

func podsOf(s *kerneltest.Story) (pods []corev1.Pod) {
	for _, pod := range s.Cluster.Pods {
		pods = append(pods, *pod)
	}
	return pods
}

func two(options ...func(*v1beta1.ReplicaSpec)) *kerneltest.Story {
	return kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 2, options...)))
}

// together returns a story of a job whose replicas restart together.
func together(options ...kerneltest.JobOption) *kerneltest.Story {
	return kerneltest.NewStory(kerneltest.Job(append(options, kerneltest.JobScope)...))
}

func newborn(age time.Duration) *jobs.Family {
	job := kerneltest.Job(kerneltest.Type("worker", 1))
	return at(kerneltest.At(age), jobs.NewFamily(kindOf(v1beta1.KindGenericJob), job, job, nil))
}

func foreign() *jobs.Family {
	f := newborn(time.Minute)
	managedBy := v1beta1.ManagedByMultiKueue
	f.GenericJob.Spec.ManagedBy = &managedBy
	return f
}

// refused returns a job whose pods the apiserver refuses, in the words of the kernel and of an apiserver.
func refused() *jobs.Family {
	s := kerneltest.NewStory(kerneltest.Job(kerneltest.Type("worker", 1)))
	s.Then(settled, "time passes", func() {})
	clear(s.Cluster.Pods)
	status.Block(&s.Cluster.Job.Status, s.Cluster.Now, v1beta1.ReasonCreateFailed,
		`The apiserver refuses to create Pod ns/job-worker-0: pods "job-worker-0" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0. The operator keeps trying. Free what is short, have the policy or webhook changed that is in the way, or pause or delete the job.`)
	return family(s)
}

func podOf(s *kerneltest.Story, replicaType string, rank int) string {
	return spec.PodName(s.Cluster.Job, replicaType, rank)
}

// then has something happen in a story.
func then(s *kerneltest.Story, after time.Duration, what string, do func(*kerneltest.Story)) *kerneltest.Story {
	return s.Then(after, what, func() { do(s) })
}

// owned returns a training job, compiled and mirrored by its translator, of which a worker has failed once.
func owned(job client.Object, text string) *jobs.Family {
	var kind *jobs.Kind
	for _, k := range jobs.Kinds() {
		if fmt.Sprintf("%T", k.New()) == fmt.Sprintf("%T", job) {
			kind = k
		}
	}
	if err := yaml.Unmarshal([]byte("{spec: "+text+"}"), job); err != nil {
		panic(err)
	}
	job.SetName("mnist")
	job.SetNamespace("ns")
	job.SetUID("training-uid")
	job.SetGeneration(1)
	job.SetCreationTimestamp(metav1.NewTime(kerneltest.Start))
	program, err := kind.Framework.Compile(job)
	if err != nil {
		panic(err)
	}
	made := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "mnist", Namespace: "ns", Annotations: map[string]string{v1beta1.AnnotationCompiledGeneration: "1"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, kind.GroupVersionKind)}}, Spec: program.Spec}
	s := kerneltest.NewStory(made).Kubelet(time.Second)
	then(s, time.Minute, "worker-1 fails", lastWords("worker", 1, 137, "out of disk"))
	s.Then(settled, "time passes", func() {}).Kubelet(0).Then(settled, "time passes", func() {})
	if err := kind.Framework.Mirror(job, s.Cluster.Job.Status); err != nil {
		panic(err)
	}
	return at(s.Cluster.Now, jobs.NewFamily(kind, job, s.Cluster.Job, podsOf(s)))
}
