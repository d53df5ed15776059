package framework

import (
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// HostVariable returns the variable of a GenericJob that stands for the host name of a replica. Rank is a number, or another variable.
func HostVariable(replicaType, rank string) string {
	return "$(service." + replicaType + "[" + rank + "].host)"
}

// AddServicePort adds a port to the Service of a job, unless it has one of that number. The first is called name, the others <name>-<number>.
func AddServicePort(s *v1beta1.ServiceOption, name string, number int32) {
	if slices.ContainsFunc(s.Ports, func(p corev1.ServicePort) bool { return p.Port == number }) {
		return
	}
	if len(s.Ports) > 0 {
		name += "-" + strconv.Itoa(int(number))
	}
	s.Ports = append(s.Ports, corev1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP})
}
