package drawn

import (
	"fmt"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Job is what was drawn.
type Job struct {
	Name     string
	Torchrun string // fixed or elastic: a PyTorchTrainingJob; "" for a GenericJob
	Types    []Type
	WholeJob bool // restartScope
	InPlace  bool
	Together bool // stopTogether
	Backoff  *int32
	Rules    []v1beta1.FailurePolicyRule
	Rounds   int32 // of noProgress; 0 without
	Signs    string
	CleanUp  v1beta1.CleanUpPolicy
	Service  bool

	// SuccessOf and FailureOf are the types that the only rules for success and failure name; "" without rules.
	SuccessOf, FailureOf string

	Shell   string // how the code is started
	Sidecar string
	Init    bool // an init container
	User    string
	Space   string // what the namespace restricts

	Steps int // that code does in each life
	Saves int // seconds that code takes to stop when it is asked to
	Saved int // the exit code of code that was asked to stop
	Fault Fault
}

// Type is a type of replicas.
type Type struct {
	Name        string
	Replicas    int
	Auxiliary   bool
	AfterOthers bool // startPolicy
	Policy      *v1beta1.RestartPolicy
}

// Fault is what one rank does, or what is done to it.
type Fault struct {
	Kind  string
	Type  string
	Rank  int
	At    int // the step after which it comes
	Code  int // with which code exits
	Times int // in so many lives of the rank
	Words string
	To    int // the number of replicas after a Scale
}

// Kinds of faults.
const (
	None   = "none"
	Exit   = "exit"   // code exits with another code than 0
	Kill   = "kill"   // SIGKILL ends it
	Hang   = "hang"   // it does nothing more, and its heartbeat tells that
	Delete = "delete" // somebody deletes its pod, and it takes seconds to stop
	Scale  = "scale"  // somebody changes the number of replicas of its type
)

// Always is a number of lives that no job has.
const Always = 99

// Forms of torchrun's jobs.
const (
	Fixed   = "fixed"
	Elastic = "elastic"
)

// Signs of a job's code.
const (
	Progress  = "progress"
	Heartbeat = "heartbeat"
)

// Ways in which code is started: sh -c, the same in command and args, bash -c, python3 -c, and a file without a shell.
const (
	Sh     = "sh"
	ShArgs = "sh with args"
	Bash   = "bash"
	Python = "python"
	File   = "file"
)

// Sidecars: a native one, and another container that ends by itself.
const (
	Native = "native"
	Plain  = "plain"
)

// Users: what Pod Security calls restricted, with a file system that is read-only; root; any other number; what the image says.
const (
	Restricted = "restricted"
	Root       = "root"
	Numbered   = "numbered"
)

// These are restrictions of namespaces. Quota is a quota with room for the job and no more. Limits is a LimitRange that has the only limits, with
// such a quota. Tight is a quota that has no room for the last replica.
const (
	Quota  = "quota"
	Limits = "limits"
	Tight  = "tight"
)

// SteadySeconds are those of a heartbeat. On a machine that is busy a step of a second may take much longer.
const SteadySeconds int32 = 30

// members are the types that work, which are all but auxiliary ones.
func (j *Job) members() (list []Type) {
	for _, t := range j.Types {
		if !t.Auxiliary {
			list = append(list, t)
		}
	}
	return list
}

func (j *Job) typeOf(name string) *Type {
	for i := range j.Types {
		if j.Types[i].Name == name {
			return &j.Types[i]
		}
	}
	return nil
}

// Size is the number of replicas, without auxiliary ones.
func (j *Job) Size() (n int) {
	for _, t := range j.members() {
		n += t.Replicas
	}
	return n
}

// Replicas are the names of all, as in worker-0.
func (j *Job) Replicas() (names []string) {
	for _, t := range j.Types {
		for rank := range t.Replicas {
			names = append(names, Replica(t.Name, rank))
		}
	}
	return names
}

// Replica is how a replica is called.
func Replica(replicaType string, rank int) string { return fmt.Sprintf("%s-%d", replicaType, rank) }

// Victim is the replica that the fault is about; "" without one.
func (j *Job) Victim() string {
	if j.Fault.Kind == None || j.Fault.Kind == Scale {
		return ""
	}
	return Replica(j.Fault.Type, j.Fault.Rank)
}

// code is with which code the container of the victim ends.
func (j *Job) code() int32 {
	switch j.Fault.Kind {
	case Kill:
		return 137
	case Hang:
		return 124
	default:
		return int32(j.Fault.Code)
	}
}

// String is the job on one line.
func (j *Job) String() string {
	f := j.Fault
	text := fmt.Sprintf("%d replicas of %d types, %s", j.Size(), len(j.Types), f.Kind)
	if f.Kind != None {
		text += fmt.Sprintf(" of %s-%d", f.Type, f.Rank)
	}
	if j.Torchrun != "" {
		return "torchrun " + j.Torchrun + ": " + text
	}
	scope, strategy := "Replica", "new pods"
	if j.WholeJob {
		scope = "Job"
	}
	if j.InPlace {
		strategy = "in place"
	}
	return fmt.Sprintf("%s, %s, %s, %s, sidecar %q, user %q, namespace %q", text, scope, strategy, j.Shell, j.Sidecar, j.User, j.Space)
}
