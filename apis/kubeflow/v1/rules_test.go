package v1_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Shorthands in specs.
var shorthands = strings.NewReplacer(
	"TF", "template: {spec: {containers: [{name: tensorflow, image: a}]}}",
	"PT", "template: {spec: {containers: [{name: pytorch, image: a}]}}",
	"XG", "template: {spec: {containers: [{name: xgboost, image: a}]}}",
	"PD", "template: {spec: {containers: [{name: paddle, image: a}]}}",
	"JX", "template: {spec: {containers: [{name: jax, image: a}]}}",
	"MP", "template: {spec: {containers: [{name: any, image: a}]}}",
)

// object is a job of a kind, by its spec.
func object(t *testing.T, version, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	parsed := map[string]any{}
	text, err := yaml.YAMLToJSON([]byte("{" + shorthands.Replace(spec) + "}"))
	require.NoError(t, err)
	require.NoError(t, utiljson.Unmarshal(text, &parsed))
	u.Object["spec"] = parsed
	u.SetAPIVersion("kubeflow.org/" + version)
	u.SetKind(kind)
	u.SetName(name)
	return u
}

const (
	workerTF = "tfReplicaSpecs: {Worker: {TF}}"
	pairPT   = "pytorchReplicaSpecs: {Master: {PT}, Worker: {replicas: 2, PT}}"
	workerPT = "pytorchReplicaSpecs: {Worker: {replicas: 2, PT}}"
)

// Each rule has a spec that it accepts and one that it rejects.
var rules = map[string]struct{ kind, accept, reject, want string }{
	"TF types":             {"TFJob", "tfReplicaSpecs: {chief: {TF}, pS: {TF}, WORKER: {TF}, Evaluator: {TF}}", "tfReplicaSpecs: {Foo: {TF}}", "has a type Foo: want Chief, Master, Worker, PS or Evaluator"},
	"TF case":              {"TFJob", "tfReplicaSpecs: {worker: {TF}, Ps: {TF}}", "tfReplicaSpecs: {worker: {TF}, Worker: {TF}}", "differ only in case"},
	"chief or master":      {"TFJob", "tfReplicaSpecs: {Master: {TF}, Worker: {TF}}", "tfReplicaSpecs: {Master: {TF}, chief: {TF}}", "keep one of them"},
	"no replica":           {"TFJob", "tfReplicaSpecs: {Worker: {TF}, PS: {replicas: 0, TF}}", "tfReplicaSpecs: {Worker: {replicas: 0, TF}}", "the job has no replica"},
	"negative replicas":    {"TFJob", "tfReplicaSpecs: {Worker: {replicas: 1, TF}}", "tfReplicaSpecs: {Worker: {replicas: -3, TF}}", "greater than or equal to 0"},
	"no type":              {"TFJob", workerTF, "tfReplicaSpecs: {}", "at least 1 propert"},
	"TF container":         {"TFJob", "tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: side, image: a}, {name: tensorflow, image: a}]}}}}", "tfReplicaSpecs: {Worker: {PT}}", "a container named 'tensorflow'"},
	"TF image":             {"TFJob", workerTF, "tfReplicaSpecs: {Worker: {template: {spec: {containers: [{name: tensorflow}]}}}}", "each container must have an image"},
	"successPolicy":        {"TFJob", workerTF + ", successPolicy: AllWorkers", workerTF + ", successPolicy: Bogus", "successPolicy"},
	"cleanPodPolicy":       {"TFJob", workerTF + ", runPolicy: {cleanPodPolicy: Running}", workerTF + ", runPolicy: {cleanPodPolicy: Bogus}", "cleanPodPolicy"},
	"restartPolicy":        {"TFJob", "tfReplicaSpecs: {Worker: {restartPolicy: ExitCode, TF}}", "tfReplicaSpecs: {Worker: {restartPolicy: Bogus, TF}}", "restartPolicy"},
	"negative backoff":     {"TFJob", workerTF + ", runPolicy: {backoffLimit: 0}", workerTF + ", runPolicy: {backoffLimit: -1}", "backoffLimit"},
	"negative ttl":         {"TFJob", workerTF + ", runPolicy: {ttlSecondsAfterFinished: 0}", workerTF + ", runPolicy: {ttlSecondsAfterFinished: -1}", "ttlSecondsAfterFinished"},
	"no deadline":          {"TFJob", workerTF + ", runPolicy: {activeDeadlineSeconds: 0}", workerTF + ", runPolicy: {activeDeadlineSeconds: -1}", "activeDeadlineSeconds"},
	"managedBy":            {"TFJob", workerTF + ", runPolicy: {managedBy: kueue.x-k8s.io/multikueue}", workerTF + ", runPolicy: {managedBy: example.com/me}", "managedBy"},
	"TF older backoff":     {"TFJob", workerTF + ", backoffLimit: 3, runPolicy: {backoffLimit: 3}", workerTF + ", backoffLimit: 3, runPolicy: {backoffLimit: 4}", "runPolicy.backoffLimit says something else"},
	"TF older clean-up":    {"TFJob", workerTF + ", cleanPodPolicy: All", workerTF + ", cleanPodPolicy: All, runPolicy: {cleanPodPolicy: None}", "runPolicy.cleanPodPolicy says something else"},
	"TF older deadline":    {"TFJob", workerTF + ", activeDeadlineSeconds: 9", workerTF + ", activeDeadlineSeconds: 9, runPolicy: {activeDeadlineSeconds: 8}", "runPolicy.activeDeadlineSeconds says something else"},
	"TF older ttl":         {"TFJob", workerTF + ", ttlSecondsAfterFinished: 9", workerTF + ", ttlSecondsAfterFinished: 9, runPolicy: {ttlSecondsAfterFinished: 8}", "runPolicy.ttlSecondsAfterFinished says something else"},
	"PT types":             {"PyTorchJob", "pytorchReplicaSpecs: {master: {PT}, worker: {PT}}", "pytorchReplicaSpecs: {PS: {PT}}", "has a type PS: want Master or Worker"},
	"PT case":              {"PyTorchJob", "pytorchReplicaSpecs: {Master: {PT}}", "pytorchReplicaSpecs: {Worker: {PT}, worker: {PT}}", "differ only in case"},
	"one master":           {"PyTorchJob", "pytorchReplicaSpecs: {Master: {replicas: 1, PT}}", "pytorchReplicaSpecs: {Master: {replicas: 2, PT}}", "exactly one master"},
	"no worker":            {"PyTorchJob", workerPT, "pytorchReplicaSpecs: {Master: {PT}, Worker: {replicas: 0, PT}}", "to stop a job set spec.runPolicy.suspend"},
	"PT container":         {"PyTorchJob", workerPT, "pytorchReplicaSpecs: {Worker: {TF}}", "a container named 'pytorch'"},
	"PT image":             {"PyTorchJob", workerPT, "pytorchReplicaSpecs: {Worker: {template: {spec: {containers: [{name: pytorch}]}}}}", "each container must have an image"},
	"nprocPerNode":         {"PyTorchJob", workerPT + ", nprocPerNode: '2'", workerPT + ", nprocPerNode: banana", "want a positive number in quotes, gpu, cpu or auto"},
	"elastic worker":       {"PyTorchJob", workerPT + ", elasticPolicy: {}", "pytorchReplicaSpecs: {Master: {PT}}, elasticPolicy: {}", "add Worker to pytorchReplicaSpecs"},
	"elastic limits":       {"PyTorchJob", workerPT + ", elasticPolicy: {minReplicas: 2, maxReplicas: 2}", workerPT + ", elasticPolicy: {minReplicas: 3, maxReplicas: 2}", "minReplicas must not be more than maxReplicas"},
	"elastic replicas":     {"PyTorchJob", workerPT + ", elasticPolicy: {minReplicas: 1, maxReplicas: 2}", workerPT + ", elasticPolicy: {maxReplicas: 1}", "from elasticPolicy.minReplicas to elasticPolicy.maxReplicas"},
	"processes said twice": {"PyTorchJob", workerPT + ", elasticPolicy: {nProcPerNode: 2}", workerPT + ", nprocPerNode: '2', elasticPolicy: {nProcPerNode: 2}", "spec.nprocPerNode says it too"},
	"backend":              {"PyTorchJob", workerPT + ", elasticPolicy: {rdzvBackend: etcd}", workerPT + ", elasticPolicy: {rdzvBackend: Bogus}", "rdzvBackend"},
	"PT older backoff":     {"PyTorchJob", pairPT + ", backoffLimit: 3", pairPT + ", backoffLimit: 3, runPolicy: {backoffLimit: 4}", "runPolicy.backoffLimit says something else"},
	"PT older clean-up":    {"PyTorchJob", pairPT + ", cleanPodPolicy: All", pairPT + ", cleanPodPolicy: All, runPolicy: {cleanPodPolicy: None}", "runPolicy.cleanPodPolicy says something else"},
	"PT older deadline":    {"PyTorchJob", pairPT + ", activeDeadlineSeconds: 9", pairPT + ", activeDeadlineSeconds: 9, runPolicy: {activeDeadlineSeconds: 8}", "runPolicy.activeDeadlineSeconds says something else"},
	"PT older ttl":         {"PyTorchJob", pairPT + ", ttlSecondsAfterFinished: 9", pairPT + ", ttlSecondsAfterFinished: 9, runPolicy: {ttlSecondsAfterFinished: 8}", "runPolicy.ttlSecondsAfterFinished says something else"},
	"XG types":             {"XGBoostJob", "xgbReplicaSpecs: {master: {XG}}", "xgbReplicaSpecs: {Master: {XG}, PS: {XG}}", "has a type PS: want"},
	"XG case":              {"XGBoostJob", "xgbReplicaSpecs: {Master: {XG}}", "xgbReplicaSpecs: {Master: {XG}, master: {XG}}", "differ only in case"},
	"XG container":         {"XGBoostJob", "xgbReplicaSpecs: {Master: {XG}}", "xgbReplicaSpecs: {Master: {TF}}", "a container named '"},
	"XG image":             {"XGBoostJob", "xgbReplicaSpecs: {Master: {XG}}", "xgbReplicaSpecs: {Master: {template: {spec: {containers: [{name: xgboost}]}}}}", "each container must have an image"},
	"XG managedBy":         {"XGBoostJob", "xgbReplicaSpecs: {Master: {XG}}, runPolicy: {managedBy: kubeflow.org/training-operator}", "xgbReplicaSpecs: {Master: {XG}}, runPolicy: {managedBy: kubeflow.org/mpi-operator}", "managedBy"},
	"PD types":             {"PaddleJob", "paddleReplicaSpecs: {worker: {PD}}", "paddleReplicaSpecs: {Worker: {PD}, PS: {PD}}", "has a type PS: want"},
	"PD case":              {"PaddleJob", "paddleReplicaSpecs: {Worker: {PD}}", "paddleReplicaSpecs: {Worker: {PD}, worker: {PD}}", "differ only in case"},
	"PD container":         {"PaddleJob", "paddleReplicaSpecs: {Worker: {PD}}", "paddleReplicaSpecs: {Worker: {TF}}", "a container named '"},
	"PD image":             {"PaddleJob", "paddleReplicaSpecs: {Worker: {PD}}", "paddleReplicaSpecs: {Worker: {template: {spec: {containers: [{name: paddle}]}}}}", "each container must have an image"},
	"PD managedBy":         {"PaddleJob", "paddleReplicaSpecs: {Worker: {PD}}, runPolicy: {managedBy: kubeflow.org/training-operator}", "paddleReplicaSpecs: {Worker: {PD}}, runPolicy: {managedBy: kubeflow.org/mpi-operator}", "managedBy"},
	"PD no replica":        {"PaddleJob", "paddleReplicaSpecs: {Master: {replicas: 0, PD}, Worker: {PD}}", "paddleReplicaSpecs: {Worker: {replicas: 0, PD}}", "to stop a job set spec.runPolicy.suspend"},
	"JX types":             {"JAXJob", "jaxReplicaSpecs: {worker: {JX}}", "jaxReplicaSpecs: {PS: {JX}}", "has a type PS: want"},
	"JX container":         {"JAXJob", "jaxReplicaSpecs: {Worker: {JX}}", "jaxReplicaSpecs: {Worker: {TF}}", "a container named '"},
	"JX image":             {"JAXJob", "jaxReplicaSpecs: {Worker: {JX}}", "jaxReplicaSpecs: {Worker: {template: {spec: {containers: [{name: jax}]}}}}", "each container must have an image"},
	"JX managedBy":         {"JAXJob", "jaxReplicaSpecs: {Worker: {JX}}, runPolicy: {managedBy: kubeflow.org/training-operator}", "jaxReplicaSpecs: {Worker: {JX}}, runPolicy: {managedBy: kubeflow.org/mpi-operator}", "managedBy"},
	"JX no replica":        {"JAXJob", "jaxReplicaSpecs: {Worker: {JX}}", "jaxReplicaSpecs: {Worker: {replicas: 0, JX}}", "to stop a job set spec.runPolicy.suspend"},
	"MP types":             {"MPIJob", "mpiReplicaSpecs: {launcher: {MP}}", "mpiReplicaSpecs: {Launcher: {MP}, PS: {MP}}", "has a type PS: want"},
	"MP case":              {"MPIJob", "mpiReplicaSpecs: {Launcher: {MP}}", "mpiReplicaSpecs: {Launcher: {MP}, launcher: {MP}}", "differ only in case"},
	"MP slots":             {"MPIJob", "mpiReplicaSpecs: {Launcher: {MP}}, slotsPerWorker: 0", "mpiReplicaSpecs: {Launcher: {MP}}, slotsPerWorker: -1", "slotsPerWorker"},
	"MP no image":          {"MPIJob", "mpiReplicaSpecs: {Launcher: {template: {spec: {containers: [{name: any}]}}}}", "mpiReplicaSpecs: {Launcher: {template: {}}}", "must have a container"},
	"deadline":             {"PaddleJob", "paddleReplicaSpecs: {Worker: {PD}}, runPolicy: {activeDeadlineSeconds: 0}", "paddleReplicaSpecs: {Worker: {PD}}, runPolicy: {activeDeadlineSeconds: -1}", "activeDeadlineSeconds"},
	"MP deadline":          {"MPIJob", "mpiReplicaSpecs: {Launcher: {MP}}, runPolicy: {activeDeadlineSeconds: 0}", "mpiReplicaSpecs: {Launcher: {MP}}, runPolicy: {activeDeadlineSeconds: -1}", "activeDeadlineSeconds"},
	"MP managedBy":         {"MPIJob", "mpiReplicaSpecs: {Launcher: {MP}}, runPolicy: {managedBy: kubeflow.org/mpi-operator}", "mpiReplicaSpecs: {Launcher: {MP}}, runPolicy: {managedBy: kubeflow.org/training-operator}", "managedBy"},
	"XG no master":         {"XGBoostJob", "xgbReplicaSpecs: {Master: {XG}, Worker: {XG}}", "xgbReplicaSpecs: {Worker: {XG}}", "Master is missing"},
	"XG two masters":       {"XGBoostJob", "xgbReplicaSpecs: {Master: {replicas: 1, XG}}", "xgbReplicaSpecs: {Master: {replicas: 2, XG}}", "exactly one master"},
	"XG no replica":        {"XGBoostJob", "xgbReplicaSpecs: {Master: {XG}, Worker: {replicas: 0, XG}}", "xgbReplicaSpecs: {Master: {replicas: 0, XG}, Worker: {XG}}", "exactly one master"},
	"PD elastic worker":    {"PaddleJob", "paddleReplicaSpecs: {Worker: {PD}}, elasticPolicy: {}", "paddleReplicaSpecs: {Master: {PD}}, elasticPolicy: {}", "add Worker to paddleReplicaSpecs"},
	"PD elastic limits":    {"PaddleJob", "paddleReplicaSpecs: {Worker: {PD}}, elasticPolicy: {minReplicas: 1, maxReplicas: 2}", "paddleReplicaSpecs: {Worker: {PD}}, elasticPolicy: {minReplicas: 3, maxReplicas: 2}", "minReplicas must not be more than maxReplicas"},
	"PD elastic replicas":  {"PaddleJob", "paddleReplicaSpecs: {Worker: {PD}}, elasticPolicy: {minReplicas: 1}", "paddleReplicaSpecs: {Worker: {PD}}, elasticPolicy: {minReplicas: 2}", "from elasticPolicy.minReplicas to elasticPolicy.maxReplicas"},
	"no launcher":          {"MPIJob", "mpiReplicaSpecs: {Launcher: {MP}, Worker: {replicas: 0, MP}}", "mpiReplicaSpecs: {Worker: {MP}}", "Launcher is missing"},
	"two launchers":        {"MPIJob", "mpiReplicaSpecs: {Launcher: {replicas: 1, MP}}", "mpiReplicaSpecs: {Launcher: {replicas: 2, MP}}", "exactly one launcher"},
	"MP container":         {"MPIJob", "mpiReplicaSpecs: {Launcher: {MP}}", "mpiReplicaSpecs: {Launcher: {template: {spec: {containers: []}}}}", "must have a container"},
	"implementation":       {"MPIJob", "mpiReplicaSpecs: {Launcher: {MP}}, mpiImplementation: Intel", "mpiReplicaSpecs: {Launcher: {MP}}, mpiImplementation: Bogus", "mpiImplementation"},
	"launcher policy":      {"MPIJob", "mpiReplicaSpecs: {Launcher: {MP}}, launcherCreationPolicy: AtStartup", "mpiReplicaSpecs: {Launcher: {MP}}, launcherCreationPolicy: Bogus", "launcherCreationPolicy"},
}

// versionsOf are the versions in which a kind is served, the newest first.
func versionsOf(kind string) []string {
	switch kind {
	case "TFJob", "PyTorchJob":
		return []string{"v1", "v1beta2"}
	case "MPIJob":
		return []string{"v2beta1"}
	default:
		return []string{"v1"}
	}
}

func TestRules(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for name, r := range rules {
		for _, version := range versionsOf(r.kind) {
			create := func(t *testing.T, spec string) error {
				job := object(t, version, r.kind, "job", spec)
				job.SetNamespace(ns)
				return c.Create(t.Context(), job, client.DryRunAll)
			}
			t.Run(name+"/"+version+"/accept", func(t *testing.T) { require.NoError(t, create(t, r.accept)) })
			t.Run(name+"/"+version+"/reject", func(t *testing.T) {
				err := create(t, r.reject)
				require.True(t, apierrors.IsInvalid(err), "%v", err)
				require.ErrorContains(t, err, r.want)
			})
		}
	}
}

// B6: a name whose pods or Service could never be made was taken, and nothing happened ever after.
func TestNamesFit(t *testing.T) {
	c := newClient(t)
	ns := newNamespace(t, c)
	for name, r := range map[string]struct{ kind, name, spec, want string }{
		"TF fits":          {"TFJob", strings.Repeat("x", 54), "tfReplicaSpecs: {Worker: {replicas: 10, TF}}", ""},
		"TF too long":      {"TFJob", strings.Repeat("x", 54), "tfReplicaSpecs: {Worker: {replicas: 11, TF}}", "must fit in 63 characters"},
		"TF no label":      {"TFJob", "a.b", workerTF, "only lower-case letters"},
		"TF begins with 1": {"TFJob", "1a", workerTF, "a letter first"},
		"PT fits":          {"PyTorchJob", strings.Repeat("x", 54), "pytorchReplicaSpecs: {Worker: {replicas: 2, PT}}", ""},
		"PT too long":      {"PyTorchJob", strings.Repeat("x", 63), "pytorchReplicaSpecs: {Master: {PT}}", "must fit in 63 characters"},
		"PT may grow":      {"PyTorchJob", strings.Repeat("x", 54), workerPT + ", elasticPolicy: {maxReplicas: 11}", "must fit in 63 characters"},
		"PT no label":      {"PyTorchJob", "a.b", workerPT, "only lower-case letters"},
		"XG fits":          {"XGBoostJob", strings.Repeat("x", 54), "xgbReplicaSpecs: {Master: {XG}}", ""},
		"XG too long":      {"XGBoostJob", strings.Repeat("x", 55), "xgbReplicaSpecs: {Master: {XG}}", "must fit in 63 characters"},
		"XG no label":      {"XGBoostJob", "a.b", "xgbReplicaSpecs: {Master: {XG}}", "only lower-case letters"},
		"JX too long":      {"JAXJob", strings.Repeat("x", 55), "jaxReplicaSpecs: {Worker: {JX}}", "must fit in 63 characters"},
		"JX no label":      {"JAXJob", "a.b", "jaxReplicaSpecs: {Worker: {JX}}", "only lower-case letters"},
		"PD may grow":      {"PaddleJob", strings.Repeat("x", 54), "paddleReplicaSpecs: {Worker: {PD}}, elasticPolicy: {maxReplicas: 11}", "must fit in 63 characters"},
		"PD no label":      {"PaddleJob", "a.b", "paddleReplicaSpecs: {Worker: {PD}}", "only lower-case letters"},
		"MP fits":          {"MPIJob", strings.Repeat("x", 54), "mpiReplicaSpecs: {Launcher: {MP}, Worker: {replicas: 10, MP}}", ""},
		"MP more fit":      {"MPIJob", strings.Repeat("x", 53), "mpiReplicaSpecs: {Launcher: {MP}, Worker: {replicas: 100, MP}}", ""},
		"MP too long":      {"MPIJob", strings.Repeat("x", 55), "mpiReplicaSpecs: {Launcher: {MP}}", "must fit in 63 characters"},
		"MP too many":      {"MPIJob", strings.Repeat("x", 54), "mpiReplicaSpecs: {Launcher: {MP}, Worker: {replicas: 11, MP}}", "must fit in 63 characters"},
		"MP no label":      {"MPIJob", "a.b", "mpiReplicaSpecs: {Launcher: {MP}}", "only lower-case letters"},
	} {
		t.Run(name, func(t *testing.T) {
			job := object(t, versionsOf(r.kind)[0], r.kind, r.name, r.spec)
			job.SetNamespace(ns)
			err := c.Create(t.Context(), job, client.DryRunAll)
			if r.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, r.want)
		})
	}
}

// Every field of the published examples has a place in the schema.
func TestConformanceIsAccepted(t *testing.T) {
	folder := os.Getenv("GENERICJOB_CONFORMANCE")
	if folder == "" {
		t.Skip("GENERICJOB_CONFORMANCE does not name the folder of third-party cases (its sub-folder kubeflow is read)")
	}
	c := newClient(t)
	ns := newNamespace(t, c)
	files, err := filepath.Glob(filepath.Join(folder, "kubeflow", "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			recording := struct {
				Manifest map[string]any `json:"manifest"`
			}{}
			require.NoError(t, json.Unmarshal(raw, &recording))
			job := &unstructured.Unstructured{Object: recording.Manifest}
			job.SetNamespace(ns)
			require.NoError(t, c.Create(t.Context(), job, client.DryRunAll))
		})
	}
}
