package v1beta1_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

type edit = func(*v1beta1.GenericJob)

// rule is a rule for jobs of a kind. It has an edit of a good job that the rule accepts, one that it rejects, and what
// the rejection must say.
type rule[T client.Object] struct {
	accept, reject func(T)
	want           []string
}

type ruleCase = rule[*v1beta1.GenericJob]

func spec(change func(*v1beta1.GenericJobSpec)) edit {
	return func(j *v1beta1.GenericJob) { change(&j.Spec) }
}

func worker(change func(*v1beta1.ReplicaSpec)) edit {
	return func(j *v1beta1.GenericJob) { change(&j.Spec.ReplicaSpecs[1]) }
}

func policy(p v1beta1.RestartPolicy) edit {
	return worker(func(s *v1beta1.ReplicaSpec) { s.RestartPolicy = &p })
}

// tryRules tries rules on a good job.
func tryRules[T client.Object](t *testing.T, good func(...func(T)) T, rules map[string]rule[T]) {
	t.Helper()
	c := newClient(t)
	ns := newNamespace(t, c)
	create := func(t *testing.T, edit func(T)) error {
		j := good(edit)
		j.SetNamespace(ns)
		return c.Create(t.Context(), j, client.DryRunAll)
	}
	for name, r := range rules {
		t.Run(name+"/accept", func(t *testing.T) { require.NoError(t, create(t, r.accept)) })
		t.Run(name+"/reject", func(t *testing.T) {
			err := create(t, r.reject)
			require.True(t, apierrors.IsInvalid(err), "%v", err)
			for _, want := range r.want {
				require.Contains(t, said(err), want)
			}
		})
	}
}

func TestNames(t *testing.T) {
	named := named[*v1beta1.GenericJob]
	noService := spec(func(s *v1beta1.GenericJobSpec) { s.Service = nil })
	workers := func(n int32) edit {
		return worker(func(s *v1beta1.ReplicaSpec) { s.Replicas = ptr.To(n) })
	}
	tryRules(t, job, map[string]ruleCase{
		"a job's name is a DNS label": {
			accept: named("a-1", 0), reject: named("a.1", 0),
			want: []string{"metadata.name is 'a.1'", "only lower-case letters, digits and '-'"},
		},
		"a job with a Service has a name that begins with a letter": {
			accept: all(named("1a", 0), noService), reject: named("1a", 0),
			want: []string{"spec.service", "metadata.name is '1a'", "must begin with a letter"},
		},
		"a host name has at most 63 characters": {
			accept: named("n", 63-len("-worker-0")), reject: named("n", 64-len("-worker-0")),
			want: []string{"spec.replicaSpecs", "must fit in 63 characters", "shorten it or the type"},
		},
		"a host name has room for the digits of the highest rank": {
			accept: all(named("n", 63-len("-worker-0")), workers(10)),
			reject: all(named("n", 63-len("-worker-0")), workers(11)),
			want:   []string{"<metadata.name>-<type>-<highest rank> must fit in 63 characters"},
		},
		"a host name of one replica by default ends in -0": {
			accept: all(named("n", 63-len("-worker-0")), worker(func(s *v1beta1.ReplicaSpec) { s.Replicas = nil })),
			reject: all(named("n", 64-len("-worker-0")), worker(func(s *v1beta1.ReplicaSpec) { s.Replicas = nil })),
			want:   []string{"must fit in 63 characters"},
		},
		"a type is a DNS label": {
			accept: retyped("1-a"), reject: retyped("Worker"),
			want: []string{"spec.replicaSpecs[1].type", `"Worker"`, "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'"},
		},
		"a type is not empty": {
			accept: retyped("w"), reject: retyped(""),
			want: []string{"spec.replicaSpecs[1].type", "should be at least 1 chars long"},
		},
		"a type is given once": {
			accept: retyped("ps2"), reject: retyped("ps"),
			want: []string{"spec.replicaSpecs[1]", `Duplicate value: {"type":"ps"}`},
		},
	})
}

// retyped renames the type worker, and forgets the rule that names it.
func retyped(name string) edit {
	return func(j *v1beta1.GenericJob) {
		j.Spec.FailureRules = nil
		j.Spec.ReplicaSpecs[1].Type = name
	}
}

// types gives a job n types.
func types(n int) edit {
	return spec(func(s *v1beta1.GenericJobSpec) {
		s.SuccessRules, s.FailureRules, s.ReplicaSpecs = nil, nil, []v1beta1.ReplicaSpec{}
		for i := range n {
			s.ReplicaSpecs = append(s.ReplicaSpecs, replicas(fmt.Sprint("type-", i), 1))
		}
	})
}

func TestReplicas(t *testing.T) {
	number := func(n int32) edit { return worker(func(s *v1beta1.ReplicaSpec) { s.Replicas = ptr.To(n) }) }
	pod := func(p corev1.PodSpec) edit { return worker(func(s *v1beta1.ReplicaSpec) { s.Template.Spec = p }) }
	containers := job().Spec.ReplicaSpecs[1].Template.Spec.Containers
	exit := func(codes ...int32) edit {
		return policy(v1beta1.RestartPolicy{Policy: v1beta1.RestartExitCode, ExitCodes: codes})
	}
	tryRules(t, job, map[string]ruleCase{
		"there is at least one type": {accept: types(1), reject: types(0), want: []string{"spec.replicaSpecs", "should have at least 1 items"}},
		"there are at most 16 types": {
			accept: types(16), reject: types(17),
			want: []string{"spec.replicaSpecs", "must have at most 16 items"},
		},
		"replicas is not 0": {
			accept: number(1), reject: number(0),
			want: []string{"spec.replicaSpecs[1].replicas", "should be greater than or equal to 1"},
		},
		"replicas is at most 10000": {
			accept: number(10000), reject: number(10001),
			want: []string{"spec.replicaSpecs[1].replicas", "should be less than or equal to 10000"},
		},
		"a template has containers": {
			accept: pod(corev1.PodSpec{Containers: containers}), reject: pod(corev1.PodSpec{Containers: []corev1.Container{}}),
			want: []string{"spec.replicaSpecs[1].template", "spec.containers must list at least one container"},
		},
		"restartPolicy.limit is not negative": {
			accept: policy(v1beta1.RestartPolicy{Limit: ptr.To[int32](0)}),
			reject: policy(v1beta1.RestartPolicy{Limit: ptr.To[int32](-1)}),
			want:   []string{"restartPolicy.limit", "should be greater than or equal to 0"},
		},
		"restartPolicy.policy is one of four": {
			accept: policy(v1beta1.RestartPolicy{Policy: v1beta1.RestartAlways}),
			reject: policy(v1beta1.RestartPolicy{Policy: "onfailure"}),
			want:   []string{"restartPolicy.policy", `"onfailure"`, `"Always", "OnFailure", "Never", "ExitCode"`},
		},
		"exitCodes need policy ExitCode": {
			accept: exit(1), reject: policy(v1beta1.RestartPolicy{Policy: v1beta1.RestartOnFailure, ExitCodes: []int32{1}}),
			want: []string{"spec.replicaSpecs[1].restartPolicy", "only with policy ExitCode: remove it or set policy"},
		},
		"exitCodes need policy ExitCode also where none is given": {
			accept: policy(v1beta1.RestartPolicy{}), reject: policy(v1beta1.RestartPolicy{ExitCodes: []int32{1}}),
			want: []string{"only with policy ExitCode"},
		},
		"exitCodes do not retry success": {
			accept: exit(1), reject: exit(0), want: []string{"exitCodes[0]", "greater than or equal to 1"},
		},
		"exitCodes are at most 255": {
			accept: exit(255), reject: exit(256), want: []string{"exitCodes[0]", "less than or equal to 255"},
		},
		"exitCodes are given once": {
			accept: exit(1, 2), reject: exit(1, 1), want: []string{"exitCodes[1]", "Duplicate value: 1"},
		},
	})
}

// Go always writes a template's spec; people forget it.
func TestATemplateWithoutASpecHasNoContainers(t *testing.T) {
	c := newClient(t)
	j := manifest(t, job(types(1)))
	j.SetNamespace(newNamespace(t, c))
	j.Object["spec"].(map[string]any)["replicaSpecs"] = []any{map[string]any{"type": "worker", "template": map[string]any{}}}
	require.Contains(t, said(c.Create(t.Context(), j)), "spec.replicaSpecs[0].template: Invalid value: spec.containers must list")
}

func TestAuxiliaryTypes(t *testing.T) {
	store := func(edits ...func(*v1beta1.ReplicaSpec)) edit {
		return spec(func(s *v1beta1.GenericJobSpec) {
			r := replicas("store", 1)
			r.Auxiliary, r.RestartPolicy = true, nil
			for _, edit := range edits {
				edit(&r)
			}
			s.ReplicaSpecs = append(s.ReplicaSpecs, r)
		})
	}
	tryRules(t, job, map[string]ruleCase{
		"an auxiliary type has no restart policy": {
			accept: store(), reject: store(func(r *v1beta1.ReplicaSpec) { r.RestartPolicy = &v1beta1.RestartPolicy{} }),
			want: []string{"restartPolicy", "an auxiliary replica is always replaced, and no limit counts that: remove restartPolicy"},
		},
		"all types together have 20,000 replicas": {
			accept: ofThree(6_667, 6_667, 6_666), reject: ofThree(10_000, 10_000, 1),
			want: []string{"spec.replicaSpecs", "the job has more than 20000 replicas over all types, and 20000 are allowed: run fewer in one job"},
		},
		"not every type is auxiliary": {
			accept: store(),
			reject: spec(func(s *v1beta1.GenericJobSpec) {
				for i := range s.ReplicaSpecs {
					s.ReplicaSpecs[i].Auxiliary, s.ReplicaSpecs[i].RestartPolicy = true, nil
				}
			}),
			want: []string{"spec.replicaSpecs", "every type is auxiliary"},
		},
		"no rule names an auxiliary type": {
			accept: store(),
			reject: func(j *v1beta1.GenericJob) {
				store()(j)
				j.Spec.FailureRules = []v1beta1.FinishRule{{"store": nil}}
			},
			want: []string{"spec.failureRules", "and not of an auxiliary one"},
		},
	})
}

func TestJobOptions(t *testing.T) {
	cleanUp := func(p v1beta1.CleanUpPolicy) edit {
		return spec(func(s *v1beta1.GenericJobSpec) { s.CleanUpPolicy = p })
	}
	scope := func(r v1beta1.RestartScope) edit {
		return spec(func(s *v1beta1.GenericJobSpec) { s.RestartScope = r })
	}
	names := func(n v1beta1.PodNames) edit { return spec(func(s *v1beta1.GenericJobSpec) { s.PodNames = n }) }
	deadline := func(n int64) edit {
		return spec(func(s *v1beta1.GenericJobSpec) { s.ActiveDeadlineSeconds = &n })
	}
	all := func(n int32) edit {
		return spec(func(s *v1beta1.GenericJobSpec) {
			*s = v1beta1.GenericJobSpec{Replicas: &n, ReplicaSpecs: s.ReplicaSpecs[:1]}
		})
	}
	ttl := func(n int32) edit { return spec(func(s *v1beta1.GenericJobSpec) { s.TTLSecondsAfterFinished = &n }) }
	backoff := func(n int32) edit { return spec(func(s *v1beta1.GenericJobSpec) { s.BackoffLimit = &n }) }
	atLeast := func(field, n string) []string { return []string{field, "should be greater than or equal to " + n} }
	cases := map[string]ruleCase{
		"cleanUpPolicy is one of three": {cleanUp("Unfinished"), cleanUp("Running"), []string{"spec.cleanUpPolicy", `"Running"`, `"None", "Unfinished", "All"`}},
		"restartScope is one of two":    {scope("Job"), scope("job"), []string{"spec.restartScope", `"job"`, `"Replica", "Job"`}},
		"podNames is one of two":        {names("Plain"), names("plain"), oneOf("spec.podNames", "plain", "Hashed", "Plain")},
		"a deadline is in the future":   {deadline(1), deadline(0), atLeast("spec.activeDeadlineSeconds", "1")},
		"replicas are 1 or more":        {all(1), all(0), atLeast("spec.replicas", "1")},
		"replicas are 10000 at most":    {all(10000), all(10001), []string{"spec.replicas", "should be less than or equal to 10000"}},
		"replicas are of the only type": {all(2), spec(func(s *v1beta1.GenericJobSpec) { s.Replicas = new(int32(2)) }),
			[]string{"spec.replicas", "replicas is for jobs of one replica type: set spec.replicaSpecs[].replicas of the type that you mean"}},
		"a time to live is not negative": {ttl(0), ttl(-1), atLeast("spec.ttlSecondsAfterFinished", "0")},
		"backoffLimit is not negative":   {backoff(0), backoff(-1), atLeast("spec.backoffLimit", "0")},
	}
	for _, lower := range []v1beta1.CleanUpPolicy{"none", "unfinished", "all"} {
		cases["cleanUpPolicy may be written as "+string(lower)] = ruleCase{cleanUp(lower), cleanUp(lower + "x"), []string{"spec.cleanUpPolicy"}}
	}
	tryRules(t, job, cases)
}

// ofThree is a job of three types of so many replicas.
func ofThree(replicas ...int32) edit {
	return spec(func(s *v1beta1.GenericJobSpec) {
		template := s.ReplicaSpecs[0].Template
		s.ReplicaSpecs = nil
		for i, n := range replicas {
			s.ReplicaSpecs = append(s.ReplicaSpecs, v1beta1.ReplicaSpec{Type: string(rune('a' + i)), Replicas: &n, Template: template})
		}
		s.SuccessRules, s.FailureRules = nil, nil
	})
}
