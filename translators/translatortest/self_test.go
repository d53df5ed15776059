package translatortest

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

const caseText = `
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: job}
spec:
  backoffLimit: 1
  replicaSpecs:
  - type: worker
    template: {spec: {containers: [{name: main, env: [{name: A, value: "1"}, {name: B, value: "2"}]}]}}
`

// translatorOf is a translator of GenericJobs, which need no translation.
func translatorOf(compile func(*v1beta1.GenericJob) (framework.Program, error)) framework.Registration {
	return framework.Register(framework.Translator[*v1beta1.GenericJob]{
		AddToScheme: v1beta1.AddToScheme,
		New:         func() *v1beta1.GenericJob { return &v1beta1.GenericJob{} },
		Compile:     compile,
		Mirror:      func(*v1beta1.GenericJob, v1beta1.GenericJobStatus) {},
		Phase:       func(j *v1beta1.GenericJob) v1beta1.JobPhase { return j.Status.Phase },
	})
}

func copied(j *v1beta1.GenericJob) framework.Program {
	return framework.Program{Spec: *j.Spec.DeepCopy()}
}

// first is the first container, which may not be there.
func first(s *v1beta1.GenericJobSpec) *corev1.Container {
	return &s.ReplicaSpecs[0].Template.Spec.Containers[0]
}

func TestAGoodTranslatorKeepsItsPromises(t *testing.T) {
	for name, r := range map[string]framework.Registration{
		"a copy":   translatorOf(func(j *v1beta1.GenericJob) (framework.Program, error) { return copied(j), nil }),
		"an error": translatorOf(func(*v1beta1.GenericJob) (framework.Program, error) { return framework.Program{}, errors.New("no") }),
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, brokenPromise(t, r, Decode(t, r, []byte(caseText))))
			require.Empty(t, panicOver(t, r, []byte(caseText)))
		})
	}
}

// A check that finds nothing proves nothing.
func TestBrokenPromisesAreFound(t *testing.T) {
	calls := 0
	for want, compile := range map[string]func(*v1beta1.GenericJob) (framework.Program, error){
		"Compile must not change the job": func(j *v1beta1.GenericJob) (framework.Program, error) {
			first(&j.Spec).Image = "mine"
			return copied(j), nil
		},
		"compiling again must give the same": func(j *v1beta1.GenericJob) (framework.Program, error) {
			calls++
			p := copied(j)
			p.Data = map[string]string{"calls": string(rune('0' + calls))}
			return p, nil
		},
		"nothing but the job's name and spec may count": func(j *v1beta1.GenericJob) (framework.Program, error) {
			p := copied(j)
			if j.Status.PauseCount > 0 {
				first(&p.Spec).Args = []string{"--resume"}
			}
			return p, nil
		},
		"a template serves all replicas of its type, but this one names job-worker-0": func(j *v1beta1.GenericJob) (framework.Program, error) {
			p := copied(j)
			first(&p.Spec).Args = []string{"--master=job-worker-0:80"}
			return p, nil
		},
		"the GenericJob's spec must share no memory with the job": func(j *v1beta1.GenericJob) (framework.Program, error) {
			p := copied(j)
			p.Spec.BackoffLimit = j.Spec.BackoffLimit
			return p, nil
		},
	} {
		t.Run(want, func(t *testing.T) {
			r := translatorOf(compile)
			require.Equal(t, want, brokenPromise(t, r, Decode(t, r, []byte(caseText))))
		})
	}
}

func TestPanicsAreFound(t *testing.T) {
	for want, compile := range map[string]func(*v1beta1.GenericJob){
		"spec.replicaSpecs[0]: ": func(j *v1beta1.GenericJob) {
			if len(j.Spec.ReplicaSpecs) > 0 {
				_ = first(&j.Spec).Name
			}
		},
		"spec.backoffLimit: negative: ": func(j *v1beta1.GenericJob) {
			if n := j.Spec.BackoffLimit; n != nil && *n < 0 {
				panic("negative")
			}
		},
		"spec.replicaSpecs[0].template.spec.containers[0].env[0]: removed: ": func(j *v1beta1.GenericJob) {
			if s := j.Spec.ReplicaSpecs; len(s) == 1 && len(s[0].Template.Spec.Containers) == 1 && len(first(&j.Spec).Env) == 1 {
				panic("one is too few")
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			r := translatorOf(func(j *v1beta1.GenericJob) (framework.Program, error) {
				compile(j)
				return copied(j), nil
			})
			require.Contains(t, panicOver(t, r, []byte(caseText)), want)
		})
	}
}

func TestDamageLeavesTheOriginalAlone(t *testing.T) {
	var node, before any
	require.NoError(t, yaml.Unmarshal([]byte(caseText), &node))
	require.NoError(t, yaml.Unmarshal([]byte(caseText), &before))
	visited := 0
	damage(node, nil, func(_ []any, _ string, damaged any) {
		visited++
		require.Equal(t, before, node)
		if visited > 1 {
			require.NotEqual(t, before, damaged)
		}
	})
	require.Greater(t, visited, 50)
}

// A part of a program that no golden file shows would be compiled unseen.
func TestGoldenFilesShowAllOfAProgram(t *testing.T) {
	require.Equal(t, reflect.TypeFor[framework.Program]().NumField()+1, reflect.TypeFor[rendered]().NumField(), "and the error")
}
