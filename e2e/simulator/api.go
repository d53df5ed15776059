package simulator

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/podstate"
)

// errTimeout is what a client gets whose request or whose answer was lost.
var errTimeout = errors.New("the request timed out, or its answer was lost")

// namespace is where everything happens.
const namespace = "ns"

// kindPod and the others are the kinds of which the operator holds caches, beside those of training jobs.
const (
	kindPod       = "Pod"
	kindService   = "Service"
	kindConfigMap = "ConfigMap"
)

// key names an object.
type key struct{ kind, name string }

func (k key) String() string { return k.kind + " " + k.name }

// kindOf is the kind of a typed object.
func kindOf(o client.Object) string {
	switch o := o.(type) {
	case *metav1.PartialObjectMetadata:
		return o.Kind
	case *unstructured.Unstructured:
		return o.GetKind()
	}
	return reflect.TypeOf(o).Elem().Name()
}

func keyOf(o client.Object) key { return key{kindOf(o), o.GetName()} }

// change is one event of the watch of a kind.
type change struct {
	key
	now    client.Object // nil for the removal
	cached client.Object // what a cache of the operator holds of it
	gone   client.Object // what the event of the removal says of it
}

// api is the apiserver and etcd: the truth. Stored objects are never changed in place.
type api struct {
	life    *Life
	objects map[key]client.Object
	trails  map[string][]change // by kind
	version int
	uids    int
	// fresh are the versions in which objects were made whose status has a default. It is not stored with them: the first write does that.
	fresh map[types.UID]string
}

func (a *api) get(k key) client.Object { return a.objects[k] }

// all are the objects of a kind, by name.
func (a *api) all(kind string) []client.Object {
	var list []client.Object
	for k, o := range a.objects {
		if k.kind == kind {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(x, y client.Object) int { return strings.Compare(x.GetName(), y.GetName()) })
	return list
}

func (a *api) pods() []*corev1.Pod {
	var list []*corev1.Pod
	for _, o := range a.all(kindPod) {
		list = append(list, o.(*corev1.Pod))
	}
	return list
}

// jobByUID is the GenericJob with a UID, nil if it is gone.
func (a *api) jobByUID(uid types.UID) *v1beta1.GenericJob {
	for _, o := range a.all(v1beta1.KindGenericJob) {
		if o.GetUID() == uid {
			return o.(*v1beta1.GenericJob)
		}
	}
	return nil
}

// store makes a new version of an object, or removes it if it is deleted and nothing holds it back.
func (a *api) store(o client.Object) {
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	k := keyOf(o)
	if g := o.GetDeletionGracePeriodSeconds(); o.GetDeletionTimestamp() != nil && (g == nil || *g == 0) && len(o.GetFinalizers()) == 0 {
		a.trails[k.kind] = append(a.trails[k.kind], change{key: k, gone: a.lastOf(o)})
		delete(a.objects, k)
		return
	}
	a.objects[k] = o
	ch := change{key: k, now: o, cached: o}
	if pod, ok := o.(*corev1.Pod); ok {
		ch.cached = podstate.Trim(podstate.Trim(pod.DeepCopy())) // as the operator's cache does with its first list
		a.life.truth.sawReady(pod)
	}
	a.trails[k.kind] = append(a.trails[k.kind], ch)
}

// lastOf is what the event of a removal says: what was stored last, under a new version. A graceful deletion is stored before.
func (a *api) lastOf(o client.Object) client.Object {
	was := a.objects[keyOf(o)]
	if _, ok := o.(*corev1.Pod); ok && (was.GetDeletionTimestamp() == nil || *was.GetDeletionGracePeriodSeconds() > 0) {
		return o
	}
	gone := was.DeepCopyObject().(client.Object)
	gone.SetResourceVersion(o.GetResourceVersion())
	return gone
}

// stored does to an object what writing it to JSON and reading it again does. Times lose their fractions, and empty lists become nil or stay by their
// tags. Pods are spared, for speed: the operator writes none of their status.
func stored(o client.Object) client.Object {
	switch o.(type) {
	case *corev1.Pod, *unstructured.Unstructured:
		return o.DeepCopyObject().(client.Object)
	}
	return reread(reflect.ValueOf(o).Elem()).Addr().Interface().(client.Object)
}

func resource(k key) schema.GroupResource {
	return schema.GroupResource{Group: v1beta1.GroupVersion.Group, Resource: strings.ToLower(k.kind) + "s"}
}

func notFound(k key) error { return apierrors.NewNotFound(resource(k), k.name) }

func conflict(k key, why string) error {
	return apierrors.NewConflict(resource(k), k.name, fmt.Errorf("%s", why))
}

// another is the error of a patch that carries the UID of another object: to the apiserver that is a change of the UID.
func another(k key, uid types.UID) error {
	return apierrors.NewInvalid(v1beta1.GroupVersion.WithKind(k.kind).GroupKind(), k.name, field.ErrorList{
		field.Invalid(field.NewPath("metadata", "uid"), uid, "field is immutable"),
	})
}

// create stores a new object and fills in what the apiserver does.
func (a *api) create(o client.Object) error {
	k := keyOf(o)
	switch {
	case a.objects[k] != nil:
		return apierrors.NewAlreadyExists(resource(k), k.name)
	case k.kind == kindPodGroup && a.life.tooLate:
		return errTimeout // it would stay until its job goes, for nothing tells the operator of PodGroups
	}
	made := stored(o)
	a.uids++
	made.SetUID(types.UID(fmt.Sprintf("%s-%d", strings.ToLower(k.kind), a.uids)))
	made.SetCreationTimestamp(a.life.stamp())
	if k.kind != kindService && k.kind != kindConfigMap {
		made.SetGeneration(1)
	}
	protect(made)
	hasDefault := unseen(made)
	if pod, ok := made.(*corev1.Pod); ok {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		a.life.addToleration(pod)
		a.life.dropGroup(pod)
	}
	a.store(made)
	if hasDefault {
		a.fresh[made.GetUID()] = made.GetResourceVersion()
	}
	a.life.truth.created(made)
	a.life.truth.compiledOnce(nil, made)
	fill(o, made)
	return nil
}

// fill lets o be a copy of what is stored.
func fill(o, from client.Object) {
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(from.DeepCopyObject()).Elem())
}

// current returns what is stored of o, if its UID and resourceVersion, where given, are those of o.
func (a *api) current(k key, uid types.UID, version string) (client.Object, error) {
	have := a.objects[k]
	switch {
	case have == nil:
		return nil, notFound(k)
	case uid != "" && have.GetUID() != uid:
		return nil, conflict(k, "the UID is another")
	case version != "" && have.GetResourceVersion() != version:
		return nil, conflict(k, "the object has been modified")
	}
	return have, nil
}

// update stores the status of an object, or all but its status.
func (a *api) update(o client.Object, status bool) error {
	have, err := a.current(keyOf(o), o.GetUID(), o.GetResourceVersion())
	if err != nil {
		return err
	}
	next := have.DeepCopyObject().(client.Object)
	part := map[bool]string{true: "Status", false: "Spec"}[status]
	written := func(o client.Object) reflect.Value { return reflect.ValueOf(o).Elem().FieldByName(part) }
	from := reread(written(o))
	same := equality.Semantic.DeepEqual(written(have).Interface(), from.Interface())
	isFresh := a.fresh[have.GetUID()] == have.GetResourceVersion()
	if same && !isFresh && (status || maps.Equal(have.GetAnnotations(), o.GetAnnotations())) {
		fill(o, have)
		return nil // the apiserver does not store what changes nothing
	}
	written(next).Set(from)
	if !status {
		next.SetAnnotations(o.GetAnnotations())
	}
	if !status && !same {
		next.SetGeneration(have.GetGeneration() + 1)
	}
	a.store(next)
	switch {
	case status:
		a.life.truth.statusWritten(have, next)
	case !same:
		a.life.truth.edited(have, next)
		fallthrough
	default:
		a.life.truth.compiledOnce(have, next)
	}
	fill(o, next)
	return nil
}

// edit is a change of an object that needs no permission of the apiserver's.
func (a *api) edit(k key, change func(client.Object)) {
	have := a.objects[k]
	if have == nil {
		return
	}
	next := have.DeepCopyObject().(client.Object)
	change(next)
	a.store(next)
}
