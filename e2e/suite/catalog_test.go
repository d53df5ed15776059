package suite_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TestCatalog applies definitions of deploy/frameworks to the stock operator, and runs their samples. It runs alone, for it brings
// kinds and takes them away.
func TestCatalog(t *testing.T) {
	before := newSpace(t).operator()
	t.Run("xgboost", func(t *testing.T) { catalogXGBoost(newSpace(t)) })
	t.Run("mpi", func(t *testing.T) { catalogMPI(newSpace(t)) })
	require.Equal(t, before.Generation, newSpace(t).operator().Generation)
}

// define applies a definition of the catalog, and takes it away at the end.
func (s *space) define(name string) {
	s.t.Helper()
	folder := "deploy/frameworks/" + name
	s.t.Cleanup(func() {
		s.ctx = context.Background() // the test's own is over
		s.run(nil, kubectl, "delete", "--ignore-not-found", "-k", folder)
	})
	began := time.Now()
	s.run(nil, kubectl, "apply", "--server-side", "-k", folder)
	s.run(nil, kubectl, "wait", "--for=condition=Serving", "trainingframework/"+name, "--timeout=2m")
	s.t.Logf("%s is served %v after it was applied", name, time.Since(began).Round(time.Millisecond))
}

// sample is that of a definition, with an image of these tests and other replacements.
func (s *space) sample(name, image string, replace ...string) string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "frameworks", name, "sample.yaml"))
	require.NoError(s.t, err)
	return strings.NewReplacer(append(replace, "registry.example/"+name+":v1", "localhost/genericjob-"+image+":dev")...).Replace(string(raw))
}

// sampleSucceeds applies a job and waits until its GenericJob, which has its name, has succeeded. It returns that.
func (s *space) sampleSucceeds(text, name string) *v1beta1.GenericJob {
	s.t.Helper()
	began := time.Now()
	out, err := s.apply(text)
	require.NoError(s.t, err, out)
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}}
	running := time.Duration(0)
	s.until(name+" ends", func() bool {
		if s.Get(s.ctx, client.ObjectKeyFromObject(job), job) != nil {
			return false
		}
		if job.Status.Phase == v1beta1.JobRunning && running == 0 {
			running = time.Since(began)
		}
		return job.Status.CompletionTime != nil
	})
	require.Equal(s.t, v1beta1.JobSucceeded, job.Status.Phase, "%v", job.Status.Conditions)
	s.t.Logf("%s ran after %v and succeeded after %v", name, running.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	return job
}

func catalogXGBoost(s *space) {
	loadFramework(s.t, "xgboost-jax")
	s.define("xgboost")
	job := s.sampleSucceeds(s.sample("xgboost", "xgboost-jax"), "boost")
	models := map[string]bool{}
	for rank := range 3 {
		found := regexp.MustCompile(`worker (\d) of 3 has model (\d+)`).FindStringSubmatch(s.logs(job, "worker", rank))
		require.NotNil(s.t, found)
		require.Equal(s.t, strconv.Itoa(rank), found[1])
		models[found[2]] = true
	}
	require.Len(s.t, models, 1, "all have the same model")
}

func catalogMPI(s *space) {
	loadFramework(s.t, "mpi")
	s.define("mpi")
	s.makeSSHKey()
	job := s.sampleSucceeds(s.sample("mpi", "mpi"), "pi")
	log := s.logs(job, "launcher", 0)
	for _, words := range []string{"process 0 of 4 on pi-worker-0", "process 1 of 4 on pi-worker-0", "process 2 of 4 on pi-worker-1", "process 3 of 4 on pi-worker-1", "pi=3.141593"} {
		require.Contains(s.t, log, words)
	}
	s.awaitPods(job, "launcher-0") // workers are stopped with the job

	again := s.sample("mpi", "mpi", "name: pi", "name: again",
		"command: [mpirun, --bind-to,", `command: [sh, -c, 'test $(attempt) -gt 0 && exec mpirun "$@"', sh, --bind-to,`)
	job = s.sampleSucceeds(again, "again")
	require.EqualValues(s.t, 1, job.Status.BackoffCount)
	require.Contains(s.t, s.logs(job, "launcher", 0), "pi=3.141593")
}

// makeSSHKey does what the MPI sample tells users to do, and the document about MPIJobs.
func (s *space) makeSSHKey() {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "deploy", "frameworks", "mpi", "sample.yaml"))
	require.NoError(s.t, err)
	document, err := os.ReadFile(filepath.Join(root, "deploy", "kubeflow", "README.md"))
	require.NoError(s.t, err)
	var commands []string
	for _, m := range regexp.MustCompile(`(?m)^#   (\S.*)$`).FindAllStringSubmatch(string(raw), -1) {
		require.Contains(s.t, string(document), "\n    "+m[1]+"\n")
		commands = append(commands, strings.ReplaceAll(m[1], "kubectl", kubectl+" -n "+s.ns))
	}
	require.Len(s.t, commands, 3)
	s.run(nil, "sh", "-ec", "cd "+s.t.TempDir()+"\n"+strings.Join(commands, "\n"))
}
