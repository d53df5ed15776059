package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/e2e/testenv"
	"github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// plane is a control plane without anything that acts in it: etcd and kube-apiserver at their default flags.
type plane struct {
	env        *envtest.Environment
	jobs       client.WithWatch      // as an administrator
	pods       *kubernetes.Clientset // the same
	kubeconfig []byte                // of the operator
	calls      *callCounter          // of the administrator
}

// operatorName is who the operator is: a ServiceAccount, so that it falls under the same priority level as in a cluster.
const operatorName = "system:serviceaccount:genericjob-system:manager"

// startPlane starts one with the kinds of deploy/crd.
func startPlane(ctx context.Context) (*plane, error) {
	return startPlaneWith(ctx, func(*envtest.Environment) {})
}

// startPlaneWith starts one that configure has changed, with the kinds of further folders of deploy.
func startPlaneWith(ctx context.Context, configure func(*envtest.Environment), more ...string) (*plane, error) {
	var crds []string
	roles := []string{filepath.Join("rbac", "manager_role.yaml"), filepath.Join("rbac", "framework_roles.yaml")}
	for _, folder := range more {
		crds = append(crds, filepath.Join(folder, "crd"))
		roles = append(roles, filepath.Join(folder, "component", "manager_role.yaml"))
	}
	env, err := testenv.StartWith(func(env *envtest.Environment) {
		env.ControlPlane.GetAPIServer().Configure().Disable("request-timeout")
		configure(env)
	}, crds...)
	if err != nil {
		return nil, err
	}
	p := &plane{env: env, calls: &callCounter{counts: map[string]int64{}}}
	if err := p.prepare(ctx, roles); err != nil {
		return nil, errors.Join(err, env.Stop())
	}
	return p, nil
}

func (p *plane) prepare(ctx context.Context, roles []string) error {
	cfg := rest.CopyConfig(p.env.Config)
	cfg.QPS = -1
	cfg.Wrap(p.calls.wrap)
	scheme, err := controllers.NewScheme(append(translators.All(), kubeflow.All("", false)...)...)
	if err != nil {
		return err
	}
	if p.jobs, err = client.NewWithWatch(cfg, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	cfg = rest.CopyConfig(cfg)
	cfg.ContentType, cfg.AcceptContentTypes = "application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf,application/json"
	if p.pods, err = kubernetes.NewForConfig(cfg); err != nil {
		return err
	}
	user, err := p.env.AddUser(envtest.User{Name: operatorName, Groups: []string{"system:serviceaccounts"}}, nil)
	if err != nil {
		return err
	}
	if p.kubeconfig, err = user.KubeConfig(); err != nil {
		return err
	}
	for _, file := range roles {
		if err := p.grant(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// grant lets the operator do what the first role of a file below deploy lets it do.
func (p *plane) grant(ctx context.Context, file string) error {
	root, err := testenv.Root()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, "deploy", file))
	if err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.Unmarshal([]byte(strings.Split(string(text), "\n---\n")[0]), role); err != nil {
		return fmt.Errorf("deploy/%s: %w", file, err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorName}},
	}
	// They are there already in a copy of a control plane.
	return errors.Join(client.IgnoreAlreadyExists(p.jobs.Create(ctx, role)), client.IgnoreAlreadyExists(p.jobs.Create(ctx, binding)))
}

// namespace makes a namespace and plays the kubelets of its pods.
func (p *plane) namespace(ctx context.Context, name string) (*kubelet, error) {
	if err := p.jobs.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		return nil, err
	}
	return startKubelet(ctx, p.pods, name)
}

func (p *plane) stop() error { return p.env.Stop() }
