package kernel

import (
	"encoding/json"
	"fmt"
	"hash/fnv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// The values of status.mode. Debug is followed by a hash of the debug specs: when they change, pods are replaced.
const (
	modeImmediate = "Immediate"
	modeDebug     = "Debug-"
	modePaused    = "Paused"
	modeResumed   = "Resumed"
)

// wantedMode is the run mode that the spec asks for. A job that was paused while it ran starts its pods by its
// resumeSpecs from then on.
func (p *pass) wantedMode() string {
	switch {
	case paused(p.Job):
		return modePaused
	case debugging(p.Job):
		return modeDebug + hashOf(p.Job.Spec.RunMode.Debug.ReplicaSpecs)
	case p.status.PauseCount > 0:
		return modeResumed
	default:
		return modeImmediate
	}
}

// switchMode follows the spec's run mode. Each change begins a new epoch, and pods of earlier ones are stopped.
// A job that is paused before its first status is written had begun if pods of it are known. If they show later, see
// recognise.
func (p *pass) switchMode() {
	mode, old := p.wantedMode(), p.status.Mode
	if mode == old {
		return
	}
	started := p.status.StartTime != nil
	if mode == modePaused && started {
		p.pauseClock()
	}
	if old == modePaused && started {
		if t := p.status.PauseTime; t != nil {
			// Another operator's clock may have been ahead of ours: time that was spent paused is not given back.
			p.status.PausedSeconds += max(0, int64(p.Now.Sub(t.Time).Seconds()))
		}
		p.status.PauseTime = nil
		p.status.Phase = v1beta1.JobResuming
	}
	if old != "" {
		p.status.ModeEpoch++
	}
	p.status.Mode = mode
}

// pauseClock begins a pause of a job that has begun: its deadline does not count, and it resumes by its resumeSpecs.
func (p *pass) pauseClock() {
	now := metav1.NewTime(p.Now)
	p.status.PauseTime = &now
	p.status.PauseCount++
}

// hashOf is a short hash of a value of this API. The API's own types do not change their encoding between versions of
// the operator; a hash of a pod template might, and then an upgrade would restart every job.
func hashOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "unknown"
	}
	h := fnv.New32a()
	h.Write(text)
	return fmt.Sprintf("%08x", h.Sum32())
}
