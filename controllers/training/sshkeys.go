package training

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/calls"
	"github.com/genericjob/genericjob/translators/framework"
)

// keySSHPublic is the key of the public key in a Secret of type kubernetes.io/ssh-auth. Kubernetes has a name for that of the private key alone.
const keySSHPublic = "ssh-publickey"

// ensureKeys creates a Secret with a key pair for ssh, unless it exists. The operator may create Secrets, but not read them. The name has the job's
// UID, so an existing Secret of that name is the job's. The job owns the Secret.
func (r *Reconciler) ensureKeys(ctx context.Context, job client.Object, name string) error {
	if name == "" {
		return nil
	}
	private, public, err := newSSHKeys()
	if err != nil {
		return fmt.Errorf("make keys for %s %s/%s: %w", r.Kind.Kind, job.GetNamespace(), job.GetName(), err)
	}
	err = r.Client.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.GetNamespace(), Name: name,
			Labels:          map[string]string{v1beta1.LabelJobUID: string(job.GetUID())},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, r.Kind)},
		},
		Type: corev1.SecretTypeSSHAuth, Data: map[string][]byte{corev1.SSHAuthPrivateKey: private, keySSHPublic: public}, Immutable: ptr.To(true),
	})
	if err == nil || apierrors.IsAlreadyExists(err) || calls.NamespaceEnds(err) {
		return nil
	}
	return calls.Explain(fmt.Sprintf("create Secret %s/%s", job.GetNamespace(), name), err)
}

// ensureKeysAgain creates the keys before an update of the GenericJob, if they may be missing. They were created before if the GenericJob mounts them
// already; then only a resume checks that they are still there. An exhausted quota refuses even a Secret that exists, and that must not keep a job
// from being paused.
func (r *Reconciler) ensureKeysAgain(ctx context.Context, job client.Object, have *v1beta1.GenericJob, program framework.Program) error {
	known := mountsSecret(&have.Spec, program.SSHKeys)
	if known && (program.Spec.RunMode.Pauses() || !have.Spec.RunMode.Pauses()) {
		return nil
	}
	err := r.ensureKeys(ctx, job, program.SSHKeys)
	var refusal *calls.RefusalError
	if known && errors.As(err, &refusal) {
		return nil // if they are gone, the pods' events say so
	}
	return err
}

// mountsSecret reports whether a template has a Secret of this name for a volume.
func mountsSecret(spec *v1beta1.GenericJobSpec, name string) bool {
	return slices.ContainsFunc(spec.ReplicaSpecs, func(s v1beta1.ReplicaSpec) bool {
		return slices.ContainsFunc(s.Template.Spec.Volumes, func(v corev1.Volume) bool { return v.Secret != nil && v.Secret.SecretName == name })
	})
}

// newSSHKeys returns a private key, and its line in authorized_keys. They are of the same type as those of the MPI operator, so each ssh that takes
// those takes these.
func newSSHKeys() (private, public []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		return nil, nil, err
	}
	const curve, sort = "nistp521", "ecdsa-sha2-nistp521"
	var blob []byte
	for _, part := range [][]byte{[]byte(sort), []byte(curve), point} {
		blob = append(binary.BigEndian.AppendUint32(blob, uint32(len(part))), part...) // #nosec G115 -- some hundred bytes
	}
	line := sort + " " + base64.StdEncoding.EncodeToString(blob) + "\n"
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), []byte(line), nil
}
