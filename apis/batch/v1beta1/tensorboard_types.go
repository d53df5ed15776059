package v1beta1

import corev1 "k8s.io/api/core/v1"

// TensorBoardSpec describes a TensorBoard that shows the logs of a job while it trains and afterwards. It is a
// Deployment and a Service, which live as long as the job object does. It may be edited, and suspended, at any time.
//
// +kubebuilder:validation:XValidation:rule="(has(self.trainingLogFilesets) && size(self.trainingLogFilesets) > 0) || has(self.logDir)",message="say where the logs are: in trainingLogFilesets, as in t9k://pvc/<name>/<path>, or in logDir"
type TensorBoardSpec struct {
	// trainingLogFilesets are the places of the logs, as "t9k://pvc/<PersistentVolumeClaim>/<path>" or
	// "t9k://minio/<Secret>/<bucket>/<path>". logDir is the newer way to say it.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	TrainingLogFilesets []string `json:"trainingLogFilesets,omitempty"`
	// logDir are the places of the logs, by kind.
	// +optional
	LogDir *LogDir `json:"logDir,omitempty"`
	// image is the container image. It must have the command tensorboard, and python3 too if logs are in an object
	// store or on a web server. Default: the image of the job's training container.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Image string `json:"image,omitempty"`
	// suspend takes the TensorBoard's pod away and keeps its Service. Default false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
	// scheduler is accepted, and has no effect. A TensorBoard is one pod: the cluster's default scheduler places
	// it, outside of the job's gang.
	// +optional
	Scheduler *SchedulePolicy `json:"scheduler,omitempty"`
	// resources are those of the container. Default: none.
	// +optional
	Resources corev1.ResourceRequirements `json:"resources,omitempty"`
}

// LogDir names places of logs.
//
// +kubebuilder:validation:XValidation:rule="has(self.pvc) || has(self.s3) || has(self.http)",message="name at least one place: pvc, s3 or http"
type LogDir struct {
	// pvc are folders in PersistentVolumeClaims. They are mounted read-only.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=atomic
	// +optional
	PVC []LogDirPVC `json:"pvc,omitempty"`
	// s3 are folders in an object store that speaks S3. Event files are fetched from there once a minute.
	// +optional
	S3 *LogDirS3 `json:"s3,omitempty"`
	// http are event files on web servers. They are fetched once a minute.
	// +optional
	HTTP *LogDirHTTP `json:"http,omitempty"`
}

// LogDirPVC names folders in a PersistentVolumeClaim.
type LogDirPVC struct {
	// name is the name of the PersistentVolumeClaim.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
	// subPath are folders in it. Default: all of it.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	// +listType=atomic
	// +optional
	SubPath []string `json:"subPath,omitempty"`
}

// LogDirS3 names folders in an object store.
type LogDirS3 struct {
	// secretRef names the Secret with the store's address and keys. Its entries become environment variables of the
	// container that fetches, so they are called AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and S3_ENDPOINT.
	// A change of the Secret is seen when the TensorBoard is suspended and resumed.
	// +required
	SecretRef LogDirSecret `json:"secretRef"`
	// uri are the folders, as "s3://<bucket>/<path>".
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=1024
	// +kubebuilder:validation:items:Pattern=`^s3://[^/]+`
	// +listType=atomic
	// +required
	URI []string `json:"uri"`
}

// LogDirSecret names a Secret in the job's namespace.
type LogDirSecret struct {
	// name is the name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +required
	Name string `json:"name"`
}

// LogDirHTTP names event files on web servers.
type LogDirHTTP struct {
	// url are the addresses of the event files.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=2048
	// +kubebuilder:validation:items:Pattern=`^https?://[^/]+/.+`
	// +listType=atomic
	// +required
	URL []string `json:"url"`
}

// DependentStatus is the state of an object that serves a job, such as its TensorBoard.
type DependentStatus struct {
	// name tells the job's dependents apart.
	// +optional
	Name string `json:"name,omitempty"`
	// dependent refers to the object.
	// +optional
	Dependent *corev1.ObjectReference `json:"dependent,omitempty"`
	// ready reports whether it works.
	Ready bool `json:"ready"`
	// reason says in one word why.
	// +optional
	Reason string `json:"reason,omitempty"`
	// action is what the operator did last: NOP, Create or Update.
	// +optional
	Action string `json:"action,omitempty"`
	// note explains it to people: what is missing, what to do next.
	// +optional
	Note string `json:"note,omitempty"`
	// type is Normal or Warning.
	// +optional
	Type string `json:"type,omitempty"`
}
