package shell

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/logs"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/ledger"
	"github.com/genericjob/genericjob/kernel/spec"
)

// TrainingCommands says what replicas of a job would run without debug mode, while the job is in that mode or goes there. replica names one, such
// as worker-0. Without it TrainingCommands takes the first of each type. What is quoted is a line for a shell in the container, by default the one
// that trains. A job that is nil has none.
func TrainingCommands(job *v1beta1.GenericJob, replica, container string) (lines []string) {
	if job == nil {
		return nil
	}
	trains := job.DeepCopy()
	if trains.Spec.RunMode != nil {
		trains.Spec.RunMode.Debug = nil
	}
	trains.Status.Mode = spec.Mode(trains, job.Status.PauseCount > 0)
	builder := kernel.NewPodBuilder(trains, kernel.Settings{})
	counted, _ := ledger.Load(trains) // one that cannot be read has no attempts
	for i := range trains.Spec.ReplicaSpecs {
		r := &trains.Spec.ReplicaSpecs[i]
		for rank := range spec.Kept(trains, r) {
			name := fmt.Sprintf("%s-%d", r.Type, rank)
			if replica == "" && (rank > 0 || r.Auxiliary) || replica != "" && replica != name {
				continue
			}
			pod := builder.Pod(kernel.Action{Type: r.Type, Rank: rank, Attempt: counted.Attempt(counted.Account(r.Type), rank)})
			lines = append(lines, name+" would run "+line(pod, container))
		}
	}
	return lines
}

// line returns what a container of a pod runs.
func line(pod *corev1.Pod, container string) string {
	if container == "" {
		container = logs.Main(pod)
	}
	i := slices.IndexFunc(pod.Spec.Containers, func(c corev1.Container) bool { return c.Name == container })
	if i < 0 {
		return "no container " + container
	}
	c := &pod.Spec.Containers[i]
	words := make([]string, 0, len(c.Command)+len(c.Args))
	for _, word := range slices.Concat(c.Command, c.Args) {
		words = append(words, quoted(word, c.Env))
	}
	switch text := strings.Join(words, " "); {
	case len(c.Command) > 0:
		return "the command: " + text
	case text != "":
		return "what the image " + c.Image + " runs by default, with the arguments: " + text
	default:
		return "what the image " + c.Image + " runs by default"
	}
}

var (
	// plainWord needs no quotes in a shell.
	plainWord = regexp.MustCompile(`^[\w@%+=:,./-]+$`)
	// variable is what Kubernetes expands in a command: a variable of the container, or an escaped dollar.
	variable = regexp.MustCompile(`\$\$|\$\(([A-Za-z_]\w*)\)`)
)

// quoted returns a word of a command as a shell takes it. Variables of the container, which Kubernetes would have expanded, are the shell's.
func quoted(word string, env []corev1.EnvVar) string {
	if plainWord.MatchString(word) {
		return word
	}
	var out strings.Builder
	from := 0
	literal := func(text string) { out.WriteString(strings.ReplaceAll(text, "'", `'\''`)) }
	out.WriteByte('\'')
	for _, m := range variable.FindAllStringSubmatchIndex(word, -1) {
		literal(word[from:m[0]])
		from = m[1]
		switch {
		case m[2] < 0:
			out.WriteByte('$')
		case slices.ContainsFunc(env, func(e corev1.EnvVar) bool { return e.Name == word[m[2]:m[3]] }):
			out.WriteString(`'"$` + word[m[2]:m[3]] + `"'`)
		default:
			literal(word[m[0]:m[1]])
		}
	}
	literal(word[from:])
	out.WriteByte('\'')
	return out.String()
}
