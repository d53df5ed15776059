// Command training writes the pods that Kubeflow's training operator makes of the manifests in a folder. Of each <kind>.yaml it writes a
// <kind>.json, by the name of the job. It runs the operator's own code, with its defaults and its webhooks' checks, and a fake client for pods.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/go-logr/logr"
	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/control"
	"github.com/kubeflow/training-operator/pkg/controller.v1/jax"
	paddle "github.com/kubeflow/training-operator/pkg/controller.v1/paddlepaddle"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	"github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
	"github.com/kubeflow/training-operator/pkg/controller.v1/xgboost"
	hooksjax "github.com/kubeflow/training-operator/pkg/webhooks/jax"
	hookspaddle "github.com/kubeflow/training-operator/pkg/webhooks/paddlepaddle"
	hookspytorch "github.com/kubeflow/training-operator/pkg/webhooks/pytorch"
	hookstensorflow "github.com/kubeflow/training-operator/pkg/webhooks/tensorflow"
	hooksxgboost "github.com/kubeflow/training-operator/pkg/webhooks/xgboost"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
	"sigs.k8s.io/yaml"
)

// operator is what the training operator has for one kind.
type operator struct {
	job      func() client.Object
	replicas func(client.Object) map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec
	hook     admission.CustomValidator
	common   *common.JobController
}

// operators are those of all kinds, by the name of the file.
func operators(manager ctrl.Manager) map[string]operator {
	none := common.GenNonGangSchedulerSetupFunc()
	return map[string]operator{
		"tfjob": {
			func() client.Object { return &kubeflow.TFJob{} },
			func(o client.Object) map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec {
				return o.(*kubeflow.TFJob).Spec.TFReplicaSpecs
			},
			&hookstensorflow.Webhook{}, &tensorflow.NewReconciler(manager, none).JobController,
		},
		"pytorchjob": {
			func() client.Object { return &kubeflow.PyTorchJob{} },
			func(o client.Object) map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec {
				return o.(*kubeflow.PyTorchJob).Spec.PyTorchReplicaSpecs
			},
			&hookspytorch.Webhook{}, &pytorch.NewReconciler(manager, none).JobController,
		},
		"xgboostjob": {
			func() client.Object { return &kubeflow.XGBoostJob{} },
			func(o client.Object) map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec {
				return o.(*kubeflow.XGBoostJob).Spec.XGBReplicaSpecs
			},
			&hooksxgboost.Webhook{}, &xgboost.NewReconciler(manager, none).JobController,
		},
		"paddlejob": {
			func() client.Object { return &kubeflow.PaddleJob{} },
			func(o client.Object) map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec {
				return o.(*kubeflow.PaddleJob).Spec.PaddleReplicaSpecs
			},
			&hookspaddle.Webhook{}, &paddle.NewReconciler(manager, none).JobController,
		},
		"jaxjob": {
			func() client.Object { return &kubeflow.JAXJob{} },
			func(o client.Object) map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec {
				return o.(*kubeflow.JAXJob).Spec.JAXReplicaSpecs
			},
			&hooksjax.Webhook{}, &jax.NewReconciler(manager, none).JobController,
		},
	}
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: training MANIFESTS OUT, two folders")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(manifests, out string) error {
	klog.SetLogger(logr.Discard()) // it cannot write its events
	logrus.SetLevel(logrus.ErrorLevel)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, kubeflow.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	manager, err := ctrl.NewManager(&rest.Config{Host: "127.0.0.1:1"}, ctrl.Options{Scheme: scheme, MapperProvider: noMapper}) // it is asked nothing
	if err != nil {
		return err
	}
	for kind, operator := range operators(manager) {
		text, err := os.ReadFile(filepath.Join(manifests, kind+".yaml"))
		if err != nil {
			return err
		}
		made := map[string]any{}
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			name, pods, err := operator.podsOf(scheme, document)
			if err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			made[name] = map[string]any{"pods": pods}
		}
		text, err = json.MarshalIndent(made, "", " ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, kind+".json"), append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func noMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return meta.NewDefaultRESTMapper(nil), nil
}

// podsOf are the pods that the operator creates for a job, whose name it tells.
func (o operator) podsOf(scheme *runtime.Scheme, document []byte) (string, []corev1.Pod, error) {
	job := o.job()
	if err := yaml.UnmarshalStrict(document, job); err != nil {
		return "", nil, err
	}
	job.SetNamespace("ns")
	if _, err := o.hook.ValidateCreate(context.Background(), job); err != nil {
		return "", nil, fmt.Errorf("%s is refused: %w", job.GetName(), err)
	}
	scheme.Default(job) // the webhook has seen what the user wrote
	pods := &control.FakePodControl{}
	o.common.PodControl = pods
	specs, status := o.replicas(job), &kubeflow.JobStatus{}
	var types []kubeflow.ReplicaType
	for t := range specs {
		types = append(types, t)
	}
	slices.Sort(types)
	for _, t := range types {
		if err := o.common.Controller.ReconcilePods(job, status, nil, t, specs[t], specs); err != nil {
			return "", nil, fmt.Errorf("%s: %w", job.GetName(), err)
		}
	}
	var out []corev1.Pod
	for _, template := range pods.Templates {
		pod := corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.Namespace = job.GetNamespace()
		out = append(out, pod)
	}
	return job.GetName(), out, nil
}
