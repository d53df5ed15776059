package faults_test

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// fate is a job and what must become of it, whatever happens to the operator.
type fate struct {
	name, kind, api string
	shape           string
	spec            string
	replicas        []string // as <type>-<rank>
	phase           v1beta1.JobPhase
	policy          v1beta1.CleanUpPolicy
	restarts        map[string]int // counted restarts, by type
	// scripts say with which codes a replica's code ends, one life after the other, by replica or else by type. The last
	// life is final; forever means that it does not end by itself.
	scripts map[string][]int32
	// disruptions are what outsiders do to a replica, one life after the other, before its script goes on.
	disruptions map[string][]string
	whole       bool // restartScope Job: a replica that succeeded runs again in the next attempt
	service     bool
	leaves      bool // its user deletes it while it runs
	expires     bool // it is deleted when it has finished
}

// forever is the code of a life that does not end by itself.
const forever int32 = -1

// What outsiders do.
const (
	byDelete  = "delete"
	byForce   = "delete by force"
	byEvict   = "evict"
	byPending = "delete before it starts"
)

// script is what the lives of a replica are like.
func (f *fate) script(replica string) []int32 {
	if s, ok := f.scripts[replica]; ok {
		return s
	}
	return f.scripts[replica[:strings.LastIndex(replica, "-")]]
}

// backoff is the number of counted restarts.
func (f *fate) backoff() int {
	n := 0
	for _, r := range f.restarts {
		n += r
	}
	return n
}

// object is the job as its user creates it.
func (f *fate) object(ns string) (*unstructured.Unstructured, error) {
	o := &unstructured.Unstructured{}
	text := fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, namespace: %s}, spec: {%s}}", f.api, f.kind, f.name, ns, f.spec)
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", text, err)
	}
	return o, nil
}

// author draws jobs.
type author struct {
	d *dice
	i int
}

func (a author) of(n int, what string) int { return a.d.of(n, "job", a.i, what) }

// shapes are the kinds of jobs that are drawn, each as often as it stands here.
var shapes = []struct {
	name string
	draw func(author) *fate
}{
	{"all", all}, {"all", all}, {"all", all}, {"twoTypes", twoTypes}, {"twoTypes", twoTypes}, {"spent", spent}, {"spent", spent},
	{"sharedLimit", sharedLimit}, {"sharedLimit", sharedLimit}, {"collective", collective}, {"collective", collective},
	{"exitCode", exitCode}, {"never", never}, {"always", always}, {"expiring", expiring}, {"left", left}, {"left", left},
	{"training", tensorflow}, {"training", pytorch}, {"training", tfJob}, {"training", pytorchJob}, {"large", large},
	{"ring", ring},
}

// newFate draws a job. Each shape comes in turn, so that few jobs have them all.
func newFate(d *dice, i int) *fate {
	a := author{d, i}
	n := len(shapes)
	shape := shapes[(i*7+d.of(n, "shapes"))%n]
	f := shape.draw(a)
	f.shape = shape.name
	f.name = fmt.Sprintf("j%d", i)
	if f.kind == "" {
		f.kind, f.api = v1beta1.KindGenericJob, v1beta1.GroupVersion.String()
	}
	if f.policy == "" {
		f.policy = []v1beta1.CleanUpPolicy{v1beta1.CleanUpNone, v1beta1.CleanUpUnfinished, v1beta1.CleanUpAll}[a.of(3, "policy")]
		f.spec += ", cleanUpPolicy: " + string(f.policy)
	}
	if f.kind == v1beta1.KindGenericJob {
		if f.service = a.of(2, "service") == 0; f.service {
			f.spec += ", service: {}"
		}
	}
	return f
}

// template is a pod template whose container has a name.
func template(container string) string {
	return fmt.Sprintf("template: {spec: {terminationGracePeriodSeconds: 3, containers: [{name: %s, image: i}]}}", container)
}

// group is the YAML of a replica spec, and adds its replicas to the fate.
func (f *fate) group(kind string, n int, policy string) string {
	for rank := range n {
		f.replicas = append(f.replicas, fmt.Sprintf("%s-%d", kind, rank))
	}
	return fmt.Sprintf("{type: %s, replicas: %d, restartPolicy: {%s}, %s}", kind, n, policy, template("main"))
}

// failing is a script with n failures before its last code.
func (a author) failing(n int, last int32) []int32 {
	var s []int32
	for i := range n {
		s = append(s, []int32{1, 2, 42, 255}[a.of(4, fmt.Sprint("code", i))])
	}
	return append(s, last)
}

// disrupt draws what outsiders do to a replica that must finish.
func (a author) disrupt(f *fate, replica string) {
	if f.disruptions == nil {
		f.disruptions = map[string][]string{}
	}
	for i := range a.of(3, "disruptions "+replica) {
		how := []string{byDelete, byForce, byEvict, byPending}[a.of(4, fmt.Sprint("how", replica, i))]
		f.disruptions[replica] = append(f.disruptions[replica], how)
	}
}

// all: every replica fails some times and succeeds in the end.
func all(a author) *fate {
	f := &fate{phase: v1beta1.JobSucceeded, scripts: map[string][]int32{}, restarts: map[string]int{}}
	f.spec = "replicaSpecs: [" + f.group("worker", 1+a.of(5, "n"), "limit: 3") + "]"
	for _, replica := range f.replicas {
		fails := max(0, a.of(6, replica)-2)
		f.scripts[replica] = a.failing(fails, 0)
		f.restarts["worker"] += fails
		a.disrupt(f, replica)
	}
	return f
}

// twoTypes: the master decides; the workers run on, or are done.
func twoTypes(a author) *fate {
	fails := a.of(4, "fails")
	f := &fate{phase: v1beta1.JobSucceeded, restarts: map[string]int{"master": fails}}
	f.spec = "successRules: [{master: [0]}], replicaSpecs: [" + f.group("master", 1, "limit: 3") + ", " +
		f.group("worker", 1+a.of(4, "n"), "limit: 1") + "]"
	f.scripts = map[string][]int32{"master": a.failing(fails, 0), "worker": {forever}, "worker-0": {[]int32{0, forever}[a.of(2, "worker")]}}
	a.disrupt(f, "master-0")
	return f
}

// spent: one replica fails until its limit is spent.
func spent(a author) *fate {
	limit := a.of(3, "limit")
	f := &fate{phase: v1beta1.JobFailed, restarts: map[string]int{"worker": limit}}
	f.spec = "replicaSpecs: [" + f.group("worker", 1+a.of(4, "n"), fmt.Sprint("limit: ", limit)) + "]"
	f.scripts = map[string][]int32{"worker": {[]int32{0, forever}[a.of(2, "others")]}, "worker-0": a.failing(limit, 3)}
	a.disrupt(f, "worker-0")
	return f
}

// sharedLimit: backoffLimit is exact.
func sharedLimit(a author) *fate {
	limit := a.of(4, "limit")
	f := &fate{phase: v1beta1.JobFailed, restarts: map[string]int{"master": limit}}
	f.spec = fmt.Sprintf("backoffLimit: %d, failureRules: [{master: [0]}], replicaSpecs: [", limit) + f.group("worker", 1+a.of(3, "n"), "") + ", " + f.group("master", 1, "") + "]"
	f.scripts = map[string][]int32{"worker": {0}, "master": a.failing(limit, 1)}
	if a.of(2, "end") == 0 {
		f.phase, f.scripts["master"] = v1beta1.JobSucceeded, a.failing(limit, 0)
	}
	a.disrupt(f, "master-0")
	return f
}

// collective: each failure of one replica restarts all, those too that had succeeded.
func collective(a author) *fate {
	fails := a.of(3, "fails")
	f := &fate{phase: v1beta1.JobSucceeded, whole: true, restarts: map[string]int{"worker": fails}}
	f.spec = "restartScope: Job, replicaSpecs: [" + f.group("worker", 2+a.of(3, "n"), "limit: 2") + "]"
	f.scripts = map[string][]int32{"worker": {0}, "worker-0": a.failing(fails, 0)}
	if a.of(3, "disrupted") == 0 {
		f.restarts, f.scripts["worker-0"] = map[string]int{}, []int32{0}
		f.disruptions = map[string][]string{"worker-0": {[]string{byDelete, byEvict, byForce}[a.of(3, "how")]}}
	}
	return f
}

// exitCode: codes that are retried, and one that is not.
func exitCode(a author) *fate {
	n := a.of(3, "n")
	f := &fate{phase: v1beta1.JobFailed, restarts: map[string]int{"worker": n}}
	f.spec = "replicaSpecs: [" + f.group("worker", 2, "policy: ExitCode, exitCodes: [130, 138], limit: 5") + "]"
	f.scripts = map[string][]int32{"worker": {0}, "worker-1": append([]int32{138, 130}[:n], 1)}
	a.disrupt(f, "worker-1")
	return f
}

// never: a failure is final.
func never(a author) *fate {
	f := &fate{phase: v1beta1.JobSucceeded, scripts: map[string][]int32{"worker": {0}}}
	f.spec = "replicaSpecs: [" + f.group("worker", 3, "policy: Never") + "]"
	if a.of(2, "end") == 0 {
		f.phase, f.scripts["worker-2"] = v1beta1.JobFailed, []int32{7}
	}
	return f
}

// always: success is restarted, too, until the limit is spent.
func always(a author) *fate {
	limit := 1 + a.of(2, "limit")
	f := &fate{phase: v1beta1.JobSucceeded, restarts: map[string]int{"worker": 2 * limit}}
	f.spec = "replicaSpecs: [" + f.group("worker", 2, fmt.Sprint("policy: Always, limit: ", limit)) + "]"
	f.scripts = map[string][]int32{"worker": make([]int32, limit+1)}
	return f
}

// expiring: a job that is deleted, with all that it has, when it is done.
func expiring(a author) *fate {
	f := all(a)
	f.expires = true
	f.spec += fmt.Sprint(", ttlSecondsAfterFinished: ", a.of(3, "ttl"))
	return f
}

// left: a job whose user deletes it while it runs.
func left(author) *fate {
	f := &fate{leaves: true, scripts: map[string][]int32{"worker": {1, 1, forever}, "worker-0": {0}}}
	f.spec = "replicaSpecs: [" + f.group("worker", 3, "limit: 5") + "]"
	return f
}
