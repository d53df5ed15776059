package drawn

import (
	_ "embed" // the two programs
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// A rank says each line that it prints into a file, too, so that its log can be compared with that. It begins, does its steps, and is done. Who is
// asked to stop saves for some seconds. The victim begins its steps when all ranks have begun, so that the fault comes to a job that runs.

// Names of the volume that all pods share, and of its folder.
const (
	Claim  = "data"
	Folder = "/data"
)

// GateFile opens the gate of a job that is scaled, and SaidFile has what a replica has said. Both are in the folder.
const GateFile = "gate"

// SaidFile is the file of a replica.
func SaidFile(replica string) string { return "said-" + replica }

//go:embed code.sh
var shellCode string

//go:embed code.py
var pythonCode string

// Files are those that the folder needs before the job.
func Files() map[string]string { return map[string]string{"code.sh": shellCode, "code.py": pythonCode} }

// FaultLine is what the victim says last before the fault.
func (j *Job) FaultLine() string { return "fault " + j.Fault.Kind }

// command is how the code is started.
func (j *Job) command() (command, args []string) {
	switch j.Shell {
	case ShArgs:
		return []string{"sh"}, []string{"-c", shellCode}
	case Bash:
		return []string{"bash", "-euo", "pipefail", "-c", shellCode}, nil
	case Python:
		return []string{"python3", "-c", pythonCode}, nil
	case File:
		return []string{Folder + "/code.sh"}, nil
	default:
		return []string{"sh", "-c", shellCode}, nil
	}
}

// environment is that of the replicas of a type. Who is the victim tells by its name.
func (j *Job) environment(t *Type) []corev1.EnvVar {
	steps := j.Steps
	if t.Auxiliary {
		steps = 0
	}
	f := j.Fault
	return []corev1.EnvVar{
		{Name: "NAME", Value: "$(type)-$(rank)"},
		{Name: "ATTEMPT", Value: "$(attempt)"},
		{Name: "STEPS", Value: fmt.Sprint(steps)},
		{Name: "SAVES", Value: fmt.Sprint(j.Saves)},
		{Name: "SAVED", Value: fmt.Sprint(j.Saved)},
		{Name: "VICTIM", Value: j.Victim()},
		{Name: "AWAITS", Value: j.awaits()},
		{Name: "FAULT", Value: f.Kind},
		{Name: "AT", Value: fmt.Sprint(f.At)},
		{Name: "TIMES", Value: fmt.Sprint(f.Times)},
		{Name: "CODE", Value: fmt.Sprint(f.Code)},
		{Name: "WORDS", Value: f.Words},
	}
}

// awaits are the files for which the victim waits before its first step; in a job that is scaled all ranks do.
func (j *Job) awaits() string {
	switch j.Fault.Kind {
	case Scale:
		return GateFile
	case None:
		return ""
	}
	var files []string
	for _, t := range j.members() {
		for rank := range t.Replicas {
			files = append(files, "up-"+Replica(t.Name, rank))
		}
	}
	return strings.Join(files, " ")
}
