package build

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// jobOf is a job with two ps and three workers.
func jobOf(edits ...func(*v1beta1.GenericJobSpec)) *v1beta1.GenericJob {
	two, three := int32(2), int32(3)
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns", UID: "uid"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "ps", Replicas: &two}, {Type: "worker", Replicas: &three}}
	for i := range job.Spec.ReplicaSpecs {
		job.Spec.ReplicaSpecs[i].Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "image"}}
	}
	for _, edit := range edits {
		edit(&job.Spec)
	}
	return job
}

// worker edits the template of the workers.
func worker(edit func(*corev1.PodTemplateSpec)) func(*v1beta1.GenericJobSpec) {
	return func(s *v1beta1.GenericJobSpec) { edit(&s.ReplicaSpecs[1].Template) }
}

func service(ports ...corev1.ServicePort) func(*v1beta1.GenericJobSpec) {
	return func(s *v1beta1.GenericJobSpec) { s.Service = &v1beta1.ServiceOption{Ports: ports} }
}

func mode(m v1beta1.RunMode) func(*v1beta1.GenericJobSpec) {
	return func(s *v1beta1.GenericJobSpec) { s.RunMode = &m }
}

// podOf is the pod of a worker of a job, in attempt 4; the job must stay as it is.
func podOf(t *testing.T, job *v1beta1.GenericJob, run Run, rank int) *corev1.Pod {
	t.Helper()
	before := job.DeepCopy()
	pod := NewBuilder(job, run).Pod("worker", rank, 4)
	require.Equal(t, before, job, "the stored job was changed")
	require.Equal(t, pod, NewBuilder(job, run).Pod("worker", rank, 4), "equal input makes equal pods")
	return pod
}

func TestMetadataIsOurs(t *testing.T) {
	job := jobOf(worker(func(p *corev1.PodTemplateSpec) {
		p.Name, p.GenerateName, p.Namespace, p.Finalizers = "mine", "mine-", "elsewhere", []string{"mine/finalizer"}
		p.OwnerReferences = []metav1.OwnerReference{{Name: "me"}}
		p.Annotations = map[string]string{"note": "x", v1beta1.AnnotationStopped: "stopped", v1beta1.AnnotationDisrupted: "disrupted", "batch.tensorstack.dev/else": "x"}
	}))
	pod := podOf(t, job, Run{}, 1)
	require.Equal(t, metav1.ObjectMeta{
		Name: spec.PodName(job, "worker", 1), Namespace: "ns", Labels: pod.Labels, // see the next test
		Annotations: map[string]string{"note": "x"}, Finalizers: []string{v1beta1.FinalizerTracking},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, v1beta1.GroupVersion.WithKind("GenericJob"))},
	}, pod.ObjectMeta)
	require.Nil(t, NewBuilder(job, Run{}).Pod("nobody", 0, 0))
}

func TestLabels(t *testing.T) {
	long := strings.Repeat("x", 1000) + "$(rank)"
	tests := map[string]struct {
		template map[string]string
		edits    []func(*v1beta1.GenericJobSpec)
		run      Run
		want     map[string]string // beside, or instead of, those that every pod has
	}{
		"those of every pod":                          {},
		"the template's are added":                    {template: map[string]string{"app": "x"}, want: map[string]string{"app": "x"}},
		"the template's win over the platform's":      {template: map[string]string{v1beta1.LabelT9kType: "mine"}, want: map[string]string{v1beta1.LabelT9kType: "mine"}},
		"nobody poses as another job's pod":           {template: map[string]string{v1beta1.LabelJobUID: "stolen", v1beta1.LabelJobName: "stolen"}},
		"nobody poses as another replica":             {template: map[string]string{v1beta1.LabelReplicaType: "ps", v1beta1.LabelReplicaRank: "0", v1beta1.LabelAttempt: "9", v1beta1.LabelModeGeneration: "9"}},
		"nobody makes a pod's end say nothing":        {template: map[string]string{v1beta1.LabelDebug: "true"}},
		"no key with our prefix, known or not":        {template: map[string]string{"batch.tensorstack.dev/else": "x"}},
		"a like prefix is another's":                  {template: map[string]string{"xbatch.tensorstack.dev/else": "x"}, want: map[string]string{"xbatch.tensorstack.dev/else": "x"}},
		"values are expanded":                         {template: map[string]string{"slot": "$(type)-$(rank)-$(index)"}, want: map[string]string{"slot": "worker-1-3"}},
		"a value that expands to nothing is left out": {template: map[string]string{"first": "$(onRank[0].yes)"}},
		"but not on the rank that it names":           {template: map[string]string{"second": "$(onRank[1].yes)"}, want: map[string]string{"second": "yes"}},
		"a value that was empty stays so":             {template: map[string]string{"flag": ""}, want: map[string]string{"flag": ""}},
		"the mode generation is that of the run":      {run: Run{ModeGeneration: 3}, want: map[string]string{v1beta1.LabelModeGeneration: "3"}},
		"a debug pod says so":                         {edits: []func(*v1beta1.GenericJobSpec){mode(v1beta1.RunMode{Debug: &v1beta1.DebugMode{Enabled: true}})}, want: map[string]string{v1beta1.LabelDebug: "true"}},
		"a value may begin with what is expanded":     {template: map[string]string{"x": "$(replicas[worker])x"}, want: map[string]string{"x": "3x"}},
		"what is far too long stays as it says":       {template: map[string]string{"x": long}, want: map[string]string{"x": long}},
		"what cannot be expanded stays as it says":    {template: map[string]string{"x": "$(replicas[y])"}, want: map[string]string{"x": "$(replicas[y])"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			want := map[string]string{
				"replica-type": "worker", "replica-index": "1", "genericjob": "job", "genericjob-replica": "job-worker-1",
				"tensorstack.dev/component": "genericjob", "tensorstack.dev/component-type": "user",
				"tensorstack.dev/owner-kind": "GenericJob", "tensorstack.dev/owner-name": "job",
				v1beta1.LabelJobUID: "uid", v1beta1.LabelJobName: "job", v1beta1.LabelReplicaType: "worker", v1beta1.LabelReplicaRank: "1",
				v1beta1.LabelAttempt: "4", v1beta1.LabelModeGeneration: "0",
			}
			for key, value := range tc.want {
				want[key] = value
			}
			job := jobOf(append(tc.edits, worker(func(p *corev1.PodTemplateSpec) { p.Labels = tc.template }))...)
			require.Equal(t, want, podOf(t, job, tc.run, 1).Labels)
		})
	}
}

// Nothing of the template is edited but what is documented.
func TestTemplateIsLeftAlone(t *testing.T) {
	grace, user := int64(7), int64(1000)
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyAlways, TerminationGracePeriodSeconds: &grace, NodeSelector: map[string]string{"gpu": "yes"},
		ServiceAccountName: "sa", HostNetwork: true, DNSPolicy: corev1.DNSClusterFirstWithHostNet, PriorityClassName: "high",
		SecurityContext: &corev1.PodSecurityContext{RunAsUser: &user}, Tolerations: []corev1.Toleration{{Key: "gpu"}},
		InitContainers: []corev1.Container{{Name: "init", Image: "i", Args: []string{"$(rank)"}}},
		Containers: []corev1.Container{{
			Name: "main", Image: "$(type)", WorkingDir: "$(type)", Command: []string{"run", "$(OTHER)"}, Args: []string{"--rank=$(rank)", "$$(rank)"},
			Env: []corev1.EnvVar{{Name: "RANK", Value: "$(index)"}, {Name: "REF", ValueFrom: &corev1.EnvVarSource{
				FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}},
			Ports: []corev1.ContainerPort{{ContainerPort: 2222}},
		}},
		Volumes: []corev1.Volume{{Name: "data"}},
	}}
	pod := podOf(t, jobOf(worker(func(p *corev1.PodTemplateSpec) { *p = template })), Run{}, 2)

	want := template.DeepCopy().Spec
	want.RestartPolicy = corev1.RestartPolicyNever
	want.InitContainers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	want.Containers[0].TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	want.Hostname = "job-worker-2"
	want.InitContainers[0].Args[0] = "2"
	want.Containers[0].Args = []string{"--rank=2", "$$(rank)"}
	want.Containers[0].Env[0].Value = "4"
	require.Equal(t, want, pod.Spec)
}

func TestNetworkNames(t *testing.T) {
	own := worker(func(p *corev1.PodTemplateSpec) {
		p.Spec.DNSConfig = &corev1.PodDNSConfig{Searches: []string{"example.com"}, Nameservers: []string{"1.1.1.1"}}
		p.Spec.Hostname, p.Spec.Subdomain = "mine", "mine"
	})
	ndots := func(n string) []corev1.PodDNSConfigOption {
		return []corev1.PodDNSConfigOption{{Name: "ndots", Value: &n}}
	}
	asks := func(policy corev1.DNSPolicy, options []corev1.PodDNSConfigOption) func(*v1beta1.GenericJobSpec) {
		return worker(func(p *corev1.PodTemplateSpec) {
			p.Spec.DNSPolicy, p.Spec.DNSConfig = policy, &corev1.PodDNSConfig{Options: options}
		})
	}
	corp := []string{"job.ns.svc.corp"}
	tests := map[string]struct {
		job       *v1beta1.GenericJob
		run       Run
		subdomain string
		dns       *corev1.PodDNSConfig
	}{
		"a job without a Service has host names that nobody finds": {jobOf(), Run{}, "", nil},
		"with one the short names resolve":                         {jobOf(service()), Run{}, "job", &corev1.PodDNSConfig{Searches: []string{"job.ns.svc.cluster.local"}}},
		"in the cluster's own domain":                              {jobOf(service()), Run{ClusterDomain: "my.corp"}, "job", &corev1.PodDNSConfig{Searches: []string{"job.ns.svc.my.corp"}}},
		"if that has one label alone, full names have too few dots to be asked for first": {jobOf(service()), Run{ClusterDomain: "corp"}, "job",
			&corev1.PodDNSConfig{Searches: corp, Options: ndots("4")}},
		"unless the user says how many are enough": {jobOf(service(), asks("ClusterFirst", ndots("2"))), Run{ClusterDomain: "corp"}, "job",
			&corev1.PodDNSConfig{Searches: corp, Options: ndots("2")}},
		"or brings a resolver that asks for them": {jobOf(service(), asks("None", nil)), Run{ClusterDomain: "corp"}, "job",
			&corev1.PodDNSConfig{Searches: corp}},
		"the template's search entries come first": {jobOf(service(), own), Run{}, "job",
			&corev1.PodDNSConfig{Searches: []string{"example.com", "job.ns.svc.cluster.local"}, Nameservers: []string{"1.1.1.1"}}},
		"without a Service its DNS is left alone": {jobOf(own), Run{}, "mine",
			&corev1.PodDNSConfig{Searches: []string{"example.com"}, Nameservers: []string{"1.1.1.1"}}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(t, tc.job, tc.run, 1)
			require.Equal(t, "job-worker-1", pod.Spec.Hostname)
			require.Equal(t, tc.subdomain, pod.Spec.Subdomain)
			require.Equal(t, tc.dns, pod.Spec.DNSConfig)
		})
	}
}

func TestPodsOnTheirNodesNetworkResolveToo(t *testing.T) {
	for name, tc := range map[string]struct {
		job  *v1beta1.GenericJob
		want corev1.DNSPolicy
	}{
		"that of Kubernetes asks the node's name servers": {jobOf(service(), onHost("")), corev1.DNSClusterFirstWithHostNet},
		"a user's own choice stays":                       {jobOf(service(), onHost(corev1.DNSDefault)), corev1.DNSDefault},
		"a job without a Service has no names":            {jobOf(onHost("")), ""},
		"a pod with a network of its own needs nothing":   {jobOf(service()), ""},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, tc.want, podOf(t, tc.job, Run{}, 1).Spec.DNSPolicy) })
	}
}

func onHost(policy corev1.DNSPolicy) func(*v1beta1.GenericJobSpec) {
	return worker(func(p *corev1.PodTemplateSpec) { p.Spec.HostNetwork, p.Spec.DNSPolicy = true, policy })
}

// What must resolve is a full name; what must fit, as a label or in a command, is short.
func TestHostNamesAreFullWhereTheyMustResolve(t *testing.T) {
	job := jobOf(service(), worker(func(p *corev1.PodTemplateSpec) {
		p.Labels = map[string]string{"first": "$(service.worker[0].host)"}
		p.Spec.Containers = []corev1.Container{{
			Name: "main", Command: []string{"$(service.worker[0].host):80"}, Env: []corev1.EnvVar{{Name: "ALL", Value: "$(service.worker.hosts)"}},
		}}
	}))
	job.Status.ServiceName = "job-x"
	pod := podOf(t, job, Run{ClusterDomain: "corp"}, 1)
	require.Equal(t, "job-worker-0.job-x.ns.svc.corp:80", pod.Spec.Containers[0].Command[0])
	require.Equal(t, "job-worker-0", pod.Labels["first"])
	require.NotContains(t, pod.Spec.Containers[0].Env[0].Value, ".")
}

// TensorStack's platform calls the replica that decides a job its master.
func TestTheReplicaThatDecidesAloneIsTheMaster(t *testing.T) {
	one := v1beta1.FinishRule{"worker": {intstr.FromInt32(1)}}
	tests := map[string]struct {
		rules []v1beta1.FinishRule
		want  []string // the roles of worker 0, worker 1
	}{
		"one rank decides":             {[]v1beta1.FinishRule{one}, []string{"", "master"}},
		"a numeric string is a rank":   {[]v1beta1.FinishRule{{"worker": {intstr.FromString("0")}}}, []string{"master", ""}},
		"any rank is not one":          {[]v1beta1.FinishRule{{"worker": {intstr.FromString("any")}}}, []string{"", ""}},
		"a rank of another type":       {[]v1beta1.FinishRule{{"ps": {intstr.FromInt32(0)}}}, []string{"", ""}},
		"two rules, so nobody decides": {[]v1beta1.FinishRule{one, {"worker": {intstr.FromInt32(0)}}}, []string{"", ""}},
		"two ranks in one rule":        {[]v1beta1.FinishRule{{"worker": {intstr.FromInt32(0), intstr.FromInt32(1)}}}, []string{"", ""}},
		"all ranks":                    {[]v1beta1.FinishRule{{"worker": nil}}, []string{"", ""}},
		"two types in one rule":        {[]v1beta1.FinishRule{{"worker": {intstr.FromInt32(1)}, "ps": {intstr.FromInt32(0)}}}, []string{"", ""}},
		"no rule":                      {nil, []string{"", ""}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := jobOf(func(s *v1beta1.GenericJobSpec) { s.SuccessRules = tc.rules })
			for rank, want := range tc.want {
				require.Equal(t, want, podOf(t, job, Run{}, rank).Labels[v1beta1.LabelT9kRole])
			}
		})
	}
}

func TestPodsWaitForALostNodeAsLongAsTheJobOrTheOperatorSays(t *testing.T) {
	all := corev1.Toleration{Operator: corev1.TolerationOpExists}
	job := jobOf(worker(func(p *corev1.PodTemplateSpec) { p.Spec.Tolerations = []corev1.Toleration{all} }))
	require.Equal(t, []corev1.Toleration{all}, podOf(t, job, Run{}, 0).Spec.Tolerations)
	list := podOf(t, job, Run{NodeLostAfter: time.Minute}, 0).Spec.Tolerations
	require.Len(t, list, 3)
	require.EqualValues(t, 60, *list[1].TolerationSeconds)
	job.Spec.NodeLost = &v1beta1.NodeLost{AfterSeconds: 30}
	list = podOf(t, job, Run{NodeLostAfter: time.Minute}, 0).Spec.Tolerations
	require.Len(t, list, 3)
	require.EqualValues(t, 30, *list[0].TolerationSeconds)
	require.Equal(t, all, list[2])
}
