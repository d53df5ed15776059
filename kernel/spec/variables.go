package spec

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// Expander replaces a job's variables in commands, args, env values and labels:
//
//	$(type)                      the replica's type
//	$(rank)                      its rank in the type
//	$(index)                     its rank over all types, in list order (extension)
//	$(replicas[<type>])          the number of replicas of a type
//	$(replicas[*])               the number of replicas of all types (extension); $(replicas[*]*<n>) is n times that
//	$(onRank[<rank>].<text>)     text on that rank of the type, nothing on others (extension)
//	$(var[<name>])               $(<name>): Kubernetes' own variable, though it has the name of one of these (extension)
//	$(service.<type>[<rank>].host)  the host name of a replica
//	$(service.port[<name>])      a port of spec.service
//
// Other names stay as they are: Kubernetes expands $(VAR) of the container's own environment later. $$(x) is Kubernetes'
// way to write a literal $(x), and stays for it too.
type Expander struct {
	job   *v1beta1.GenericJob
	n     map[string]int
	first map[string]int // $(index) of a type's rank 0
	total int            // of all types
	begun bool
	ports map[string]int32
}

// NewExpander returns the expander of a job. If it has begun, ranks may have been scaled away, and their host names keep
// their meaning.
func NewExpander(job *v1beta1.GenericJob, begun bool) *Expander {
	e := &Expander{job: job, n: map[string]int{}, first: map[string]int{}, ports: map[string]int32{}, begun: begun}
	for i := range job.Spec.ReplicaSpecs {
		r := &job.Spec.ReplicaSpecs[i]
		e.n[r.Type], e.first[r.Type] = Replicas(r), e.total
		e.total += e.n[r.Type]
	}
	if job.Spec.Service != nil {
		for _, port := range job.Spec.Service.Ports {
			e.ports[port.Name] = port.Port
		}
	}
	return e
}

var (
	allVar      = regexp.MustCompile(`^replicas\[\*\](?:\*([1-9][0-9]{0,8}))?$`)
	onRankVar   = regexp.MustCompile(`^onRank\[([0-9]{1,9})\]\.(.*)$`)
	ownVar      = regexp.MustCompile(`^var\[(.*)\]$`)
	replicasVar = regexp.MustCompile(`^replicas\[(.*)\]$`)
	hostVar     = regexp.MustCompile(`^service\.([^\[\]]*)\[(.*)\]\.host$`)
	portVar     = regexp.MustCompile(`^service\.port\[(.*)\]$`)
)

// Expand replaces the variables in text. The second result says what is wrong with the first variable that names
// something that the job does not have, and how to mend it.
func (e *Expander) Expand(text, replicaType string, rank int) (string, string) {
	if !strings.Contains(text, "$(") {
		return text, ""
	}
	var b strings.Builder
	problem := ""
	for {
		i := strings.IndexByte(text, '$')
		if i < 0 || i+1 == len(text) {
			break
		}
		if text[i+1] != '(' { // a lone "$", or the "$$" that escapes what follows
			b.WriteString(text[:i+2])
			text = text[i+2:]
			continue
		}
		end := strings.IndexByte(text[i:], ')')
		if end < 0 { // nothing is closed any more: to look on from each "$(" would take for ever in a long text
			break
		}
		value, known, bad := e.lookup(text[i+2:i+end], replicaType, rank)
		if !known {
			value = text[i : i+end+1]
		}
		if problem == "" {
			problem = bad
		}
		b.WriteString(text[:i] + value)
		text = text[i+end+1:]
	}
	return b.String() + text, problem
}

// lookup finds the value of one variable. Unknown names are not known, which is no problem.
func (e *Expander) lookup(name, replicaType string, rank int) (value string, known bool, problem string) {
	switch name {
	case "type":
		return replicaType, true, ""
	case "rank":
		return strconv.Itoa(rank), true, ""
	case "index":
		return strconv.Itoa(e.first[replicaType] + rank), true, ""
	}
	if text, ok := e.plain(name, rank); ok {
		return text, true, ""
	}
	if m := replicasVar.FindStringSubmatch(name); m != nil {
		n, ok := e.n[m[1]]
		if !ok {
			return "", false, fmt.Sprintf("$(%s) names type %q: want one of %v", name, m[1], slices.Sorted(maps.Keys(e.n)))
		}
		return strconv.Itoa(n), true, ""
	}
	if m := portVar.FindStringSubmatch(name); m != nil {
		port, ok := e.ports[m[1]]
		if !ok {
			return "", false, fmt.Sprintf("$(%s) names port %q: want one of spec.service.ports, which has %v", name, m[1], slices.Sorted(maps.Keys(e.ports)))
		}
		return strconv.Itoa(int(port)), true, ""
	}
	if m := hostVar.FindStringSubmatch(name); m != nil {
		return e.host(name, m[1], m[2])
	}
	return "", false, ""
}

// plain finds the value of those variables that can name nothing that is not there.
func (e *Expander) plain(name string, rank int) (string, bool) {
	if m := allVar.FindStringSubmatch(name); m != nil {
		factor, err := strconv.Atoi(m[1])
		if err != nil {
			factor = 1 // there is none
		}
		return strconv.Itoa(e.total * factor), true
	}
	if m := onRankVar.FindStringSubmatch(name); m != nil {
		if m[1] != strconv.Itoa(rank) {
			return "", true
		}
		return m[2], true
	}
	if m := ownVar.FindStringSubmatch(name); m != nil {
		return "$(" + m[1] + ")", true
	}
	return "", false
}

func (e *Expander) host(name, replicaType, rankText string) (value string, known bool, problem string) {
	n, ok := e.n[replicaType]
	switch rank, err := strconv.Atoi(rankText); {
	case e.job.Spec.Service == nil:
		return "", false, fmt.Sprintf("$(%s) needs host names: set spec.service ({} will do)", name)
	case !ok:
		return "", false, fmt.Sprintf("$(%s) names type %q: want one of %v", name, replicaType, slices.Sorted(maps.Keys(e.n)))
	case err != nil || rank < 0:
		return "", false, fmt.Sprintf("$(%s) names rank %q: want a number from 0 to %d", name, rankText, n-1)
	case rank >= n && !e.begun:
		return v1beta1.HostName(e.job.Name, replicaType, rank), true,
			fmt.Sprintf("$(%s) names rank %d: ranks of %s go from 0 to %d", name, rank, replicaType, n-1)
	default:
		return v1beta1.HostName(e.job.Name, replicaType, rank), true, ""
	}
}

// EachText visits every text of a pod in which variables are expanded, with the name of its container.
func EachText(pod *corev1.PodSpec, visit func(container string, text *string)) {
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			c := &list[i]
			for j := range c.Command {
				visit(c.Name, &c.Command[j])
			}
			for j := range c.Args {
				visit(c.Name, &c.Args[j])
			}
			for j := range c.Env {
				visit(c.Name, &c.Env[j].Value)
			}
		}
	}
}
