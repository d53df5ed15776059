package edit

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// Variable is a variable that is set, or one that goes.
type Variable struct {
	Name, Value string
	Goes        bool
}

// Variables reads variables as `kubectl set env` does: KEY=VALUE, and KEY- for one that goes.
func Variables(texts []string) (all []Variable, err error) {
	for _, text := range texts {
		name, value, sets := strings.Cut(text, "=")
		v := Variable{Name: name, Value: value}
		if !sets {
			v.Name, v.Goes = strings.CutSuffix(text, "-")
		}
		if v.Name == "" || !sets && !v.Goes {
			return nil, exit.Usagef("%q is no variable: want KEY=VALUE, or KEY- to remove one", text)
		}
		if slices.ContainsFunc(all, func(have Variable) bool { return have.Name == v.Name }) {
			return nil, exit.Usagef("%s is given twice: give it one value", v.Name)
		}
		all = append(all, v)
	}
	return all, nil
}

// Env sets variables of containers, or removes them. There is no patch without a change.
func (c Containers) Env(f *jobs.Family, variables []Variable) (client.Patch, []Change, error) {
	places, err := c.in(f)
	var all []operation
	var changes []Change
	for _, at := range places {
		do, changed := at.env(variables)
		if len(do) > 0 {
			all = slices.Concat(all, at.same, do)
		}
		changes = append(changes, changed...)
	}
	return patchOf(all), changes, err
}

// env changes the variables of one container. What goes is removed from the end of the list, for each removal moves what stands behind it.
func (at place) env(variables []Variable) (do []operation, changes []Change) {
	var removals, additions []operation
	list := at.container.Env
	for k := len(list) - 1; k >= 0; k-- {
		v := slices.IndexFunc(variables, func(v Variable) bool { return v.Name == list[k].Name })
		if v < 0 {
			continue
		}
		path := fmt.Sprintf("%s/env/%d", at.path, k)
		same, is := operation{"test", path + "/name", list[k].Name}, shown(list[k])
		switch wanted := variables[v]; {
		case wanted.Goes:
			removals = append(removals, same, operation{Do: "remove", Path: path})
			changes = append(changes, Change{at.replicaType, at.container.Name, "env " + wanted.Name, is, ""})
		case list[k].ValueFrom != nil || list[k].Value != wanted.Value:
			do = append(do, same, operation{"replace", path, corev1.EnvVar{Name: wanted.Name, Value: wanted.Value}})
			changes = append(changes, Change{at.replicaType, at.container.Name, "env " + wanted.Name, is, fmt.Sprintf("%q", wanted.Value)})
		}
	}
	for _, v := range variables {
		if v.Goes || slices.ContainsFunc(list, func(have corev1.EnvVar) bool { return have.Name == v.Name }) {
			continue
		}
		additions = append(additions, operation{"add", at.path + "/env/-", corev1.EnvVar{Name: v.Name, Value: v.Value}})
		changes = append(changes, Change{at.replicaType, at.container.Name, "env " + v.Name, "", fmt.Sprintf("%q", v.Value)})
	}
	if len(list) == 0 && len(additions) > 0 {
		additions = slices.Insert(additions, 0, operation{"add", at.path + "/env", []corev1.EnvVar{}})
	}
	return slices.Concat(do, removals, additions), changes
}

// shown returns the value of a variable, or that it comes from elsewhere.
func shown(v corev1.EnvVar) string {
	if v.ValueFrom != nil {
		return "valueFrom"
	}
	return fmt.Sprintf("%q", v.Value)
}
