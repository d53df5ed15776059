package spec

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// Expander replaces a job's variables in commands, args, env values and labels:
//
//	$(type)                      the replica's type
//	$(rank)                      its rank in the type
//	$(index)                     its rank over all types, in list order (extension)
//	$(attempt)                   how often the replica was started over, from 0 (extension)
//	$(jobAttempt)                how often the whole job was started over, from 0: the same in all replicas (extension)
//	$(replicas[<type>])          the number of replicas of a type: with those that rules keep (see Kept)
//	$(replicas[*])               the number of replicas of all types (extension); $(replicas[*]*<n>) is n times that
//	$(onRank[<rank>].<text>)     text, without variables, on that rank of the type, nothing on others (extension)
//	$(var[<name>])               $(<name>): Kubernetes' own variable, though it has the name of one of these (extension)
//	$(service.<type>[<rank>].host)  the host name of a replica, with the domain of FullNames
//	$(service.<type>.hosts)      the short host names of all replicas of a type, with commas between them (extension)
//	$(service.port[<name>])      a port of spec.service
//
// What has the word (extension) TensorStack's platform does not have. Other names stay as they are. Kubernetes expands $(VAR) of the container's own
// environment later, and a shell its $(command) and $((sum)). Variables in these are expanded, too. $$(x) is Kubernetes' way to write a literal $(x),
// and stays for it too.
type Expander struct {
	job   *v1beta1.GenericJob
	n     map[string]int
	first map[string]int // $(index) of a type's rank 0
	total int            // of all types
	begun bool
	ports map[string]int32
	// suffix is what the full name of a host adds to the short one.
	suffix string
	lists  *hostLists
}

// Replica is the replica in whose pod a text stands.
type Replica struct {
	Type          string
	Rank, Attempt int
	// JobAttempt is the job attempt.
	JobAttempt int
	// Tokens says that a wrapper fills in the attempts, because they change while the pod lives. The text gets tokens in their place.
	Tokens bool
}

// number prints an attempt, or the token in its place.
func (r Replica) number(n int, token string) string {
	if r.Tokens {
		return token
	}
	return strconv.Itoa(n)
}

// NewExpander returns the expander of a job. If the job has begun, the host name of a rank that was scaled away is no mistake.
func NewExpander(job *v1beta1.GenericJob, begun bool) *Expander {
	e := &Expander{job: job, n: map[string]int{}, first: map[string]int{}, ports: map[string]int32{}, begun: begun, lists: &hostLists{of: map[string]hostList{}}}
	for i := range job.Spec.ReplicaSpecs {
		r := &job.Spec.ReplicaSpecs[i]
		e.n[r.Type], e.first[r.Type] = Kept(job, r), e.total
		e.total += e.n[r.Type]
	}
	if job.Spec.Service != nil {
		for _, port := range job.Spec.Service.Ports {
			e.ports[port.Name] = port.Port
		}
	}
	return e
}

// FullNames returns an expander that writes the name of one host with its domain. Names in a list of hosts stay short: with domains, a list of a
// thousand replicas would be longer than a command may be.
func (e *Expander) FullNames(domain string) *Expander {
	full := *e
	full.suffix = "." + domain
	return &full
}

var (
	allVar      = regexp.MustCompile(`^replicas\[\*\](?:\*([1-9][0-9]{0,8}))?$`)
	onRankVar   = regexp.MustCompile(`^onRank\[([0-9]{1,9})\]\.(.*)$`)
	ownVar      = regexp.MustCompile(`^var\[(.*)\]$`)
	replicasVar = regexp.MustCompile(`^replicas\[(.*)\]$`)
	hostVar     = regexp.MustCompile(`^service\.([^\[\]]*)\[(.*)\]\.host$`)
	hostsVar    = regexp.MustCompile(`^service\.([^\[\]]*)\.hosts$`)
	portVar     = regexp.MustCompile(`^service\.port\[(.*)\]$`)
)

// Expand replaces the variables in text. The second result holds the mistakes: variables that name something the job does not have, and how to
// correct them.
func (e *Expander) Expand(text string, r Replica) (string, []string) {
	return e.expand(text, r, func(string) string { return "" })
}

// expand does what Expand does. It also asks unknown about names that are no variables: what is wrong with one, or "" if nothing is.
func (e *Expander) expand(text string, r Replica, unknown func(name string) string) (string, []string) {
	if !strings.Contains(text, "$(") {
		return text, nil
	}
	var b strings.Builder
	var problems []string
	// from is how much has been read, end where the next ")" is. A text may be long and hostile, so it is not searched again for each "$(".
	from, end := 0, -1
	for {
		i := strings.IndexByte(text[from:], '$') + from
		if i < from || i+1 == len(text) {
			break
		}
		if text[i+1] != '(' { // a lone "$", or the "$$" that escapes what follows
			b.WriteString(text[from : i+2])
			from = i + 2
			continue
		}
		if end < i {
			if end = strings.IndexByte(text[i:], ')') + i; end < i {
				break
			}
		}
		name := text[i+2 : end]
		if strings.Contains(name, "$(") { // the shell's own: look inside
			b.WriteString(text[from : i+2])
			from = i + 2
			continue
		}
		value, known, bad := e.lookup(name, r)
		if !known {
			value = text[i : end+1]
			bad = cmp.Or(bad, unknown(name))
		}
		if bad != "" {
			problems = append(problems, bad)
		}
		b.WriteString(text[from:i] + value)
		from = end + 1
		if b.Len()-from > MaxAdded {
			return b.String() + text[from:], append(problems, tooLong) // not cut: such a pod must be refused, and not run
		}
	}
	return b.String() + text[from:], problems
}

// lookup finds the value of one variable. Known reports whether the name is one of ours; a name that is not is no problem by itself.
func (e *Expander) lookup(name string, r Replica) (value string, known bool, problem string) {
	switch name {
	case "type":
		return r.Type, true, ""
	case "rank":
		return strconv.Itoa(r.Rank), true, ""
	case "index":
		return strconv.Itoa(e.first[r.Type] + r.Rank), true, ""
	case "attempt":
		return r.number(r.Attempt, inplace.AttemptReference), true, ""
	case "jobAttempt":
		return r.number(r.JobAttempt, inplace.JobAttemptReference), true, ""
	}
	if text, ok := e.plain(name, r.Rank); ok {
		return text, true, ""
	}
	if m := replicasVar.FindStringSubmatch(name); m != nil {
		n, ok := e.n[m[1]]
		if !ok {
			return "", false, fmt.Sprintf("$(%s) names type %q: want one of %v", name, m[1], e.types())
		}
		return strconv.Itoa(n), true, ""
	}
	if m := portVar.FindStringSubmatch(name); m != nil {
		return e.port(name, m[1])
	}
	if m := hostVar.FindStringSubmatch(name); m != nil {
		return e.host(name, m[1], m[2])
	}
	if m := hostsVar.FindStringSubmatch(name); m != nil {
		return e.hosts(name, m[1])
	}
	return "", false, misspelledForm(name)
}

func (e *Expander) types() []string { return slices.Sorted(maps.Keys(e.n)) }

func (e *Expander) port(name, port string) (value string, known bool, problem string) {
	n, ok := e.ports[port]
	switch {
	case e.job.Spec.Service == nil:
		return "", false, fmt.Sprintf("$(%s) needs a port: set spec.service.ports, as in {ports: [{name: %s, port: 2222}]}", name, port)
	case !ok:
		return "", false, fmt.Sprintf("$(%s) names port %q: want one of spec.service.ports, which has %v", name, port, slices.Sorted(maps.Keys(e.ports)))
	default:
		return strconv.Itoa(int(n)), true, ""
	}
}

// plain finds the value of the variables that cannot name anything that the job lacks.
func (e *Expander) plain(name string, rank int) (string, bool) {
	if m := allVar.FindStringSubmatch(name); m != nil {
		factor, err := strconv.Atoi(m[1])
		if err != nil {
			factor = 1 // the variable has no factor
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
		return "", false, fmt.Sprintf("$(%s) names type %q: want one of %v", name, replicaType, e.types())
	case err != nil || rank < 0:
		return "", false, fmt.Sprintf("$(%s) names rank %q: want a number from 0 to %d", name, rankText, n-1)
	case rank >= n && !e.begun:
		return v1beta1.HostName(e.job.Name, replicaType, rank) + e.suffix, true,
			fmt.Sprintf("$(%s) names rank %d: ranks of %s go from 0 to %d", name, rank, replicaType, n-1)
	default:
		return v1beta1.HostName(e.job.Name, replicaType, rank) + e.suffix, true, ""
	}
}

// EachText visits every text of a pod in which variables are expanded, with its container.
func EachText(pod *corev1.PodSpec, visit func(c *corev1.Container, text *string)) {
	for _, list := range [][]corev1.Container{pod.InitContainers, pod.Containers} {
		for i := range list {
			c := &list[i]
			for j := range c.Command {
				visit(c, &c.Command[j])
			}
			for j := range c.Args {
				visit(c, &c.Args[j])
			}
			for j := range c.Env {
				visit(c, &c.Env[j].Value)
			}
		}
	}
}
