package tensorboard

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/translators/framework"
)

const (
	// component is the value of v1beta1.LabelT9kComponent, and the name of the container.
	component = "tensorboard"
	// labelName is the name of the Deployment, on its pod.
	labelName = "tensorstack.dev/tensorboard"
	// annotationHash holds a hash of what an object was made from. It shows that a field is no longer wanted. The fields of the object do not show that,
	// because the apiserver adds defaults.
	annotationHash = "batch.tensorstack.dev/tensorboard-hash"

	portName    = "http"
	port        = 6006 // TensorBoard's own default
	servicePort = 80
)

// Board is a TensorBoard as it is wanted.
type Board struct {
	Deployment *appsv1.Deployment
	Service    *corev1.Service
}

// Name returns the name of a job's TensorBoard. It is the job's name, cut so that it fits in a label, and a hash that differs for each job of that
// name.
func Name(owner metav1.Object) string {
	name := owner.GetName()
	return name[:min(len(name), 57)] + "-" + v1beta1.Hash5(name, string(owner.GetUID()))
}

// Labels select the pod of a job's TensorBoard.
func Labels(owner metav1.Object) map[string]string {
	return map[string]string{v1beta1.LabelT9kComponent: component, labelName: Name(owner)}
}

// Build describes the TensorBoard that a job of this kind asks for. An error is a mistake of the user: it says which field, what was found, and what
// to write instead.
func Build(owner metav1.Object, kind schema.GroupVersionKind, want *framework.TensorBoard) (Board, error) {
	logs, err := locate(&want.Spec)
	if err != nil {
		return Board{}, err
	}
	pod, err := podSpec(want, logs)
	if err != nil {
		return Board{}, err
	}
	selector := Labels(owner)
	podLabels := maps.Clone(selector)
	podLabels[v1beta1.LabelT9kComponentType] = "user"
	podLabels[v1beta1.LabelTensorBoard] = Name(owner)
	replicas := int32(1)
	if want.Spec.Suspend {
		replicas = 0
	}
	board := Board{
		Deployment: &appsv1.Deployment{
			TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
			ObjectMeta: meta(owner, kind),
			Spec: appsv1.DeploymentSpec{
				Replicas:             &replicas,
				RevisionHistoryLimit: ptr.To[int32](1),
				Selector:             &metav1.LabelSelector{MatchLabels: selector},
				// Two pods at once would need twice the quota.
				Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: podLabels}, Spec: pod},
			},
		},
		Service: &corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: meta(owner, kind),
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeClusterIP,
				// Not by the labels above: users may set them, and then somebody else's pod would answer in place of the TensorBoard.
				Selector: map[string]string{v1beta1.LabelTensorBoard: Name(owner)},
				Ports:    []corev1.ServicePort{{Name: portName, Port: servicePort, TargetPort: intstr.FromString(portName), Protocol: corev1.ProtocolTCP}},
				// The pod is not Ready while some logs cannot be fetched. But TensorBoard can show the others.
				PublishNotReadyAddresses: true,
			},
		},
	}
	board.sign()
	board.Service.Annotations = hash(board.Service.Labels, board.Service.Spec)
	return board, nil
}

// sign sets the hash of what the Deployment is made from.
func (b Board) sign() { b.Deployment.Annotations = hash(b.Deployment.Labels, b.Deployment.Spec) }

func meta(owner metav1.Object, kind schema.GroupVersionKind) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: owner.GetNamespace(), Name: Name(owner),
		Labels: map[string]string{
			v1beta1.LabelJobUID:           string(owner.GetUID()), // what the operator's caches select
			v1beta1.LabelT9kComponent:     component,
			v1beta1.LabelT9kComponentType: "user",
			v1beta1.LabelT9kOwnerKind:     kind.Kind,
			v1beta1.LabelT9kOwnerName:     owner.GetName(),
		},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, kind)},
	}
}

func hash(labels map[string]string, spec any) map[string]string {
	raw, err := json.Marshal([]any{labels, spec}) // sorts the keys
	if err != nil {
		raw = nil // cannot happen: API types can always be written
	}
	return map[string]string{annotationHash: fmt.Sprintf("%x", sha256.Sum256(raw))[:16]}
}
