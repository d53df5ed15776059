package podstate

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// main returns the name of the container whose exit is the replica's outcome, if the template names one; "" if all containers decide.
func (p Pod) main() string {
	name := p.Template.Annotations[v1beta1.AnnotationDefaultContainer]
	if !slices.ContainsFunc(p.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == name }) {
		return ""
	}
	return name
}

// mainEnd returns how the container ended whose exit is the replica's outcome; nil if it has not, or the template names none.
func (p Pod) mainEnd() *corev1.ContainerStateTerminated {
	if s := p.statusOf(p.main()); s != nil {
		return s.State.Terminated
	}
	return nil
}

// deciding returns the states of the containers whose end is the replica's outcome. That is the main container, if the template names one, or else all.
// Then come those of the init containers, as in own.
func (p Pod) deciding() [2][]corev1.ContainerStatus {
	own, name := p.own(), p.main()
	for i := range p.Status.ContainerStatuses {
		if p.Status.ContainerStatuses[i].Name == name {
			own[0] = p.Status.ContainerStatuses[i : i+1]
		}
	}
	return own
}

// mainHasEnded reports whether the template names a main container, and that has ended for good, in a way that is known. Whatever else runs in the pod
// decides nothing any more.
func (p Pod) mainHasEnded() bool {
	end := p.mainEnd()
	if end == nil || isInvented(end) || RestartsInPlace(p.Pod) && end.ExitCode != 0 {
		return false
	}
	name := p.main()
	return !slices.ContainsFunc(p.Template.Spec.Containers, func(c corev1.Container) bool { return c.Name == name && c.RestartPolicy != nil })
}

// MainHasSucceeded reports whether the template names a main container, and that has exited with 0 for good.
func (p Pod) MainHasSucceeded() bool { return p.mainHasEnded() && p.mainEnd().ExitCode == 0 }

// codeHasEnded reports whether the code that decides the replica's outcome has ended for good.
func (p Pod) codeHasEnded() bool { return p.allTerminated() || p.mainHasEnded() }
