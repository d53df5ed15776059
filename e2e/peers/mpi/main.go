// Command mpi writes what Kubeflow's MPI operator makes of the manifests in a folder: of mpijob.yaml a mpijob.json, by the name of the job. It runs
// the operator's own controller, with its defaults and its checks, against a fake apiserver.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"github.com/kubeflow/mpi-operator/cmd/mpi-operator/app/options"
	kubeflow "github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/v2beta1"
	"github.com/kubeflow/mpi-operator/pkg/apis/kubeflow/validation"
	"github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/fake"
	"github.com/kubeflow/mpi-operator/pkg/client/clientset/versioned/scheme"
	"github.com/kubeflow/mpi-operator/pkg/client/informers/externalversions"
	"github.com/kubeflow/mpi-operator/pkg/controller"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"
)

// made is what the operator makes of a job.
type made struct {
	Workers   []corev1.Pod      `json:"workers"`
	Launcher  *batchv1.Job      `json:"launcher"`
	ConfigMap *corev1.ConfigMap `json:"configMap"`
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: mpi MANIFESTS OUT, two folders")
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(manifests, out string) error {
	klog.SetLogger(logr.Discard())
	text, err := os.ReadFile(filepath.Join(manifests, "mpijob.yaml"))
	if err != nil {
		return err
	}
	all := map[string]*made{}
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		job := &kubeflow.MPIJob{}
		if err := yaml.UnmarshalStrict(document, job); err != nil {
			return err
		}
		if all[job.Name], err = operate(job); err != nil {
			return fmt.Errorf("%s: %w", job.Name, err)
		}
	}
	text, err = json.MarshalIndent(all, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(out, "mpijob.json"), append(text, '\n'), 0o644)
}

// operate has the operator see a job, and returns what it has made of it once all is there.
func operate(job *kubeflow.MPIJob) (*made, error) {
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	job.Namespace = "ns"
	checked := job.DeepCopy()
	scheme.Scheme.Default(checked)
	if refused := validation.ValidateMPIJob(checked); len(refused) > 0 {
		return nil, fmt.Errorf("it is refused: %w", refused.ToAggregate())
	}
	workers := 0
	if spec := checked.Spec.MPIReplicaSpecs[kubeflow.MPIReplicaTypeWorker]; spec != nil {
		workers = int(*spec.Replicas)
	}
	kube := kubefake.NewClientset()
	if err := start(ctx, kube, fake.NewSimpleClientset(job)); err != nil {
		return nil, err
	}
	out := &made{}
	return out, wait.PollUntilContextCancel(ctx, 10*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		launchers, err := kube.BatchV1().Jobs("ns").List(ctx, metav1.ListOptions{})
		if err != nil || len(launchers.Items) == 0 {
			return false, err
		}
		pods, err := kube.CoreV1().Pods("ns").List(ctx, metav1.ListOptions{})
		if err != nil || len(pods.Items) < workers {
			return false, err
		}
		configs, err := kube.CoreV1().ConfigMaps("ns").List(ctx, metav1.ListOptions{})
		if err != nil || len(configs.Items) == 0 {
			return false, err
		}
		out.Workers, out.Launcher, out.ConfigMap = pods.Items, &batchv1.Job{Spec: launchers.Items[0].Spec}, &corev1.ConfigMap{Data: configs.Items[0].Data}
		for i := range out.Workers {
			out.Workers[i].ManagedFields, out.Workers[i].OwnerReferences = nil, nil
		}
		return true, nil
	})
}

// start runs the operator's controller until ctx ends.
func start(ctx context.Context, kube *kubefake.Clientset, jobs *fake.Clientset) error {
	core, own := informers.NewSharedInformerFactory(kube, 0), externalversions.NewSharedInformerFactory(jobs, 0)
	c, err := controller.NewMPIJobController(ctx, kube, jobs, nil, nil, core.Core().V1().ConfigMaps(), core.Core().V1().Secrets(), core.Core().V1().Services(),
		core.Batch().V1().Jobs(), core.Core().V1().Pods(), core.Scheduling().V1().PriorityClasses(), own.Kubeflow().V2beta1().MPIJobs(),
		&options.ServerOption{Namespace: metav1.NamespaceAll, ControllerRateLimit: 100, ControllerBurst: 100})
	if err != nil {
		return err
	}
	core.Start(ctx.Done())
	own.Start(ctx.Done())
	go func() {
		if err := c.Run(1, ctx.Done()); err != nil {
			log.Print(err)
		}
	}()
	return nil
}
