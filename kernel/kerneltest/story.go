package kerneltest

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/spec"
)

// Story writes down the life of one job: what happens to it, and what the operator makes of that. The caches never lag
// and nothing goes wrong but what the story tells.
type Story struct {
	Cluster *Cluster
	// Missing is the kind of the gang scheduler's that the cluster does not know; "" if it knows it.
	Missing string
	// Tells is what code that runs has told of its progress; nil if it tells none.
	Tells func(now time.Time) (step string, pace *inplace.Pace)

	text   strings.Builder
	wakeAt time.Time
}

// NewStory begins the story of a job with its creation.
func NewStory(job *v1beta1.GenericJob, options ...func(*Story)) *Story {
	c := NewCluster(job, Start)
	s := &Story{Cluster: c}
	for _, option := range options {
		option(s)
	}
	return s.Then(0, "the job is created", func() {})
}

// Missing has the cluster not know the kind that the gang scheduler needs.
func Missing(kind string) func(*Story) {
	return func(s *Story) { s.Missing = kind }
}

// Then lets time pass, in which the operator does what is due, and then something happen.
func (s *Story) Then(after time.Duration, what string, do func()) *Story {
	until := s.Cluster.Now.Add(after)
	for !s.wakeAt.IsZero() && !s.wakeAt.After(until) {
		s.Cluster.Now = s.wakeAt
		s.settle("the operator looks again")
	}
	s.Cluster.Now = until
	do()
	s.say("%s", what)
	s.settle("")
	return s
}

// Kubelet starts the pods that wait, and ends those that are to go with code 143.
func (s *Story) Kubelet(after time.Duration) *Story {
	return s.Then(after, "the kubelet starts and ends pods", func() {
		for _, p := range s.Cluster.sortedPods() {
			s.Cluster.Terminate(p.Name, 143)
			s.Cluster.Overdue(p.Name)
			s.Cluster.Start(p.Name)
		}
	})
}

// Exit has the code of a replica exit.
func (s *Story) Exit(after time.Duration, replicaType string, rank int, code int32) *Story {
	return s.Then(after, fmt.Sprintf("%s-%d exits with code %d", replicaType, rank, code), func() {
		s.Cluster.Exit(spec.PodName(s.Cluster.Job, replicaType, rank), code)
	})
}

// Edit has the user change the spec.
func (s *Story) Edit(after time.Duration, what string, edit JobOption) *Story {
	return s.Then(after, "the user "+what, func() {
		s.Cluster.EditJob(func(spec *v1beta1.GenericJobSpec) {
			job := &v1beta1.GenericJob{Spec: *spec}
			edit(job)
			*spec = job.Spec
		})
	})
}

// settle makes reconciles until one changes nothing. The note, if any, is written before what they tell.
func (s *Story) settle(note string) {
	for changed := true; changed; {
		s.wakeAt = time.Time{}
		before := s.Cluster.rv
		if lines := s.reconcile(); len(lines) > 0 {
			if note != "" {
				s.say("%s", note)
				note = ""
			}
			for _, line := range lines {
				fmt.Fprintf(&s.text, "          %s\n", line)
			}
		}
		changed = s.Cluster.rv != before
	}
}

// reconcile makes one reconcile of the operator and says what it did.
func (s *Story) reconcile() []string {
	c := s.Cluster
	if c.Job == nil {
		c.sweep()
		return nil
	}
	job := c.Job.DeepCopy()
	w := kernel.World{Job: job, Pods: c.sortedPods(), Gang: kernel.GangObjects{Missing: s.Missing, Objects: c.groups()}, Kueue: c.Kueue(), Nodes: c.Nodes, NodeCount: len(c.NodeNames), Now: c.Now, Settings: Settings}
	for _, service := range c.Services {
		w.Services = append(w.Services, service)
	}
	w.Reports = c.reports(append(barrier.Awaited(job, w.Pods), barrier.MayHold(job, w.Pods, w.Now)...))
	w.ProgressReport = s.progress(w)
	d := kernel.Plan(w)
	if d.RequeueAfter > 0 {
		s.wakeAt = c.Now.Add(d.RequeueAfter)
	}
	lines := printDecision(job, d)
	c.carryOut(job, d)
	return lines
}

// progress is what the pod reports that the operator would ask for it.
func (s *Story) progress(w kernel.World) (report inplace.Report) {
	if pod := kernel.ProgressPod(w.Job, w.Pods, w.Now); pod != nil && s.Tells != nil {
		report = s.Cluster.reports([]*corev1.Pod{pod})[pod.UID]
		report.Step, report.Pace = s.Tells(w.Now)
	}
	return report
}

// printDecision says what a decision changes: phase, ledger, events, actions.
func printDecision(job *v1beta1.GenericJob, d kernel.Decision) []string {
	var lines []string
	if was, now := job.Status.Phase, d.Status.Phase; was != now {
		lines = append(lines, fmt.Sprintf("phase %s", now))
	}
	for _, l := range d.Status.Ledger {
		if line := printLedger(l); !strings.Contains(printLedgers(job.Status.Ledger), line) {
			lines = append(lines, line)
		}
	}
	for _, e := range d.Events {
		kind := "event"
		if e.Warning {
			kind = "warning"
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", kind, e.Reason, e.Message))
	}
	for _, a := range d.Actions {
		lines = append(lines, printAction(a))
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], job.Name+"-"+v1beta1.Hash5(job.Name, string(job.UID))+"-", "")
	}
	return lines
}

// printAction says in plain words what the operator does.
func printAction(a kernel.Action) string {
	object := "the job"
	switch {
	case a.Pod != nil:
		object = "Pod " + a.Pod.Name
		if a.Verb == kernel.OrderPod {
			object += " (" + a.Order.String() + ")"
		}
	case a.Verb == kernel.CreatePod:
		object = fmt.Sprintf("Pod %s-%d", a.Type, a.Rank)
		if a.Attempt > 0 {
			object += fmt.Sprintf(" (attempt %d)", a.Attempt)
		}
	case a.Service != nil:
		object = "Service " + a.Service.Name
	case a.Object != nil:
		object = a.Object.GetKind() + " " + a.Object.GetName()
	}
	return fmt.Sprintf("the operator: %s %s: %s", a.Verb.Words(), object, a.Reason)
}

func printLedgers(list []v1beta1.TaskLedger) string {
	var b strings.Builder
	for _, l := range list {
		b.WriteString(printLedger(l) + "\n")
	}
	return b.String()
}

func printLedger(l v1beta1.TaskLedger) string {
	var b strings.Builder
	fmt.Fprintf(&b, "ledger %s: succeeded [%s], failed [%s]", l.Type, l.Succeeded, l.Failed)
	for _, r := range l.Replicas {
		fmt.Fprintf(&b, ", rank %d attempt %d restarts %d", r.Rank, r.Attempt, r.Restarts)
		if r.NotBefore != nil {
			fmt.Fprintf(&b, " not before %s", r.NotBefore.Sub(Start))
		}
	}
	return b.String() + "."
}

func (s *Story) say(format string, args ...any) {
	fmt.Fprintf(&s.text, "%-9s %s\n", s.Cluster.Now.Sub(Start), fmt.Sprintf(format, args...))
}

// String is the story so far, with how it stands at its end.
func (s *Story) String() string {
	end := "the job is gone"
	if job := s.Cluster.Job; job != nil {
		end = fmt.Sprintf("%s, %s running, restarts %d, disruptions %d", job.Status.Phase, cmp.Or(job.Status.Running, "none"),
			job.Status.BackoffCount, job.Status.DisruptionCount)
	}
	pods := []string{}
	for _, p := range s.Cluster.sortedPods() {
		pods = append(pods, p.Labels[v1beta1.LabelReplicaType]+"-"+p.Labels[v1beta1.LabelReplicaRank]+" "+podState(p))
	}
	return s.text.String() + "the end:  " + end + "; pods: [" + strings.Join(pods, ", ") + "]\n"
}

func podState(p *corev1.Pod) string {
	state := string(p.Status.Phase)
	if p.DeletionTimestamp != nil {
		state += " terminating"
	}
	if len(p.Finalizers) > 0 {
		state += " tracked"
	}
	return state
}
