package v1

// Labels of pods. Users, Kueue and dashboards select on them.
const (
	// LabelOperatorName is OperatorTF, OperatorPyTorch, ...
	LabelOperatorName = "training.kubeflow.org/operator-name"
	// LabelJobName is the name of the job.
	LabelJobName = "training.kubeflow.org/job-name"
	// LabelReplicaType is the replica type in lower case.
	LabelReplicaType = "training.kubeflow.org/replica-type"
	// LabelReplicaIndex is the index in the replica type.
	LabelReplicaIndex = "training.kubeflow.org/replica-index"
	// LabelJobRole is "master" on the chief or master, or else on worker 0.
	LabelJobRole = "training.kubeflow.org/job-role"
)

// Values of labels.
const (
	OperatorTF      = "tfjob-controller"
	OperatorPyTorch = "pytorchjob-controller"
	OperatorXGBoost = "xgboostjob-controller"
	OperatorPaddle  = "paddlejob-controller"
	OperatorJAX     = "jaxjob-controller"
	RoleMaster      = "master"
)
