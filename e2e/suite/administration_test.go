package suite_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// What an administrator may do to jobs that run. The tests disturb every job of the cluster, so each runs alone.

func TestNamespaceDeleted(t *testing.T) { deletedNamespaceGoes(newSpace(t)) }

func TestKindDeleted(t *testing.T) { deletedKindComesBack(newSpace(t)) }

func TestOperatorUninstalled(t *testing.T) { uninstalledOperatorMissesNothing(newSpace(t)) }

// train creates a training job with one worker, and waits until it runs.
func (s *space) train(name string) (*v1beta1.TensorFlowTrainingJob, *v1beta1.GenericJob) {
	s.t.Helper()
	job := &v1beta1.TensorFlowTrainingJob{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: name}}
	template := strings.Replace(pod("obey"), `"main"`, `"tensorflow"`, 1)
	require.NoError(s.t, yaml.UnmarshalStrict([]byte(`{replicaSpecs: [{type: worker, template: `+template+`}]}`), &job.Spec))
	require.NoError(s.t, s.Create(s.ctx, job))
	owned := s.owned(job)
	s.awaitRunning(name, "1/1")
	return job, owned
}

// deletedNamespaceGoes deletes a namespace in which jobs are in every state that they stay in.
func deletedNamespaceGoes(s *space) {
	worker := func(fields, steps string) string {
		return `{service: {}, ` + fields + `replicaSpecs: [{type: worker, replicas: 2, restartPolicy: {limit: 50}, template: ` + pod(steps) + `}]}`
	}
	s.submit("running", worker("", "obey"))
	s.submit("failing", worker("", "exit 1"))
	s.submit("finished", worker("", "exit 0"))
	s.submit("paused", worker("", "obey"))
	s.submit("stuck", strings.Replace(worker("", "obey"), image, "localhost/none:dev", 1))
	s.train("training")
	s.awaitRunning("running", "2/2")
	s.awaitRunning("paused", "2/2")
	s.edit("paused", func(spec *v1beta1.GenericJobSpec) {
		spec.RunMode = &v1beta1.RunMode{Pause: &v1beta1.PauseMode{Enabled: true}}
	})
	s.awaitPhase("paused", v1beta1.JobPaused)
	s.awaitPhase("finished", v1beta1.JobSucceeded)
	s.await("failing", "it has been restarted", func(j *v1beta1.GenericJob) bool { return j.Status.BackoffCount > 2 })
	s.await("stuck", "it waits", func(j *v1beta1.GenericJob) bool { return len(s.pods(j)) == 2 })

	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.ns}}
	require.NoError(s.t, s.Delete(s.ctx, namespace))
	s.awaitGone(namespace)
	newSpace(s.t).othersGoOn()
	s.until("the operator has nothing more to say of it", func() bool {
		before := s.operatorLog(s.ns)
		time.Sleep(5 * time.Second)
		return len(s.operatorLog(s.ns)) == len(before)
	})
	var problems []string
	for _, line := range s.operatorLog(s.ns) {
		// That an event came too late is no news of the operator's.
		if strings.Contains(line, `"level":"error"`) && !strings.Contains(line, `"logger":"events"`) {
			problems = append(problems, line)
		}
	}
	require.Empty(s.t, problems)
}

// operatorLog is every line of the operator's log that holds a word.
func (s *space) operatorLog(word string) []string {
	s.t.Helper()
	text, err := exec.Command(kubectl, "logs", "--namespace", operatorNamespace, "deployment/"+operatorName, "--tail=-1").CombinedOutput()
	require.NoError(s.t, err, string(text))
	var lines []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, word) {
			lines = append(lines, line)
		}
	}
	return lines
}

// lives are the restarts of each of the operator's pods.
func (s *space) lives() map[types.UID]int32 {
	lives := map[types.UID]int32{}
	for _, pod := range s.operatorPods() {
		for _, c := range pod.Status.ContainerStatuses {
			lives[pod.UID] += c.RestartCount
		}
	}
	return lives
}

// deletedKindComesBack deletes one CRD after another while jobs run. Their pods go; the operator lives on, and serves the
// kind again when it is there again. So does one that is started meanwhile, after it has ended with an error.
func deletedKindComesBack(s *space) {
	defer s.applyKinds()
	running := s.submit("running", `{service: {}, replicaSpecs: [{type: worker, replicas: 3, template: `+pod("obey")+`}]}`)
	training, owned := s.train("training")
	s.awaitRunning("running", "3/3")
	lives := s.lives()
	require.Len(s.t, lives, 1)

	s.deleteKind("genericjobs")
	s.awaitPods(running)
	s.awaitPods(owned)
	s.awaitGone(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: s.ns, Name: "running"}})
	require.Equal(s.t, lives, s.lives(), "the operator lives on")
	s.applyKinds()
	s.othersGoOn()
	again := s.owned(training)
	require.NotEqual(s.t, owned.UID, again.UID)
	s.awaitRunning("training", "1/1")

	s.deleteKind("tensorflowtrainingjobs")
	s.awaitGone(again)
	s.awaitPods(again)
	meanwhile := s.submit("meanwhile", `{replicaSpecs: [{type: worker, template: `+pod("exit 0")+`}]}`)
	s.awaitPhase("meanwhile", v1beta1.JobSucceeded)
	require.Equal(s.t, lives, s.lives(), "the operator lives on")

	s.killOperator(false)
	s.until("a new operator misses the kind, and ends", func() bool {
		for _, restarts := range s.lives() {
			return restarts > 0
		}
		return false
	})
	s.applyKinds()
	_, owned = s.train("afterwards")
	s.end(owned, "worker", 0, 0)
	s.awaitPhase("afterwards", v1beta1.JobSucceeded)
	s.requireRuns(meanwhile, "worker", 1)
	s.awaitRollout()
}

// deleteKind deletes a CRD, and with it all of its objects.
func (s *space) deleteKind(plural string) {
	s.t.Helper()
	text, err := s.kubectl("delete", "crd", plural+".batch.tensorstack.dev", "--timeout=2m")
	require.NoError(s.t, err, text)
}

func (s *space) applyKinds() {
	s.t.Helper()
	s.run(nil, kubectl, "apply", "-k", "deploy/crd")
	s.run(nil, kubectl, "wait", "--for=condition=established", "--timeout=1m", "crd", "--all")
}

// uninstalledOperatorMissesNothing deletes the operator with its rights and its namespace, though not the kinds, and
// installs it again. What happened to the jobs meanwhile is counted then.
func uninstalledOperatorMissesNothing(s *space) {
	img := s.operator().Spec.Template.Spec.Containers[0].Image
	job := s.submit("alone", `{service: {}, replicaSpecs: [
		{type: steady, replicas: 2, template: `+pod("obey")+`},
		{type: good, template: `+pod("obey")+`},
		{type: bad, restartPolicy: {limit: 1}, template: `+pod("obey")+`}]}`)
	_, owned := s.train("training")
	s.awaitRunning("alone", "4/4")

	s.uninstall()
	installed := false
	install := func() {
		if !installed {
			s.run(nil, "make", "--silent", "deploy", "IMG="+img)
		}
		installed = true
	}
	defer install()
	s.awaitGone(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}})
	s.end(job, "good", 0, 0)
	s.end(job, "bad", 0, 1)
	s.end(owned, "worker", 0, 0)
	s.until("all three have ended", func() bool {
		pods := s.pods(job)
		return pods["good-0"].Status.Phase == corev1.PodSucceeded && pods["bad-0"].Status.Phase == corev1.PodFailed &&
			s.pods(owned)["worker-0"].Status.Phase == corev1.PodSucceeded
	})
	install()

	s.await("alone", "the failed replica runs again", func(j *v1beta1.GenericJob) bool {
		return j.Status.CompletionTime != nil || s.runs(j, "bad", 0) == 2 && j.Status.Running == "3/3"
	})
	s.end(job, "bad", 0, 0)
	s.end(job, "steady", 0, 0)
	s.end(job, "steady", 1, 0)
	done := s.awaitPhase("alone", v1beta1.JobSucceeded)
	require.EqualValues(s.t, 1, done.Status.BackoffCount)
	require.Zero(s.t, done.Status.DisruptionCount)
	s.requireRuns(job, "steady", 1, 1)
	s.requireRuns(job, "good", 1)
	s.requireRuns(job, "bad", 2)
	s.awaitPhase("training", v1beta1.JobSucceeded)
	s.requireRuns(owned, "worker", 1)
	s.awaitReleased(job)
}

// uninstall deletes all that deploy/default holds, but the kinds.
func (s *space) uninstall() {
	s.t.Helper()
	all, err := exec.Command(kubectl, "kustomize", root+"/deploy/default").Output()
	require.NoError(s.t, err)
	var rest []string
	for _, object := range strings.Split(string(all), "\n---\n") {
		if !strings.Contains(object, "kind: CustomResourceDefinition") {
			rest = append(rest, object)
		}
	}
	remove := exec.Command(kubectl, "delete", "--wait=false", "-f", "-")
	remove.Stdin = strings.NewReader(strings.Join(rest, "\n---\n"))
	text, err := remove.CombinedOutput()
	require.NoError(s.t, err, string(text))
}
