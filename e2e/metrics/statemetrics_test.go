package metrics

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// stateMetrics starts kube-state-metrics as deploy/monitoring says, with no right that its role does not give. It says where it answers.
func (r *run) stateMetrics() (address string) {
	r.t.Helper()
	role, account := &rbacv1.ClusterRole{}, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kube-state-metrics"}}
	text, err := os.ReadFile(r.monitoring("kube-state-metrics/role.yaml"))
	require.NoError(r.t, err)
	require.NoError(r.t, yaml.UnmarshalStrict(text, role))
	for _, o := range []client.Object{role, account, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}} {
		require.NoError(r.t, r.Create(r.t.Context(), o))
	}
	address = testenv.FreeAddress(r.t)
	at, own := strings.Split(address, ":"), strings.Split(testenv.FreeAddress(r.t), ":")
	r.start("kube-state-metrics", address, nil, r.stateProgram, "--kubeconfig="+r.kubeconfig("kube-state-metrics", account.Namespace, account.Name),
		"--custom-resource-state-only", "--custom-resource-state-config-file="+r.monitoring("kube-state-metrics/config.yaml"),
		"--host="+at[0], "--port="+at[1], "--telemetry-host="+own[0], "--telemetry-port="+own[1])
	return address
}

var (
	sample = regexp.MustCompile(`(?m)^([a-z_]+)\{(.*)\} (\S+)$`)
	label  = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
)

// scraped are the series of an address: their labels, and their values.
func (r *run) scraped(address string) (found []series) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+address+"/metrics", nil)
	require.NoError(r.t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil // it does not listen yet
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	for _, line := range sample.FindAllStringSubmatch(string(text), -1) {
		s := series{Metric: map[string]string{"__name__": line[1]}, Value: [2]any{nil, line[3]}}
		for _, l := range label.FindAllStringSubmatch(line[2], -1) {
			s.Metric[l[1]] = l[2]
		}
		found = append(found, s)
	}
	return found
}

// shown is what statuses say, as the series of one job.
func shown(kind string, o client.Object, s *v1beta1.TrainingJobStatus) map[string]string {
	is := map[string]string{}
	at := func(name string, value float64, labels string) {
		is[fmt.Sprintf("%s %s/%s %s%s", kind, o.GetNamespace(), o.GetName(), name, labels)] = strconv.FormatFloat(value, 'g', -1, 64)
	}
	at("phase", 1, " phase="+string(s.Phase))
	at("restarts", float64(s.BackoffCount), "")
	at("disruptions", float64(s.DisruptionCount), "")
	at("created", float64(o.GetCreationTimestamp().Unix()), "")
	at("pods", float64(s.Aggregate.Succeeded), " state=succeeded")
	at("pods", float64(s.Aggregate.Failed), " state=failed")
	if s.CompletionTime != nil {
		at("completed", float64(s.CompletionTime.Unix()), "")
	}
	if s.Time != nil {
		at("time_starting_seconds", float64(s.Time.Starting), "")
		at("time_productive_seconds", float64(s.Time.Productive), "")
		if s.Time.Lost.Restart > 0 {
			at("time_lost_seconds", float64(s.Time.Lost.Restart), " cause=restart")
		}
	}
	if s.Time != nil && s.Time.DeviceSeconds != nil {
		at("device_seconds", float64(s.Time.DeviceSeconds.Productive), " cause=productive")
		at("device_lost_seconds", float64(s.Time.DeviceSeconds.Lost.Node), " cause=node")
	}
	for _, n := range s.AvoidedNodes {
		at("avoided_node_info", 1, " node="+n.Node)
	}
	if f := s.FirstFailure; f != nil {
		at("first_failure_info", 1, " pod="+f.Pod)
	}
	return is
}

// statuses are those of all jobs.
func (r *run) statuses() map[string]string {
	r.t.Helper()
	jobs, training := &v1beta1.GenericJobList{}, &v1beta1.TensorFlowTrainingJobList{}
	require.NoError(r.t, r.List(r.t.Context(), jobs))
	require.NoError(r.t, r.List(r.t.Context(), training))
	all := map[string]string{}
	add := func(more map[string]string) {
		for name, value := range more {
			all[name] = value
		}
	}
	for i := range jobs.Items {
		j := &jobs.Items[i]
		add(shown(v1beta1.KindGenericJob, j, &v1beta1.TrainingJobStatus{
			Phase: j.Status.Phase, BackoffCount: j.Status.BackoffCount, DisruptionCount: j.Status.DisruptionCount, Aggregate: j.Status.Aggregate,
			CompletionTime: j.Status.CompletionTime, Time: j.Status.Time, AvoidedNodes: j.Status.AvoidedNodes, FirstFailure: j.Status.FirstFailure,
		}))
	}
	for i := range training.Items {
		add(shown(v1beta1.KindTensorFlowTrainingJob, &training.Items[i], &training.Items[i].Status))
	}
	return all
}

// ofJobs are series as shown names them.
func ofJobs(all []series) map[string]string {
	is := map[string]string{}
	for _, s := range all {
		name := s.Metric["customresource_kind"] + " " + s.Metric["namespace"] + "/" + s.Metric["name"] + " " + strings.TrimPrefix(s.Metric["__name__"], "genericjob_job_")
		for _, l := range []string{"phase", "state", "cause", "node", "pod"} {
			if value, has := s.Metric[l]; has && (l != "cause" || s.Metric["pod"] == "") && (l != "node" || s.Metric["pod"] == "") {
				name += " " + l + "=" + value
			}
		}
		n, err := strconv.ParseFloat(s.Value[1].(string), 64)
		if err == nil {
			is[name] = strconv.FormatFloat(n, 'g', -1, 64)
		}
	}
	return is
}

// jobByJob compares what a real kube-state-metrics tells, as deploy/monitoring configures it, with the statuses of all jobs.
func (r *run) jobByJob() {
	r.t.Helper()
	text, err := os.ReadFile(r.root + "/deploy/frameworks/xgboost/framework.yaml")
	require.NoError(r.t, err)
	defined := &v1beta1.TrainingFramework{}
	require.NoError(r.t, yaml.UnmarshalStrict(text, defined))
	require.NoError(r.t, r.Create(r.t.Context(), defined))
	r.until("a definition waits for its kind", func() bool { return r.value(`sum(genericjob_definitions{state="Waiting"})`) == 1 })
	spent := r.spent()
	address := r.stateMetrics()
	var differs string
	r.until("each job is told as it is", func() bool {
		told, want := ofJobs(r.scraped(address)), r.statuses()
		now := ""
		for name, value := range want {
			if told[name] != value {
				now = fmt.Sprintf("%s is %q, and told is %q", name, value, told[name])
			}
		}
		if now != differs && len(told) > 0 {
			r.t.Log(now)
			differs = now
		}
		return now == ""
	})
	has, owned, counted := map[string]bool{}, 0, 0
	for _, s := range r.scraped(address) {
		has[s.Metric["__name__"]] = true
		if s.Metric["__name__"] == "genericjob_job_info" && s.Metric["owner_kind"] == v1beta1.KindTensorFlowTrainingJob && s.Metric["owner"] == s.Metric["name"] {
			owned++
		}
		if s.Metric["__name__"] == "genericjob_job_info" && s.Metric["customresource_kind"] == v1beta1.KindGenericJob {
			counted++
		}
	}
	require.Positive(r.t, owned, "GenericJobs of training jobs")
	jobs := &v1beta1.GenericJobList{}
	require.NoError(r.t, r.List(r.t.Context(), jobs))
	require.Len(r.t, jobs.Items, counted, "each job counts once")
	for _, name := range r.configured() {
		require.True(r.t, has[name], "no job has %s", name)
	}
	require.NoError(r.t, r.Delete(r.t.Context(), defined))
	require.NoError(r.t, r.Delete(r.t.Context(), spent))
}

// spent creates a job that no operator works on, with a status that says what its accelerators' time was spent on.
func (r *run) spent() *v1beta1.GenericJob {
	r.t.Helper()
	job := r.job("default", "elsewhere")
	require.NoError(r.t, yaml.UnmarshalStrict([]byte(`managedBy: kueue.x-k8s.io/multikueue
replicaSpecs: [{type: worker, template: {spec: {containers: [{name: main, image: i}]}}}]`), &job.Spec))
	require.NoError(r.t, r.Create(r.t.Context(), job))
	shares := v1beta1.TimeShares{Total: 100, Starting: 10, Productive: 70, Lost: v1beta1.LostTime{Restart: 15, Node: 5}}
	devices := v1beta1.TimeShares{Total: 800, Starting: 80, Productive: 560, Lost: v1beta1.LostTime{Restart: 120, Node: 40}}
	job.Status.Phase, job.Status.Time = v1beta1.JobRunning, &v1beta1.JobTime{TimeShares: shares, Since: metav1.Now(), Goodput: "0.7", DeviceSeconds: &devices}
	require.NoError(r.t, r.Status().Update(r.t.Context(), job))
	return job
}

// configured are the names of the metrics in the configuration.
func (r *run) configured() (names []string) {
	r.t.Helper()
	text, err := os.ReadFile(r.monitoring("kube-state-metrics/config.yaml"))
	require.NoError(r.t, err)
	var config struct {
		Spec struct {
			Resources []struct {
				MetricNamePrefix string
				Metrics          []struct{ Name string }
			}
		}
	}
	require.NoError(r.t, yaml.Unmarshal(text, &config))
	for _, resource := range config.Spec.Resources {
		for _, m := range resource.Metrics {
			names = append(names, resource.MetricNamePrefix+"_"+m.Name)
		}
	}
	require.NotEmpty(r.t, names)
	return names
}
