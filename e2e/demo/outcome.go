package main

import (
	"context"
	"encoding/json"
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

// compare compares a job that is over with what the demo promises: it has succeeded, with so many restarts counted.
func (c *cluster) compare(ctx context.Context, t training) error {
	text, err := output(c.kubectlCommand(ctx, "get", t.job(), "--output", "json"))
	if err != nil {
		return fmt.Errorf("read %s: %w", t.job(), err)
	}
	var job struct{ Status v1beta1.GenericJobStatus } // training jobs show these fields, too
	if err := json.Unmarshal([]byte(text), &job); err != nil {
		return fmt.Errorf("read %s: %w", t.job(), err)
	}
	return wrong(t, job.Status)
}

func wrong(t training, status v1beta1.GenericJobStatus) error {
	var wrong []error
	if status.Phase != v1beta1.JobSucceeded {
		wrong = append(wrong, fmt.Errorf("the phase of %s is %s, not Succeeded", t.job(), status.Phase))
	}
	if got := status.BackoffCount; t.restarts > 0 && got != t.restarts {
		wrong = append(wrong, fmt.Errorf("status.backoffCount of %s is %d, not %d", t.job(), got, t.restarts))
	}
	if got := status.DisruptionCount; len(wrong) > 0 && got > 0 {
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
  %[3]s tree elastic
  %[2]s describe gj demo
  make cluster-down    # when you have seen enough
`, shellWord(c.kubeconfig), shellWord(c.kubectl), shellWord(c.gj()))
	return nil
}

// diagnose prints what an engineer would ask for next.
func (c *cluster) diagnose(ctx context.Context) {
	if ctx.Err() != nil {
		return // somebody interrupted the demo and knows why it did not end well
	}
	ctx, cancel := context.WithTimeout(ctx, diagnosisTime)
	defer cancel()
	for _, t := range trainings {
		section("why "+t.job(), c.gjCommand(ctx, "why", t.job()))
		section("the master's log", c.kubectlCommand(ctx, "logs", "--tail=10", "--selector", t.selector(t.master, "0")))
	}
	section("the jobs", c.kubectlCommand(ctx, "get", "gj,tj,pj", "--output", "yaml"))
	section("pods", c.kubectlCommand(ctx, "get", "pods", "--output", "wide"))
	section("events", c.kubectlCommand(ctx, "get", "events", "--sort-by=.metadata.creationTimestamp"))
	section("the operator's log", c.kubectlCommand(ctx, "--namespace", operatorNamespace,
		"logs", "--tail=30", operatorDeployment))
}
