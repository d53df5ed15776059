package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const (
	masterType    = "master"
	workerType    = "worker"
	trainerBinary = "/trainer"
	// victim is the worker that is made to crash, and crashStep is when: half-way, as the training takes about 125.
	victim    = 1
	crashStep = 60
)

// follower shows a job until it has finished, and kills a worker on the way.
type follower struct {
	api       client.WithWatch
	lastLines func(ctx context.Context, pod string, lines chan<- string)
	crash     func(ctx context.Context, pod string) error
	screen    *screen

	job      *v1beta1.GenericJob
	logging  bool   // the master's log is being followed
	training string // its last line
	note     string // how the worker was killed, once it was
	crashErr error
}

// follow returns the finished job.
func (f *follower) follow(ctx context.Context) (*v1beta1.GenericJob, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs, lines := make(chan *v1beta1.GenericJob), make(chan string)
	watchEnded, crashEnded := make(chan error, 1), make(chan error, 1)
	go func() { watchEnded <- watchJob(ctx, f.api, jobs) }()

	for {
		select {
		case f.job = <-jobs:
			f.startLog(ctx, lines)
		case f.training = <-lines:
			f.crashHalfWay(ctx, crashEnded)
		case f.crashErr = <-crashEnded:
		case err := <-watchEnded:
			return nil, errors.Join(err, f.unfinished())
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), f.unfinished())
		}
		f.screen.show(snapshotOf(f.job, f.training, f.note))
		if finished(f.job) {
			return f.job, nil
		}
	}
}

// startLog follows the master's log as soon as there is one.
func (f *follower) startLog(ctx context.Context, lines chan<- string) {
	if pod, runs := runningPod(f.job, masterType, 0); runs && !f.logging {
		f.logging = true
		go f.lastLines(ctx, pod, lines)
	}
}

func (f *follower) crashHalfWay(ctx context.Context, ended chan<- error) {
	pod, runs := runningPod(f.job, workerType, victim)
	if !runs || f.note != "" || stepOf(f.training) < crashStep {
		return
	}
	f.note = fmt.Sprintf("crashes worker/%d: kubectl exec %s -- %s crash", victim, pod, trainerBinary)
	go func() { ended <- f.crash(ctx, pod) }()
}

func (f *follower) unfinished() error {
	if f.job == nil {
		return errors.New("the job was never seen")
	}
	return fmt.Errorf("the job has not finished: phase %q: %s", f.job.Status.Phase, messageOf(f.job.Status.Conditions))
}

// watchJob sends every state of the job until ctx ends. A watch that the apiserver closes is begun again; it then
// starts with the state of the moment.
func watchJob(ctx context.Context, api client.WithWatch, jobs chan<- *v1beta1.GenericJob) error {
	for {
		watcher, err := api.Watch(ctx, &v1beta1.GenericJobList{},
			client.InNamespace(namespace), client.MatchingFields{"metadata.name": jobName})
		if err != nil {
			return fmt.Errorf("watch the job: %w", err)
		}
		err = forward(ctx, watcher, jobs)
		watcher.Stop()
		if err != nil {
			return err
		}
		pause(ctx)
	}
}

func forward(ctx context.Context, watcher watch.Interface, jobs chan<- *v1beta1.GenericJob) error {
	for event := range watcher.ResultChan() {
		job, ok := event.Object.(*v1beta1.GenericJob)
		if !ok {
			return nil
		}
		if event.Type == watch.Deleted {
			return errors.New("somebody deleted the job")
		}
		select {
		case jobs <- job:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

func runningPod(job *v1beta1.GenericJob, taskType string, rank int) (name string, runs bool) {
	task := taskOf(job, taskType)
	if rank >= len(task.Replicas) {
		return "", false
	}
	replica := task.Replicas[rank]
	return replica.Name, replica.Phase == v1beta1.ReplicaRunning
}

// taskOf is the status of one type, empty while the operator has not written it.
func taskOf(job *v1beta1.GenericJob, taskType string) v1beta1.TaskStatus {
	tasks := job.Status.Tasks
	if i := slices.IndexFunc(tasks, func(t v1beta1.TaskStatus) bool { return t.Type == taskType }); i >= 0 {
		return tasks[i]
	}
	return v1beta1.TaskStatus{}
}

// stepOf reads the step from a line of the master's log, -1 if the line is about something else.
func stepOf(line string) int {
	var number int
	var loss float64
	if _, err := fmt.Sscanf(line, "step %d loss %g", &number, &loss); err != nil {
		return -1
	}
	return number
}

func finished(job *v1beta1.GenericJob) bool {
	return job != nil && (job.Status.Phase == v1beta1.JobSucceeded || job.Status.Phase == v1beta1.JobFailed)
}
