package calls

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/build"
)

// RetrySoon is when to try again after a reconcile whose view of the job or of a pod was old. The watch event that brings the
// new view normally comes first, if the cache keeps what has changed. It is also when a reconcile follows that reads what another one has left.
const RetrySoon = time.Second

// GVKGenericJob is the kind of GenericJobs.
var GVKGenericJob = v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)

// Sooner returns the shorter of two times until a job is looked at again. 0 stands for "not before an event".
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// Owner is a job, of whatever kind, for which calls are made.
type Owner struct {
	// Client reads from the cache and writes to the apiserver. Live reads from the apiserver.
	Client client.Client
	Live   client.Reader
	// Object is the job, in the state that the plan was made from. Kind is its kind.
	Object client.Object
	Kind   schema.GroupVersionKind
	// NameWasTaken says that somebody else's object had a name when it was last to be created. So Create looks first: the apiserver sees that only
	// after it has charged a create to the quotas.
	NameWasTaken bool
}

// IsCurrent is the fence: it reads the job live, and reports whether it is still in the state that the plan was made from. A write of the status
// shows that by its resourceVersion; a reconcile that writes none needs the fence. Its pod cache may be ahead of its job cache. Then it could create
// a pod for a replica whose success another reconcile has recorded.
func (o Owner) IsCurrent(ctx context.Context) (bool, error) {
	live, err := GetLive(ctx, o.Live, o.Object, o.Kind)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("fence %s %s/%s: %w", o.Kind.Kind, o.Object.GetNamespace(), o.Object.GetName(), err)
	}
	return live.UID == o.Object.GetUID() && live.ResourceVersion == o.Object.GetResourceVersion(), nil
}

// GetLive reads, live, the metadata of the object that has the kind given and the name of o. They are empty if there is none,
// and the error says so.
func GetLive(ctx context.Context, live client.Reader, o client.Object, kind schema.GroupVersionKind) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(kind)
	return found, live.Get(ctx, client.ObjectKeyFromObject(o), found)
}

// Create creates an object that the job controls. The argument what is for errors: it says what was tried. The error is a *RefusalError if the
// apiserver will keep refusing.
func (o Owner) Create(ctx context.Context, what string, want client.Object) error {
	if o.NameWasTaken {
		if _, err := o.existing(ctx, what, want); !errors.Is(err, errNameIsFree) {
			return err
		}
	}
	err := o.Client.Create(ctx, want)
	switch {
	case err == nil:
		return nil
	case apierrors.IsAlreadyExists(err):
		_, err := o.existing(ctx, what, want)
		return err
	case NamespaceEnds(err):
		return nil
	case TooLarge(err):
		return Refuse(v1beta1.ReasonCreateInvalid, fmt.Sprintf("%s %s is larger than the cluster stores, about 1.5 MB (%v): "+
			"make the template smaller, by a ConfigMap or an image that holds the data", o.KindOf(want), want.GetName(), err))
	default:
		return Explain(what, err)
	}
}

// errNameIsFree says that no object has a name that was taken.
var errNameIsFree = errors.New("it existed a moment ago and is gone now: trying again")

// existing reads live the object that has the name of a new one. If the job controls it, the cache does not show it yet, and that is fine. If it is
// being deleted, its delete event begins the next reconcile. An object of anybody else is left alone, and the create is refused. So it is if somebody
// has edited a label by which the operator finds the object, or knows whose it is.
func (o Owner) existing(ctx context.Context, what string, want client.Object) (client.Object, error) {
	have := want.DeepCopyObject().(client.Object)
	err := o.Live.Get(ctx, client.ObjectKeyFromObject(want), have)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s: %w", what, errNameIsFree)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: look at what exists already: %w", what, err)
	}
	message := fmt.Sprintf("%s %s/%s exists already", o.KindOf(want), want.GetNamespace(), want.GetName())
	switch edited := o.editedLabel(have, want); {
	case o.HadPredecessor(have):
		return nil, fmt.Errorf("%s: %s, of a job of this name that is gone: it goes with that one", what, message)
	case !metav1.IsControlledBy(have, o.Object):
		return nil, Refuse(v1beta1.ReasonNameConflict, message)
	case edited != "":
		return nil, &RefusalError{kernel.Refusal{Reason: v1beta1.ReasonNameConflict, Edited: true, Message: message + ", made for this job, but " + edited}}
	default:
		return have, nil
	}
}

// editedLabel says which label of an object is not that of the object that was to be created, and what to do. It returns "" if there is none. Without
// its LabelJobUID the operator does not see a pod at all. So it could not take its finalizer off one that is deleted.
func (o Owner) editedLabel(have, want client.Object) string {
	for _, label := range []string{v1beta1.LabelJobUID, v1beta1.LabelReplicaType, v1beta1.LabelReplicaRank} {
		value, found := want.GetLabels()[label], have.GetLabels()[label]
		if found == value {
			continue
		}
		edited := fmt.Sprintf("somebody has changed its label %s from %q to %q: put the label back", label, value, found)
		if _, isPod := want.(*corev1.Pod); isPod && label == v1beta1.LabelJobUID {
			return edited + ", and the job goes on by itself. Do not delete the Pod without that label: its finalizer would keep it"
		}
		return edited + ", or delete the " + o.KindOf(want) + ", and the job goes on by itself"
	}
	return ""
}

// HadPredecessor reports whether an object belongs to an earlier job of the same kind and name. The garbage collector takes it away,
// and nobody has to do anything.
func (o Owner) HadPredecessor(have client.Object) bool {
	ref := metav1.GetControllerOf(have)
	return ref != nil && ref.UID != o.Object.GetUID() && ref.Name == o.Object.GetName() &&
		ref.Kind == o.Kind.Kind && ref.APIVersion == o.Kind.GroupVersion().String()
}

// KindOf returns the kind of an object, for users. What a cache or the apiserver returns does not say its kind.
func (o Owner) KindOf(object client.Object) string {
	kind, err := o.Client.GroupVersionKindFor(object)
	if err != nil {
		return "object" // of a type that nothing is done with
	}
	return kind.Kind
}

// updateService brings the ports of the job's Service up to date.
func (x *Executor) updateService(ctx context.Context, a kernel.Action) error {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: a.Service.Namespace, Name: a.Service.Name}}
	err := x.patch(ctx, service, types.MergePatchType, map[string]any{
		"metadata": map[string]any{"uid": a.Service.UID}, "spec": map[string]any{"ports": a.Service.Spec.Ports},
	})
	if err == nil || isGone(err) {
		return nil
	}
	return Explain(a.String(), err)
}

// createAndTell creates the object of an action, and tells of it unless it was there before.
func (x *Executor) createAndTell(ctx context.Context, a kernel.Action, o client.Object) error {
	owner := x.Owner
	owner.NameWasTaken = x.Refusals.nameWasTaken(a)
	err := owner.Create(ctx, "create "+owner.KindOf(o)+" "+o.GetName(), o)
	if err == nil && x.OnCreated != nil && o.GetUID() != "" {
		x.OnCreated(o)
	}
	return err
}

// createPod creates the pod of an action, without restart rules if the apiserver refuses those: no user has written them. What it
// refuses then is another matter.
func (x *Executor) createPod(ctx context.Context, a kernel.Action) error {
	if x.Job.Spec.RestartStrategy != v1beta1.RestartInPlace {
		return x.tryPod(ctx, a, true)
	}
	rules := x.Rules.accepted(ctx, x.Clock.Now())
	err := x.tryPod(ctx, a, rules)
	if !rules || !x.refusesRules(a, err) {
		return err
	}
	err = x.tryPod(ctx, a, false)
	if !x.refusesRules(a, err) {
		x.Rules.refuse(ctx, x.Clock.Now())
	}
	return err
}

// tryPod asks the apiserver for the pod of an action, with restart rules or without.
func (x *Executor) tryPod(ctx context.Context, a kernel.Action, rules bool) error {
	pod := x.Builder.Pod(a)
	if !rules {
		build.LeaveOutRestartRules(pod)
	}
	group := pod.Spec.SchedulingGroup
	if err := x.createAndTell(ctx, a, pod); err != nil {
		return err
	}
	return x.checkSchedulingGroup(ctx, a, pod, group)
}
