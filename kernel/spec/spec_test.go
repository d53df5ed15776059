package spec

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestRank(t *testing.T) {
	tests := map[string]struct {
		in   intstr.IntOrString
		want int
		err  string
	}{
		"int":              {in: intstr.FromInt32(3), want: 3},
		"numeric string":   {in: intstr.FromString("12"), want: 12},
		"zero":             {in: intstr.FromString("0"), want: 0},
		"negative int":     {in: intstr.FromInt32(-1), err: "-1 is not a rank: ranks begin at 0"},
		"negative string":  {in: intstr.FromString("-2"), err: "-2 is not a rank: ranks begin at 0"},
		"not a number":     {in: intstr.FromString("all"), err: `"all" is not a rank: want a number`},
		"the empty string": {in: intstr.FromString(""), err: `"" is not a rank: want a number`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := Rank(tc.in)
			if tc.err != "" {
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

// The vectors are names, UIDs and pod names that public pages of TensorStack's platform show.
func TestHash5IsThatOfTensorStacksPlatform(t *testing.T) {
	tests := map[string]struct{ uid, want string }{
		"torch-mnist-trainingjob": {"9dcea839-3a99-4b6f-b594-620d79f8377d", "7a8f5"},
		"gpt-125m":                {"e2a69076-1c19-46ce-9c70-2cdf20176e01", "d02e2"},
		"mnist":                   {"422e8cc7-163f-4d49-9fb8-d059e490a09b", "12e8d"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(tc.uid)}}
			require.Equal(t, tc.want, v1beta1.Hash5(job.Name, string(job.UID)))
			require.Equal(t, name+"-"+tc.want+"-node-0", PodName(job, "node", 0))
			require.Equal(t, name+"-node-0", v1beta1.HostName(name, "node", 0))
		})
	}
}

// The scale subresource writes spec.replicas, which counts for a job of one type alone.
func TestReplicasOfTheJobAreThoseOfItsOnlyType(t *testing.T) {
	job := &v1beta1.GenericJob{}
	job.Spec.Replicas = ptr.To[int32](5)
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "worker", Replicas: ptr.To[int32](3)}}
	require.Equal(t, 5, Replicas(job, &job.Spec.ReplicaSpecs[0]))
	job.Spec.ReplicaSpecs = append(job.Spec.ReplicaSpecs, v1beta1.ReplicaSpec{Type: "ps"})
	require.Equal(t, 3, Replicas(job, &job.Spec.ReplicaSpecs[0]))
	require.Equal(t, 1, Replicas(job, &job.Spec.ReplicaSpecs[1]))
}

func portsNamed(name string, port int32, other string, otherPort int32) *v1beta1.ServiceOption {
	return &v1beta1.ServiceOption{Ports: []corev1.ServicePort{{Name: name, Port: port}, {Name: other, Port: otherPort}}}
}

const noVariable = ` is no variable: want $(replicas[<type>]), $(service.<type>[<rank>].host), $(service.<type>.hosts), $(service.port[<name>]) or $(onRank[<rank>].<text>)`

func TestExpand(t *testing.T) {
	two, three := int32(2), int32(3)
	job := &v1beta1.GenericJob{ObjectMeta: metav1.ObjectMeta{Name: "job", Namespace: "ns"}}
	job.Spec.ReplicaSpecs = []v1beta1.ReplicaSpec{{Type: "ps", Replicas: &two}, {Type: "worker", Replicas: &three}, {Type: "one"}}
	withService := job.DeepCopy()
	withService.Spec.Service = &v1beta1.ServiceOption{}
	withPort := job.DeepCopy()
	withPort.Spec.Service = portsNamed("http", 2222, "", 80)
	crowd := withService.DeepCopy()
	crowd.Spec.ReplicaSpecs[1].Replicas = ptr.To[int32](8000)

	tests := map[string]struct {
		job     *v1beta1.GenericJob
		in      string
		want    string
		problem string
	}{
		"type":                    {in: "$(type)", want: "worker"},
		"rank":                    {in: "$(rank)", want: "1"},
		"index over all types":    {in: "$(index)", want: "3"},
		"replicas":                {in: "$(replicas[ps]) $(replicas[worker]) $(replicas[one])", want: "2 3 1"},
		"host":                    {job: withService, in: "$(service.ps[1].host):80", want: "job-ps-1:80"},
		"port":                    {job: withPort, in: "$(service.port[http])", want: "2222"},
		"port without a name":     {job: withPort, in: "$(service.port[])", want: "80"},
		"many in one text":        {in: "--a=$(type)-$(rank)/$(replicas[worker])!", want: "--a=worker-1/3!"},
		"attempt":                 {in: "$(attempt)", want: "4"},
		"all hosts":               {job: withService, in: "-H $(service.worker.hosts)", want: "-H job-worker-0,job-worker-1,job-worker-2"},
		"in a shell's sum":        {in: "sleep $((10+$(rank)*5))", want: "sleep $((10+1*5))"},
		"in a shell's command":    {in: "echo $(hostname -$(type)) $(rank)", want: "echo $(hostname -worker) 1"},
		"deep in a shell's":       {in: "$(a $(b $(c $(rank))))", want: "$(a $(b $(c 1)))"},
		"escaped in a shell's":    {in: "$(a $$(rank) $(rank))", want: "$(a $$(rank) 1)"},
		"never closed behind one": {in: "$(rank) $(a $(b", want: "1 $(a $(b"},
		"replicas of all types":   {in: "$(replicas[*]) $(replicas[*]*8)", want: "6 48"},
		"a factor that is none":   {in: "$(replicas[*]*0)", want: "$(replicas[*]*0)", problem: `$(replicas[*]*0)` + noVariable},
		"text on this rank":       {in: "<$(onRank[1].--chief)>", want: "<--chief>"},
		"text on another rank":    {in: "<$(onRank[11].--chief)$(onRank[0].x)>", want: "<>"},
		"Kubernetes' own, though": {in: "$(var[rank]) $(rank)", want: "$(rank) 1"},
		"nothing to replace":      {in: "plain $VAR ${VAR} text", want: "plain $VAR ${VAR} text"},
		"Kubernetes' own":         {in: "$(MY_VAR) $(rank)", want: "$(MY_VAR) 1"},
		"escaped":                 {in: "$$(rank) $(rank)", want: "$$(rank) 1"},
		"twice escaped":           {in: "$$$$(rank)", want: "$$$$(rank)"},
		"escaped dollar, then it": {in: "$$$(rank)", want: "$$1"},
		"lone dollars":            {in: "$ a$ $(rank)$", want: "$ a$ 1$"},
		"not closed":              {in: "$(rank $(type", want: "$(rank $(type"},
		"empty name":              {in: "$()$(rank)", want: "$()1"},
		"JSON": {job: withService, in: `{"task":{"type":"$(type)","index":$(rank)},"h":["$(service.worker[0].host):1"]}`,
			want: `{"task":{"type":"worker","index":1},"h":["job-worker-0:1"]}`},
		"no such type": {in: "$(replicas[master])", want: "$(replicas[master])",
			problem: `$(replicas[master]) names type "master": want one of [one ps worker]`},
		"no such port": {job: withPort, in: "$(service.port[grpc])", want: "$(service.port[grpc])",
			problem: `$(service.port[grpc]) names port "grpc": want one of spec.service.ports, which has [ http]`},
		"a host without a service": {in: "$(service.ps[0].host)", want: "$(service.ps[0].host)",
			problem: `$(service.ps[0].host) needs host names: set spec.service ({} will do)`},
		"a host of no such type": {job: withService, in: "$(service.chief[0].host)", want: "$(service.chief[0].host)",
			problem: `$(service.chief[0].host) names type "chief": want one of [one ps worker]`},
		"a host of no rank": {job: withService, in: "$(service.ps[x].host)", want: "$(service.ps[x].host)",
			problem: `$(service.ps[x].host) names rank "x": want a number from 0 to 1`},
		"a host of a negative rank": {job: withService, in: "$(service.ps[-1].host)", want: "$(service.ps[-1].host)",
			problem: `$(service.ps[-1].host) names rank "-1": want a number from 0 to 1`},
		"a host beyond the last rank still has a name": {job: withService, in: "$(service.ps[2].host)", want: "job-ps-2",
			problem: `$(service.ps[2].host) names rank 2: ranks of ps go from 0 to 1`},
		"all problems are told": {in: "$(replicas[a]) $(replicas[b])", want: "$(replicas[a]) $(replicas[b])",
			problem: `$(replicas[a]) names type "a": want one of [one ps worker]; $(replicas[b]) names type "b": want one of [one ps worker]`},
		"a port without a service": {in: "$(service.port[http])", want: "$(service.port[http])",
			problem: `$(service.port[http]) needs a port: set spec.service.ports, as in {ports: [{name: http, port: 2222}]}`},
		"hosts without a service": {in: "$(service.ps.hosts)", want: "$(service.ps.hosts)", problem: `$(service.ps.hosts) needs host names: set spec.service ({} will do)`},
		"more hosts than a command takes": {job: crowd, in: "$(service.worker.hosts)", want: "$(service.worker.hosts)",
			problem: `$(service.worker.hosts) would have more than 100000 bytes, which no command takes: make the names from $(replicas[worker])`},
		"hosts of no such type": {job: withService, in: "$(service.chief.hosts)", want: "$(service.chief.hosts)", problem: `$(service.chief.hosts) names type "chief": want one of [one ps worker]`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if tc.job == nil {
				tc.job = job
			}
			got, problems := NewExpander(tc.job, false).Expand(tc.in, Replica{Type: "worker", Rank: 1, Attempt: 4})
			require.Equal(t, tc.want, got)
			require.Equal(t, tc.problem, strings.Join(problems, "; "))
		})
	}
}
