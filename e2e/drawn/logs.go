package drawn

import (
	"maps"
	"slices"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// judgeLogs compares what the followed logs have with what each replica has written: every line, once, in order. A replica that the end of the job
// leaves running goes on to write.
func (j *Job) judgeLogs(d *disagreements, e Expected, s *Seen) {
	for _, replica := range slices.Sorted(maps.Keys(s.Written)) {
		written := s.Written[replica]
		var got []string
		for _, line := range s.Logs {
			if line.Replica == replica && slices.Contains(written, line.Text) { // it may have been killed before it wrote
				got = append(got, line.Text)
			}
		}
		want := written
		if j.isLeft(e, replica) && len(got) < len(want) {
			want = want[:len(got)]
		}
		if slices.Equal(got, want) {
			continue
		}
		what := "logs of " + replica
		if len(got) > len(want) {
			d.add(what, "%d lines, and it wrote %d: %q", len(got), len(want), got)
			continue
		}
		lost := slices.DeleteFunc(slices.Clone(want), func(line string) bool { return slices.Contains(got, line) })
		d.add(what, "%d lines of %d; missing are %q", len(got), len(want), lost)
	}
	want(d, "logs -f ends", s.Ended, true)
}

// isLeft reports whether a replica may run on when the job is over, and so when the logs end.
func (j *Job) isLeft(e Expected, replica string) bool {
	if j.CleanUp == v1beta1.CleanUpAll || replica == j.Victim() {
		return false
	}
	t := j.typeOf(replica[:strings.LastIndex(replica, "-")])
	return t == nil || t.Auxiliary || j.mayBeCut(e, t)
}
