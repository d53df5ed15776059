package v1beta1

import "slices"

// JobPhase is where a job is in its life.
//
// +kubebuilder:validation:Enum=Pending;Running;Paused;Resuming;Succeeded;Failed;Unknown
type JobPhase string

// The values of JobPhase.
const (
	// JobPending: the job has not yet had all its pods running.
	JobPending JobPhase = "Pending"
	// JobRunning: all pods have run together at least once since the job began or was resumed.
	JobRunning JobPhase = "Running"
	// JobPaused: the job is paused and its unfinished pods are gone.
	JobPaused JobPhase = "Paused"
	// JobResuming: the job was paused and not all of its pods run again yet.
	JobResuming JobPhase = "Resuming"
	// JobSucceeded: a success rule held. Final.
	JobSucceeded JobPhase = "Succeeded"
	// JobFailed: a failure rule held, or a deadline passed, or the spec cannot be run. Final.
	JobFailed JobPhase = "Failed"
	// JobUnknown: the operator cannot tell.
	JobUnknown JobPhase = "Unknown"
)

// JobPhases returns all phases of a job, as the CRD lists them.
func JobPhases() []JobPhase {
	return []JobPhase{JobPending, JobRunning, JobPaused, JobResuming, JobSucceeded, JobFailed, JobUnknown}
}

// UnfinishedPhases returns the phases of a job that goes on: all that are not final.
func UnfinishedPhases() []JobPhase { return slices.DeleteFunc(JobPhases(), JobPhase.IsFinal) }

// IsFinal reports whether a job in this phase is over.
func (p JobPhase) IsFinal() bool { return p == JobSucceeded || p == JobFailed }
