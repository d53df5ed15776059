package main

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// snapshot is what the display shows of a job at one moment.
type snapshot struct {
	name     string
	headline string // phase and counts
	rows     []row
	training string // the master's last line
	note     string // what the demo itself has done
	message  string // what the job's conditions have to say
}

// row is one replica.
type row struct {
	replica  string
	pod      string
	phase    string
	restarts int32
}

// snapshotOf reads everything from the job's status: what the display shows, any user can see with kubectl.
func snapshotOf(job *v1beta1.GenericJob, training, note string) snapshot {
	status := job.Status
	s := snapshot{name: job.Name, training: training, note: note, message: messageOf(status.Conditions)}
	s.headline = fmt.Sprintf("%s  running %s  restarts %d  disruptions %d",
		cmp.Or(string(status.Phase), "(not seen by the operator yet)"), cmp.Or(status.Running, "-"),
		status.BackoffCount, status.DisruptionCount)
	for _, task := range status.Tasks {
		for rank, replica := range task.Replicas {
			s.rows = append(s.rows, row{
				replica:  fmt.Sprintf("%s/%d", task.Type, rank),
				pod:      replica.Name,
				phase:    phaseOf(replica),
				restarts: restartsOf(status.Ledger, task.Type, rank),
			})
		}
	}
	return s
}

func phaseOf(replica v1beta1.ReplicaStatus) string {
	for _, container := range replica.Containers {
		if container.ExitCode != nil && *container.ExitCode != 0 {
			return fmt.Sprintf("%s (exit code %d)", replica.Phase, *container.ExitCode)
		}
	}
	return string(replica.Phase)
}

func restartsOf(ledger []v1beta1.TaskLedger, taskType string, rank int) int32 {
	for _, task := range ledger {
		if task.Type != taskType {
			continue
		}
		for _, record := range task.Replicas {
			if int(record.Rank) == rank {
				return record.Restarts
			}
		}
	}
	return 0
}

// messageOf is the message of the condition that matters most at the moment.
func messageOf(conditions []v1beta1.JobCondition) string {
	byType := map[v1beta1.JobConditionType]v1beta1.JobCondition{}
	for _, c := range conditions {
		byType[c.Type] = c
	}
	for _, t := range []v1beta1.JobConditionType{
		v1beta1.ConditionBlocked, v1beta1.ConditionFailed, v1beta1.ConditionReplicaFailure, v1beta1.ConditionCompleted,
	} {
		if c := byType[t]; c.Status == "True" && c.Message != "" {
			return c.Message
		}
	}
	return byType[v1beta1.ConditionRunning].Message
}

// table is the display of a terminal.
func (s snapshot) table() []string {
	podWidth := len("POD")
	for _, r := range s.rows {
		podWidth = max(podWidth, len(r.pod))
	}
	line := func(replica, pod, phase, restarts string) string {
		return fmt.Sprintf("  %-10s  %-*s  %-22s  %s", replica, podWidth, pod, phase, restarts)
	}
	lines := []string{"GenericJob " + s.name + ": " + s.headline, line("REPLICA", "POD", "PHASE", "RESTARTS")}
	for _, r := range s.rows {
		lines = append(lines, line(r.replica, r.pod, r.phase, strconv.Itoa(int(r.restarts))))
	}
	return append(lines, s.remarks()...)
}

func (s snapshot) remarks() []string {
	var lines []string
	for _, remark := range []struct{ name, text string }{
		{"training", s.training}, {"demo", s.note}, {"message", s.message},
	} {
		if remark.text != "" {
			// One line each, whatever a message contains: the terminal's table counts lines.
			lines = append(lines, fmt.Sprintf("  %-10s  %s", remark.name, strings.Join(strings.Fields(remark.text), " ")))
		}
	}
	return lines
}

// changesSince is the display where nothing can be drawn again: a line for everything that changed.
func (s snapshot) changesSince(old snapshot) []string {
	var lines []string
	if s.headline != old.headline {
		lines = append(lines, fmt.Sprintf("  %-10s  %s", "job", s.headline))
	}
	before := map[string]row{}
	for _, r := range old.rows {
		before[r.replica] = r
	}
	for _, r := range s.rows {
		was, known := before[r.replica]
		if r == was {
			continue
		}
		text := r.phase
		if known && was.phase != r.phase {
			text = was.phase + " -> " + r.phase
		}
		if r.restarts > 0 {
			text += fmt.Sprintf("  (restarts %d)", r.restarts)
		}
		lines = append(lines, fmt.Sprintf("  %-10s  %s", r.replica, text))
	}
	said := map[string]bool{}
	for _, remark := range old.remarks() {
		said[remark] = true
	}
	for _, remark := range s.remarks() {
		if !said[remark] {
			lines = append(lines, remark)
		}
	}
	return lines
}
