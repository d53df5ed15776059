package simulator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// apiserver is the simulated API or a real one, as far as scripts use it. The operator's calls go through the client. Others, such as the
// kubelet, act on the object that there is.
type apiserver interface {
	client() client.Client
	live() client.Reader
	// edit stores a change by somebody who has just read the object: of its status, or of all but that.
	edit(ctx context.Context, o client.Object, status bool, change func(client.Object)) error
	// bind is the scheduler's choice of a node.
	bind(ctx context.Context, p *corev1.Pod, node string) error
	// foreground deletes an object after what it owns.
	foreground(ctx context.Context, o client.Object) error
}

// stage is where a script runs: the one object that it is about, in one apiserver.
type stage struct {
	apiserver
	ctx      context.Context
	template client.Object
	views    []client.Object // what reads have returned, the newest first
	returned client.Object   // what the call has returned, nil if that is nothing to compare
	uids     []types.UID
}

func (s *stage) empty() client.Object {
	o := s.template.DeepCopyObject().(client.Object)
	clean(o)
	return o
}

// handle only names the object.
func (s *stage) handle() client.Object {
	if _, ok := s.template.(*corev1.Pod); ok {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.template.GetNamespace(), Name: s.template.GetName()}}
	}
	return s.empty()
}

// now is the object that there is, nil if there is none.
func (s *stage) now() client.Object {
	o := s.empty()
	if err := s.live().Get(s.ctx, client.ObjectKeyFromObject(o), o); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		panic(err)
	}
	return o
}

// view is one of the last three reads: 0 is the newest. It is nil if nothing was ever read.
func (s *stage) view(age int) client.Object {
	if len(s.views) == 0 {
		return nil
	}
	return s.views[min(age, len(s.views)-1)].DeepCopyObject().(client.Object)
}

// seenAs is what a call of the operator's copies from a view.
func (s *stage) seenAs(age int) (types.UID, string) {
	if o := s.view(age); o != nil {
		return o.GetUID(), o.GetResourceVersion()
	}
	return "", ""
}

// play takes a step and tells what came of it.
func (s *stage) play(a step) answer {
	s.returned = nil
	told := answer{"step": a.say}
	if err := a.do(s); err != nil {
		told["error"] = sayError(err)
	}
	is := s.now()
	if s.returned != nil && told["error"] == nil {
		told["returned"] = normal(s.returned)
		told["returns what is stored"] = is != nil && is.GetResourceVersion() == s.returned.GetResourceVersion()
	}
	if is == nil {
		return told
	}
	if !slices.Contains(s.uids, is.GetUID()) {
		s.uids = append(s.uids, is.GetUID())
	}
	told["stored"], told["incarnation"] = normal(is), slices.Index(s.uids, is.GetUID())
	told["is another version"] = len(s.views) == 0 || s.views[0].GetResourceVersion() != is.GetResourceVersion()
	if told["is another version"] == true {
		s.views = slices.Insert(s.views, 0, is)
	}
	return told
}

// answer is what can be compared of a call and of what is stored after it, or of an event.
type answer map[string]any

func sayError(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return fmt.Sprintf("%d %s", status.Status().Code, status.Status().Reason)
	}
	return err.Error()
}

// normal is an object without what differs between any two apiservers: UIDs, versions, times and defaults.
func normal(o client.Object) map[string]any {
	raw, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		panic(err)
	}
	meta := all["metadata"].(map[string]any)
	_, terminating := meta["deletionTimestamp"]
	maps.DeleteFunc(meta, func(name string, _ any) bool {
		return slices.Contains([]string{"namespace", "uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields", "selfLink"}, name)
	})
	meta["terminating"] = terminating
	delete(all, "kind")
	delete(all, "apiVersion")
	status, _ := all["status"].(map[string]any)
	if _, ok := o.(*corev1.Pod); ok {
		delete(meta, "generation") // older apiservers give pods none
		for _, derived := range []string{"qosClass", "podIPs", "hostIPs"} {
			delete(status, derived)
		}
		if list, _ := status["conditions"].([]any); list != nil {
			status["conditions"] = slices.DeleteFunc(list, func(c any) bool { return c.(map[string]any)["type"] == string(corev1.PodScheduled) })
		}
	}
	prune(all)
	return all
}

// prune leaves out what is empty.
func prune(m map[string]any) {
	maps.DeleteFunc(m, func(_ string, value any) bool {
		switch v := value.(type) {
		case map[string]any:
			prune(v)
			return len(v) == 0
		case []any:
			return len(v) == 0
		}
		return value == nil
	})
}

// subject is a kind that scripts are about.
type subject struct {
	kind string
	make func() client.Object
	list func() client.ObjectList
	can  []func(*Tape) step
}

var aboutPods = &subject{kindPod, makePod, func() client.ObjectList { return &corev1.PodList{} }, []func(*Tape) step{
	release, release, endPod, bind, bind, runs, runs, ends, ends, touches, confirm, confirm, remove, remove,
}}

// subjects are what scripts are about: half of them about pods, whose deletion is graceful.
var subjects = []*subject{
	aboutPods, aboutPods, aboutPods, aboutPods,
	{v1beta1.KindGenericJob, makeGenericJob, func() client.ObjectList { return &v1beta1.GenericJobList{} }, []func(*Tape) step{
		update, update, update, writesStatus, writesStatus, writesStatus, merge,
	}},
	{v1beta1.KindPyTorchTrainingJob, makePyTorch, func() client.ObjectList { return &v1beta1.PyTorchTrainingJobList{} }, []func(*Tape) step{
		update, update, update, writesStatus, writesStatus, writesStatus, merge,
	}},
	{kindService, makeService, func() client.ObjectList { return &corev1.ServiceList{} }, []func(*Tape) step{ports, ports, ports}},
	{kindConfigMap, makeConfigMap, func() client.ObjectList { return &corev1.ConfigMapList{} }, nil},
}

func named(o client.Object) client.Object {
	o.SetName("one")
	o.SetLabels(map[string]string{v1beta1.LabelReplicaType: "worker", v1beta1.LabelReplicaRank: "0"})
	yes := true
	o.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Owner", Name: "owner", UID: "f6a4ccfc-7a2a-4c1c-8d3b-33c4f1f7ff7c", Controller: &yes},
	})
	return o
}

func makePod() client.Object {
	p := &corev1.Pod{Spec: template("main").Spec}
	p.Spec.RestartPolicy = corev1.RestartPolicyNever
	return named(p)
}

func makeGenericJob() client.Object { return named(drawGenericJob(ReplayTape(nil))) }

func makePyTorch() client.Object { return named(drawPyTorch(ReplayTape(nil))) }

func makeService() client.Object {
	return named(&corev1.Service{Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{{Name: "p", Port: 80}},
	}})
}

func makeConfigMap() client.Object {
	yes := true
	return named(&corev1.ConfigMap{Data: map[string]string{"a": "b"}, Immutable: &yes})
}

// clean takes off what the apiserver gives an object.
func clean(o client.Object) {
	o.SetUID("")
	o.SetResourceVersion("")
	o.SetGeneration(0)
	o.SetCreationTimestamp(metav1.Time{})
	o.SetManagedFields(nil)
	if p, ok := o.(*corev1.Pod); ok {
		p.Status = corev1.PodStatus{}
	}
}
