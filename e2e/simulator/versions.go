package simulator

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// servers are the apiservers of a cluster. They are of a version that takes restart rules, of an older one, or of both while the control plane is
// upgraded.
type servers int

const (
	newServers servers = iota
	oldServers
	bothServers
	silentServers // are old, and do not tell
)

// gate says in which apiservers of a cluster the feature gate GenericWorkload is on. The others drop the scheduling groups of pods.
type gate int

const (
	gateOn gate = iota
	gateOffInOne
	gateOff
)

// drawVersions draws of which versions of Kubernetes the cluster is, and of which feature gates.
func (l *Life) drawVersions() {
	l.oldKubelet = l.tape.Chance(4)
	l.servers = pickOf(l.tape, newServers, newServers, newServers, oldServers, bothServers, silentServers)
	l.gate = []gate{gateOn, gateOn, gateOffInOne, gateOff}[l.tape.spareOf(6, 4)]
}

// isOld reports whether the apiserver that answers this time takes no restart rules.
func (l *Life) isOld() bool {
	return l.servers == oldServers || l.servers == silentServers || l.servers == bothServers && l.tape.Chance(2)
}

// version is what an apiserver says of itself to an operator.
func (o *operator) version(ctx context.Context) (string, error) {
	found := ""
	err := o.look(ctx, "asks for the apiserver's version", func() error {
		switch {
		case o.life.servers == silentServers:
			return errors.New("who asks may not know")
		case o.life.isOld():
			found = "v1.33.9+vendor.1"
		default:
			found = "v1.34.0"
		}
		return nil
	})
	return found, err
}

// refusesRules is the error of an older apiserver for a pod with restart rules. They are not the user's: no job may fail by it.
func (l *Life) refusesRules(o client.Object) error {
	p, ok := o.(*corev1.Pod)
	if !ok || !hasRules(p) || !l.isOld() {
		return nil
	}
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind(kindPod).GroupKind(), p.Name, field.ErrorList{
		field.Forbidden(field.NewPath("spec", "containers").Index(0).Child("restartPolicy"), "may not be set for non-init containers"),
	})
}

// hasRules reports whether a kubelet that knows of restart rules starts the code of a pod again.
func hasRules(p *corev1.Pod) bool { return p.Spec.Containers[0].RestartPolicy != nil }
