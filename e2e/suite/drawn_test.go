package suite_test

import (
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/drawn"
	"github.com/genericjob/genericjob/kernel/spec"
)

// drawnJobs is how many jobs TestDrawn draws, and drawnSeed of which seed; 0 for a new one. It begins with the drawnFrom-th job of the seed.
var (
	drawnJobs, drawnFrom int
	drawnSeed            int64
)

// drawnPatience bounds a job: several share two cores, hangs take a minute each, and torchrun imports PyTorch.
const drawnPatience = 8 * time.Minute

// TestDrawn has the cluster run jobs that are drawn, and an oracle check what becomes of them: see e2e/drawn. `make e2e-drawn` runs it.
func TestDrawn(t *testing.T) {
	if drawnJobs == 0 {
		t.Skip("-drawn 20 draws so many jobs")
	}
	if drawnSeed == 0 {
		drawnSeed = rand.Int63n(1_000_000) + 1
	}
	t.Logf("to draw the same jobs: -drawn %d -drawn-seed %d -drawn-from %d", drawnJobs, drawnSeed, drawnFrom)
	loadFramework(t, "pytorch")
	plugins := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(plugins, "kubectl-gj"), ".")
	build.Dir = filepath.Join(root, "cmd", "kubectl-gj")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)
	for n := drawnFrom; n < drawnFrom+drawnJobs; n++ {
		t.Run(fmt.Sprintf("%d of seed %d", n, drawnSeed), func(t *testing.T) {
			t.Parallel()
			r := &drawnRun{user: &user{newSpace(t), plugins}, Job: drawn.Draw(drawnSeed, n)}
			began := time.Now()
			found := r.run()
			t.Logf("DRAWN %d in %s: %s: %d disagreements", n, time.Since(began).Round(time.Second), r.Job, len(found))
			if len(found) > 0 {
				manifest, err := yaml.Marshal(r.Manifest(""))
				require.NoError(t, err)
				status, err := yaml.Marshal(r.seen.Status)
				require.NoError(t, err)
				t.Errorf("job %d of seed %d, %s:\n- %s\nmanifest:\n%s\nstatus:\n%s", n, drawnSeed, r.Job, strings.Join(found, "\n- "), manifest, status)
			}
		})
	}
}

// drawnRun is a run of a drawn job.
type drawnRun struct {
	*user
	*drawn.Job
	folder string // the volume that all pods share
	object client.Object
	gj     *v1beta1.GenericJob
	seen   drawn.Seen
}

// run has the cluster run the job, and returns what the oracle says of it.
func (r *drawnRun) run() []string {
	r.t.Helper()
	r.prepare()
	r.object = r.Manifest(r.ns)
	require.NoError(r.t, r.Create(r.ctx, r.object))
	follow := r.follow(r.Name)
	r.gj = &v1beta1.GenericJob{}
	r.until("the GenericJob", func() bool { return r.Get(r.ctx, client.ObjectKey{Namespace: r.ns, Name: r.Name}, r.gj) == nil })
	r.disturb()
	untilWithin(r.t, drawnPatience, "the end of "+r.String(), func() bool { return r.job(r.Name).Status.CompletionTime != nil })
	logs, ended := follow()
	r.seen.Logs, r.seen.Ended = drawn.ReadLogs(logs), ended
	r.seeEnd()
	r.remove()
	for _, replica := range r.replicas() {
		r.seen.Written[replica] = r.said(replica)
	}
	found := r.Judge(&r.seen)
	if len(found) > 0 {
		r.t.Logf("logs -f of %s:\n%s", r.Job, logs)
	}
	return found
}

// prepare has the namespace be as the job wants it, with the programs in the volume.
func (r *drawnRun) prepare() {
	r.t.Helper()
	ns := &corev1.Namespace{}
	require.NoError(r.t, r.Get(r.ctx, client.ObjectKey{Name: r.ns}, ns))
	for key, value := range r.Labels() {
		ns.Labels[key] = value
	}
	require.NoError(r.t, r.Update(r.ctx, ns))
	r.mountData()
	volume := &corev1.PersistentVolume{}
	require.NoError(r.t, r.Get(r.ctx, client.ObjectKey{Name: r.ns}, volume))
	r.folder = volume.Spec.HostPath.Path
	for name, text := range drawn.Files() {
		file := filepath.Join(r.folder, name)
		require.NoError(r.t, os.WriteFile(file, []byte(text), 0o755))
		require.NoError(r.t, os.Chmod(file, 0o755))
	}
	for _, o := range r.Restrictions(r.ns) {
		require.NoError(r.t, r.Create(r.ctx, o))
		if quota, is := o.(*corev1.ResourceQuota); is {
			r.until("the quota counts", func() bool {
				return r.Get(r.ctx, client.ObjectKeyFromObject(quota), quota) == nil && len(quota.Status.Hard) > 0
			})
		}
	}
	r.seen = drawn.Seen{Pods: map[string]string{}, Written: map[string][]string{}}
}

// replicas are all that ever were.
func (r *drawnRun) replicas() []string {
	list := r.Replicas()
	if r.Fault.Kind == drawn.Scale {
		list = append(list, drawn.Replica(r.Fault.Type, r.Fault.To-1))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// said are the lines that a replica has written.
func (r *drawnRun) said(replica string) []string {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.folder, drawn.SaidFile(replica)))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(r.t, err)
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// disturb does what is done to the job from outside.
func (r *drawnRun) disturb() {
	r.t.Helper()
	f := r.Fault
	has := func(replica, words string) bool {
		return slices.ContainsFunc(r.said(replica), func(line string) bool { return strings.HasSuffix(line, words) })
	}
	switch f.Kind {
	case drawn.Delete:
		untilWithin(r.t, drawnPatience, r.Victim()+" waits for its end", func() bool { return has(r.Victim(), r.FaultLine()) })
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = r.ns, spec.PodName(r.gj, f.Type, f.Rank)
		require.NoError(r.t, r.Delete(r.ctx, pod))
	case drawn.Scale:
		begun := func(replicas []string) bool {
			return !slices.ContainsFunc(replicas, func(replica string) bool { return !has(replica, ": begins") })
		}
		untilWithin(r.t, drawnPatience, "all replicas begin", func() bool { return begun(r.Replicas()) })
		r.awaitRunning(r.Name, fmt.Sprintf("%d/%d", r.Size(), r.Size()))
		r.edit(r.Name, func(s *v1beta1.GenericJobSpec) {
			i := slices.IndexFunc(s.ReplicaSpecs, func(rs v1beta1.ReplicaSpec) bool { return rs.Type == f.Type })
			n := int32(f.To)
			s.ReplicaSpecs[i].Replicas = &n
		})
		last := drawn.Replica(f.Type, f.To-1)
		untilWithin(r.t, drawnPatience, "the job has its new size", func() bool {
			return begun([]string{last}) && len(r.podsOf(f.Type)) == f.To
		})
		require.NoError(r.t, os.WriteFile(filepath.Join(r.folder, drawn.GateFile), nil, 0o644))
	}
}

// podsOf are the replicas of a type that have pods.
func (r *drawnRun) podsOf(replicaType string) (list []string) {
	r.t.Helper()
	for replica := range r.pods(r.gj) {
		if strings.HasPrefix(replica, replicaType+"-") {
			list = append(list, replica)
		}
	}
	return list
}

// seeEnd looks at a job that is over, as soon as its clean-up is.
func (r *drawnRun) seeEnd() {
	r.t.Helper()
	must := r.MustKeep(r.Expect())
	deadline := time.Now().Add(patience)
	for settled := false; !settled; time.Sleep(500 * time.Millisecond) {
		r.seen.Kept, r.seen.Held, settled = nil, nil, true
		for replica, pod := range r.pods(r.gj) {
			r.seen.Kept = append(r.seen.Kept, replica)
			isOver := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
			if len(pod.Finalizers) > 0 && (isOver || r.CleanUp == v1beta1.CleanUpAll) {
				r.seen.Held, settled = append(r.seen.Held, pod.Name), false
			}
		}
		slices.Sort(r.seen.Kept)
		settled = settled && (must == nil || slices.Equal(r.seen.Kept, must)) || time.Now().After(deadline)
	}
	job := r.job(r.Name)
	r.seen.Status, r.seen.Created = job.Status, job.CreationTimestamp.Time
	for _, replica := range r.replicas() {
		i := strings.LastIndex(replica, "-")
		var rank int
		_, err := fmt.Sscan(replica[i+1:], &rank)
		require.NoError(r.t, err)
		r.seen.Pods[replica] = spec.PodName(job, replica[:i], rank)
	}
}

// remove deletes the job, and notes what stays of it.
func (r *drawnRun) remove() {
	r.t.Helper()
	require.NoError(r.t, r.Delete(r.ctx, r.object))
	for deadline := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		r.seen.Remains = r.remains()
		if len(r.seen.Remains) == 0 || time.Now().After(deadline) {
			return
		}
	}
}

// remains are the objects of the namespace that are of jobs.
func (r *drawnRun) remains() (list []string) {
	r.t.Helper()
	text, err := r.kubectl("get", "genericjobs,pytorchtrainingjobs,pods,services,configmaps,secrets,horizontalpodautoscalers,deployments", "--output", "name")
	require.NoError(r.t, err, text)
	for line := range strings.Lines(text) {
		name := strings.TrimSpace(line)
		if name != "" && name != "configmap/kube-root-ca.crt" && !strings.HasPrefix(name, "No resources") {
			list = append(list, name)
		}
	}
	return list
}
