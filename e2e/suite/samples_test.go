package suite_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// sampleTrains runs deploy/samples/<framework>.yaml to its end, and then again: it goes on from its checkpoint, so there is nothing
// left to do. It differs from the file in the image, the volume, and that there are no GPUs.
func sampleTrains(s *space, framework, replicaType, lastEpoch string) {
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "samples", framework+".yaml"))
	require.NoError(s.t, err)
	_, sample, found := strings.Cut(string(raw), "\n---\n")
	require.True(s.t, found, "the first document is the claim")
	for from, to := range map[string]string{
		`image: .*`:                "image: localhost/genericjob-" + framework + ":dev\n              imagePullPolicy: Never",
		`limits: \{nvidia.*`:       "",
		`cpu: "2", memory: 4Gi`:    "cpu: 100m",
		`procPerNode: gpu`:         `procPerNode: "1"`,
		framework + `-checkpoints`: claim,
	} {
		sample = regexp.MustCompile(from).ReplaceAllString(sample, to)
	}
	for _, words := range []string{"epoch " + lastEpoch + " of " + lastEpoch, ""} {
		text, err := s.apply(sample)
		require.NoError(s.t, err, text)
		s.until("it is compiled", func() bool { _, err := s.kubectl("get", "gj", framework); return err == nil })
		job := s.awaitPhase(framework, v1beta1.JobSucceeded)
		log := s.logs(job, replicaType, 0)
		require.Contains(s.t, log, words)
		require.Equal(s.t, words == "", !strings.Contains(log, "epoch "), "it goes on from its checkpoint:\n%s", log)
		text, err = s.kubectl("delete", "--wait", "--cascade=foreground", "pj,tj", "--all")
		require.NoError(s.t, err, text)
	}
}
