package kubeflow

import (
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/apis/kubeflow/v2beta1"
)

// kind is what differs between Kubeflow's kinds.
type kind struct {
	name           string   // the kind's name, which reasons of conditions begin with
	operator       string   // the value of the operator's label
	field          string   // the field of the spec that has the replica specs
	types          []string // the replica types as Kubeflow's documents spell them, in the order of $(index)
	container      string   // the container that trains; "" is the first
	portName       string
	port           int32                  // 0 is none
	restart        kubeflow.RestartPolicy // the default
	minReplicas    int32                  // the smallest number of replicas that a type may have
	selectors      bool                   // the status shows a label selector for each type
	roleIsType     bool                   // the label of the role is the replica type
	batchJob       bool                   // the MPI operator runs the launcher as the pod of a batch Job, and its status has the reasons of that Job
	missingMessage string                 // the message about an object that the user has to create; %[1]s is its namespace
}

var tfKind = kind{
	name:      kubeflow.KindTFJob,
	operator:  kubeflow.OperatorTF,
	field:     "tfReplicaSpecs",
	types:     []string{kubeflow.TFChief, kubeflow.TFMaster, kubeflow.TFWorker, kubeflow.TFParameterServer, kubeflow.TFEvaluator},
	container: "tensorflow",
	portName:  "tfjob-port",
	port:      2222,
	restart:   kubeflow.RestartNever,
}

var pytorchKind = kind{
	name:        kubeflow.KindPyTorchJob,
	operator:    kubeflow.OperatorPyTorch,
	field:       "pytorchReplicaSpecs",
	types:       []string{kubeflow.PyTorchMaster, kubeflow.PyTorchWorker},
	container:   "pytorch",
	portName:    "pytorchjob-port",
	port:        23456,
	restart:     kubeflow.RestartOnFailure,
	minReplicas: 1,
	selectors:   true,
}

var xgboostKind = kind{
	name:      kubeflow.KindXGBoostJob,
	operator:  kubeflow.OperatorXGBoost,
	field:     "xgbReplicaSpecs",
	types:     []string{kubeflow.PyTorchMaster, kubeflow.PyTorchWorker},
	container: "xgboost",
	portName:  "xgboostjob-port",
	port:      9999,
	restart:   kubeflow.RestartNever,
}

var paddleKind = kind{
	name:      kubeflow.KindPaddleJob,
	operator:  kubeflow.OperatorPaddle,
	field:     "paddleReplicaSpecs",
	types:     []string{kubeflow.PyTorchMaster, kubeflow.PyTorchWorker},
	container: "paddle",
	portName:  "master",
	port:      36543,
	restart:   kubeflow.RestartOnFailure,
	selectors: true,
}

var jaxKind = kind{
	name:        kubeflow.KindJAXJob,
	operator:    kubeflow.OperatorJAX,
	field:       "jaxReplicaSpecs",
	types:       []string{kubeflow.PyTorchWorker},
	container:   "jax",
	portName:    "jaxjob-port",
	port:        6666,
	restart:     kubeflow.RestartNever,
	minReplicas: 1,
	selectors:   true,
}

var mpiKind = kind{
	name:           v2beta1.KindMPIJob,
	operator:       v2beta1.OperatorMPI,
	field:          "mpiReplicaSpecs",
	types:          []string{v2beta1.MPILauncher, v2beta1.MPIWorker},
	restart:        kubeflow.RestartNever,
	roleIsType:     true,
	batchJob:       true,
	missingMessage: sshSecretMessage,
}

// The replica types as they stand in names and labels.
const (
	chief                 = "chief"
	launcher              = "launcher"
	master                = "master"
	worker                = "worker"
	parameterServer       = "ps"
	maxReplicas     int32 = 10000 // the CRD's limit for the replicas of a type
)
