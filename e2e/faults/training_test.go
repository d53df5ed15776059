package faults_test

import (
	"fmt"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// training is a job of a framework whose first replica decides, and is replaced alone. The others are done, or run on.
func training(a author, kind, master, worker string, n int) *fate {
	limit := a.of(4, "limit")
	fails := min(limit, a.of(4, "fails"))
	f := &fate{kind: kind, api: v1beta1.GroupVersion.String(), phase: v1beta1.JobSucceeded, service: true, restarts: map[string]int{master: fails}}
	for rank := range n {
		f.replicas = append(f.replicas, fmt.Sprintf("%s-%d", worker, rank))
	}
	if master != worker {
		f.replicas = append(f.replicas, master+"-0")
	}
	f.scripts = map[string][]int32{worker: {[]int32{0, forever}[a.of(2, "others")]}, master + "-0": a.failing(fails, 0)}
	if a.of(3, "end") == 0 {
		f.phase, f.restarts[master], f.scripts[master+"-0"] = v1beta1.JobFailed, limit, a.failing(limit, 1)
	}
	a.disrupt(f, master+"-0")
	f.policy = []v1beta1.CleanUpPolicy{v1beta1.CleanUpNone, v1beta1.CleanUpUnfinished, v1beta1.CleanUpAll}[a.of(3, "policy")]
	f.spec = fmt.Sprintf("runPolicy: {backoffLimit: %d, cleanUpPolicy: %s, restartScope: Replica}, ", limit, f.policy)
	f.leaves = a.of(5, "leaves") == 0
	return f
}

func tensorflow(a author) *fate {
	n := 1 + a.of(4, "n")
	f := training(a, v1beta1.KindTensorFlowTrainingJob, "chief", "worker", n)
	f.spec += fmt.Sprintf("replicaSpecs: [{type: chief, restartPolicy: OnFailure, %s}, {type: worker, replicas: %d, %s}]", template("tensorflow"), n, template("tensorflow"))
	return f
}

// large is a TensorFlow cluster of so many hosts that they stand in a ConfigMap.
func large(a author) *fate {
	f := training(a, v1beta1.KindTensorFlowTrainingJob, "worker", "worker", 66)
	f.spec += fmt.Sprintf("replicaSpecs: [{type: worker, replicas: 66, restartPolicy: OnFailure, %s}]", template("tensorflow"))
	return f
}

func pytorch(a author) *fate {
	n := 1 + a.of(3, "n")
	f := training(a, v1beta1.KindPyTorchTrainingJob, "main", "worker", n)
	f.spec += fmt.Sprintf("replicaSpecs: [{type: main, %s}, {type: worker, replicas: %d, %s}]", template("python"), n, template("python"))
	return f
}

// ring is a training job whose ranks train in step, as a plain PyTorch job does by default.
func ring(a author) *fate {
	f := collective(a)
	f.kind, f.api, f.service = v1beta1.KindPyTorchTrainingJob, v1beta1.GroupVersion.String(), true
	f.policy = v1beta1.CleanUpNone
	f.spec = fmt.Sprintf("runPolicy: {cleanUpPolicy: None}, replicaSpecs: [{type: worker, replicas: %d, %s}]", len(f.replicas), template("python"))
	return f
}

// theirs turns a job of ours into one of Kubeflow's, which says the same in other words.
func theirs(a author, kind, field, master, container string) *fate {
	n := 1 + a.of(3, "n")
	f := training(a, kind, map[string]string{"Chief": "chief", "Master": "master"}[master], "worker", n)
	clean := map[v1beta1.CleanUpPolicy]string{v1beta1.CleanUpNone: "None", v1beta1.CleanUpUnfinished: "Running", v1beta1.CleanUpAll: "All"}[f.policy]
	limit := f.backoff() // what is left over is not spent, so this much is enough
	f.api = "kubeflow.org/v1"
	f.spec = fmt.Sprintf("runPolicy: {backoffLimit: %d, cleanPodPolicy: %s}, %s: {%s: {restartPolicy: OnFailure, %s}, Worker: {replicas: %d, restartPolicy: OnFailure, %s}}",
		limit, clean, field, master, template(container), n, template(container))
	return f
}

func tfJob(a author) *fate { return theirs(a, "TFJob", "tfReplicaSpecs", "Chief", "tensorflow") }

func pytorchJob(a author) *fate {
	return theirs(a, "PyTorchJob", "pytorchReplicaSpecs", "Master", "pytorch")
}
