package suite_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// namesAreFoundAtOnce counts what a pod asks the local cluster's name server for when it looks another up. For the variable it asks for one
// name, for the short one for each in the search list until the last. So with the first no domain of the node's or the user's can answer for
// the job.
func namesAreFoundAtOnce(s *space) {
	elsewhere := strings.Replace(pod("resolve $(service.master[0].host) then obey"), `{"spec": {`, `{"spec": {"dnsConfig": {"searches": ["elsewhere.test"]}, `, 1)
	job := s.submit("names", `{service: {}, replicaSpecs: [
		{type: master, template: `+pod("obey")+`},
		{type: worker, template: `+elsewhere+`}]}`)
	s.awaitRunning("names", "2/2")
	pods, short := s.pods(job), v1beta1.HostName("names", "master", 0)
	full := short + ".names." + s.ns + ".svc.cluster.local"
	worker := pods["worker-0"]
	require.Equal(s.t, full, worker.Spec.Containers[0].Args[1])
	s.awaitLog(job, "worker", 0, "address "+full+" "+pods["master-0"].Status.PodIP)

	require.Equal(s.t, []string{full}, s.asked(&worker, full))
	require.Equal(s.t, []string{
		short + "." + s.ns + ".svc.cluster.local", short + ".svc.cluster.local", short + ".cluster.local", short + ".elsewhere.test", full,
	}, s.asked(&worker, short))
	s.end(job, "master", 0, 0)
	s.end(job, "worker", 0, 0)
	s.awaitPhase("names", v1beta1.JobSucceeded)
}

var asks = regexp.MustCompile(`([0-9.]+) asks A+ (\S+)\. `)

// asked has a pod look up a host, and returns the names for which the name server is asked by it, each once.
func (s *space) asked(pod *corev1.Pod, host string) []string {
	s.t.Helper()
	before := len(nameServerLog(s))
	text, err := s.kubectl("exec", pod.Name, "--", "/worker", "resolve", host)
	require.NoError(s.t, err, text)
	var names []string
	s.until("the name server has been asked", func() bool {
		names = nil
		for _, m := range asks.FindAllStringSubmatch(nameServerLog(s)[before:], -1) {
			if m[1] == pod.Status.PodIP && (len(names) == 0 || names[len(names)-1] != m[2]) {
				names = append(names, m[2])
			}
		}
		return len(names) > 0
	})
	return names
}

// nameServerLog is the log of the local cluster's CoreDNS.
func nameServerLog(s *space) string {
	text, err := os.ReadFile(filepath.Join(filepath.Dir(clientcmd.NewDefaultClientConfigLoadingRules().GetDefaultFilename()), "logs", "coredns.log"))
	require.NoError(s.t, err)
	return string(text)
}

// nodesNetwork has pods use the network of their node. They find each other. Of those that declare the same port, which is one of the node
// then, the node takes one. The job says why the other waits.
func nodesNetwork(s *space) {
	onHost := func(steps, ports string) string {
		return strings.NewReplacer(`{"spec": {`, `{"spec": {"hostNetwork": true, `, `"env":`, `"ports": [`+ports+`], "env":`).Replace(pod(steps))
	}
	server := `{type: server, template: ` + onHost("obey", `{"containerPort": 18734}`) + `}`
	job := s.submit("host", `{service: {}, replicaSpecs: [`+server+`,
		{type: worker, replicas: 2, template: `+onHost("resolve $(service.server[0].host)", "")+`}]}`)
	s.awaitRunning("host", "1/1") // the workers have ended
	pods := s.pods(job)
	first, worker := pods["server-0"], pods["worker-0"]
	require.EqualValues(s.t, 18734, first.Spec.Containers[0].Ports[0].HostPort)
	require.Equal(s.t, corev1.DNSClusterFirstWithHostNet, worker.Spec.DNSPolicy)
	require.Equal(s.t, first.Status.HostIP, first.Status.PodIP)
	s.awaitLog(job, "worker", 0, "address host-server-0.host."+s.ns+".svc.cluster.local "+first.Status.HostIP)

	late := s.submit("late", `{replicaSpecs: [`+server+`]}`)
	s.await("late", "it says why it waits", func(j *v1beta1.GenericJob) bool {
		return strings.Contains(condition(j, v1beta1.ConditionReplicaFailure).Message, "with hostNetwork a node takes one pod of those that declare the same containerPort")
	})
	require.Equal(s.t, "Unschedulable", condition(s.job("late"), v1beta1.ConditionReplicaFailure).Reason)
	s.end(job, "server", 0, 0)
	s.awaitPhase("host", v1beta1.JobSucceeded)
	s.awaitRunning("late", "1/1")
	s.end(late, "server", 0, 0)
	s.awaitPhase("late", v1beta1.JobSucceeded)
}
