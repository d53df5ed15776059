package spec

import "github.com/genericjob/genericjob/apis/batch/v1beta1"

// HeartbeatStartup is the default for how many seconds code has from its start to its first sign of life.
const HeartbeatStartup int32 = 1800

// HeartbeatSteady is the default for how many seconds code has from one sign of life to the next.
const HeartbeatSteady int32 = 600

// WhyNoHeartbeat says for which replicas nobody looks for signs of life, though the job asks for it. It says why, and what to do about it.
func WhyNoHeartbeat(s *v1beta1.GenericJobSpec, noWrapper bool) []string {
	if s.Heartbeat == nil {
		return nil
	}
	if noWrapper {
		return []string{"nobody looks for signs of life: " + withoutWrapper}
	}
	return lacking(s, "nobody looks for signs of life of type %s: %s", WhyNoWrapper)
}
