package spec

import "github.com/genericjob/genericjob/apis/batch/v1beta1"

// HeartbeatStartup is within how many seconds of its start code shows its first sign of life, unless the job says otherwise.
const HeartbeatStartup int32 = 1800

// HeartbeatSteady is within how many seconds it shows the next.
const HeartbeatSteady int32 = 600

// Unwatched says of which replicas nobody looks for signs of life, in a job that asks for that, why, and what to do about it.
func Unwatched(s *v1beta1.GenericJobSpec, noWrapper bool) []string {
	if s.Heartbeat == nil {
		return nil
	}
	if noWrapper {
		return []string{"nobody looks for signs of life: " + withoutWrapper}
	}
	return lacking(s, "nobody looks for signs of life of type %s: %s", NotWrapped)
}
