package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

const (
	operatorNamespace  = "genericjob-system"
	operatorDeployment = "deployment/genericjob-manager"
	diagnosisTime      = 30 * time.Second
)

// verdict compares the finished job with what the demo promises: it succeeded, and one worker was restarted once.
func verdict(job *v1beta1.GenericJob) error {
	var wrong []error
	if job.Status.Phase != v1beta1.JobSucceeded {
		wrong = append(wrong, fmt.Errorf("the job's phase is %s: %s", job.Status.Phase, messageOf(job.Status.Conditions)))
	}
	if got := job.Status.BackoffCount; got != 1 {
		wrong = append(wrong, fmt.Errorf("status.backoffCount is %d, not 1", got))
	}
	if got := taskOf(job, workerType).RestartCount; got != 1 {
		wrong = append(wrong, fmt.Errorf("restartCount of the workers is %d, not 1", got))
	}
	if got := job.Status.DisruptionCount; len(wrong) > 0 && got > 0 {
		wrong = append(wrong, fmt.Errorf("something outside the job ended %d of its pods (status.disruptionCount)", got))
	}
	return errors.Join(wrong...)
}

// conclude shows the result as any user would ask for it, and how to go on from here.
func (c *cluster) conclude(ctx context.Context) error {
	fmt.Println("==> All jobs have succeeded, and the one restart was counted")
	if err := c.show(c.kubectlCommand(ctx, "get", "tj,pj,gj", "--output", "wide")); err != nil {
		return err
	}
	fmt.Printf(`
The cluster stays up. Look around:
  export KUBECONFIG=%[1]s
  %[2]s get tj,pj,gj,pods
  %[2]s describe gj %[3]s
  make cluster-down    # when you have seen enough
`, shellWord(c.kubeconfig), shellWord(c.kubectl), jobName)
	return nil
}

// diagnose prints what an engineer would ask for next.
func (c *cluster) diagnose(ctx context.Context) {
	if ctx.Err() != nil {
		return // somebody interrupted the demo and knows why it did not end well
	}
	ctx, cancel := context.WithTimeout(ctx, diagnosisTime)
	defer cancel()
	section("the job", c.kubectlCommand(ctx, "get", "genericjob", jobName, "--output", "yaml"))
	section("training jobs", c.kubectlCommand(ctx, "get", "tj,pj", "--output", "yaml"))
	section("its pods", c.kubectlCommand(ctx, "get", "pods", "--output", "wide",
		"--selector", v1beta1.LabelJobName+"="+jobName))
	section("events", c.kubectlCommand(ctx, "get", "events", "--sort-by=.metadata.creationTimestamp"))
	section("the master's log", c.kubectlCommand(ctx, "logs", "--tail=10", "--selector",
		v1beta1.LabelJobName+"="+jobName+","+v1beta1.LabelReplicaType+"="+masterType))
	section("the operator's log", c.kubectlCommand(ctx, "--namespace", operatorNamespace,
		"logs", "--tail=30", operatorDeployment))
}
