package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"

	kubeflowv1 "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/e2e/testenv"
)

// apiserver is the configuration with which tests talk to their apiserver, operator that of the operator. The operator
// may do what deploy/rbac lets it do and no more.
var apiserver, operator *rest.Config

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(testenv.Main(m, func(e *envtest.Environment) {
		var err error
		if apiserver, operator, err = connect(e); err != nil {
			panic(err)
		}
	}, "kubeflow/crd"))
}

// connect makes the configurations of tests and of the operator for an apiserver.
func connect(e *envtest.Environment) (admin, operator *rest.Config, err error) {
	admin = e.Config
	admin.QPS = -1
	user, err := e.AddUser(envtest.User{Name: "system:serviceaccount:system:manager"}, nil)
	if err != nil {
		return nil, nil, err
	}
	operator = user.Config()
	operator.QPS = -1
	for _, file := range []string{"rbac/manager_role.yaml", "rbac/framework_roles.yaml", "framework-schemas/framework_schemas_role.yaml", "kubeflow/component/keys_role.yaml", "kubeflow/component/manager_role.yaml"} {
		if err := grant(admin, filepath.Join("..", "deploy", filepath.FromSlash(file))); err != nil {
			return nil, nil, err
		}
	}
	return admin, operator, awaitRights(operator)
}

// awaitRights waits until the apiserver knows the role that was granted last, and its binding: it learns of them by watches, in their order.
func awaitRights(operator *rest.Config) error {
	scheme, err := controllers.NewScheme(served()...)
	if err != nil {
		return err
	}
	c, err := client.New(operator, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	end := time.Now().Add(patience)
	for err = errors.New("not asked"); err != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		err = c.List(context.Background(), &kubeflowv1.PyTorchJobList{})
	}
	return err
}

// grant creates the objects of a file of roles.
func grant(admin *rest.Config, file string) error {
	c, err := client.New(admin, client.Options{})
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for _, document := range strings.Split(string(text), "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if strings.HasPrefix(o.GetName(), "genericjob-") && o.GetKind() == "ClusterRoleBinding" {
			// here the names are those before deploy/default's prefix
			_ = unstructured.SetNestedSlice(o.Object, []any{map[string]any{"kind": "ServiceAccount", "name": "manager", "namespace": "system"}}, "subjects")
		}
		if err := c.Create(context.Background(), o); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}
