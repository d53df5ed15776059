package simulator

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

func template(container string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: container, Image: "image", Command: []string{"train"}}}}}
}

func modes() *v1beta1.RunMode {
	return &v1beta1.RunMode{Debug: &v1beta1.DebugMode{}, Pause: &v1beta1.PauseMode{}}
}

func policyOf(t *Tape) v1beta1.RestartPolicyType {
	return pickOf(t, v1beta1.RestartOnFailure, v1beta1.RestartOnFailure, v1beta1.RestartNever, v1beta1.RestartExitCode, v1beta1.RestartAlways)
}

func cleanUpOf(t *Tape) v1beta1.CleanUpPolicy {
	return pickOf(t, "", v1beta1.CleanUpNone, v1beta1.CleanUpUnfinished, v1beta1.CleanUpAll)
}

// schedulerOf draws a gang scheduler: mostly none.
func schedulerOf(t *Tape) *v1beta1.SchedulePolicy {
	s := pickOf(t, v1beta1.SchedulePolicy{}, v1beta1.SchedulePolicy{}, v1beta1.SchedulePolicy{Kubernetes: &v1beta1.KubernetesScheduler{}},
		v1beta1.SchedulePolicy{Coscheduling: &v1beta1.Coscheduling{}}, v1beta1.SchedulePolicy{Kueue: &v1beta1.KueueScheduler{QueueName: "team"}})
	if s == (v1beta1.SchedulePolicy{}) {
		return nil
	}
	if t.Chance(3) {
		least := int32(1 + t.Pick(3))
		s.MinMember = &least
	}
	return &s
}

// drawGenericJob draws a job of one to six replicas.
func drawGenericJob(t *Tape) client.Object {
	job := &v1beta1.GenericJob{}
	s := &job.Spec
	for _, replicaType := range []string{"worker", "ps"}[:1+t.Pick(2)] {
		replicas, limit := int32(1+t.Pick(3)), int32(t.Pick(4))
		s.ReplicaSpecs = append(s.ReplicaSpecs, v1beta1.ReplicaSpec{
			Type: replicaType, Replicas: &replicas, Template: template("main"),
			RestartPolicy: &v1beta1.RestartPolicy{Policy: policyOf(t), Limit: &limit},
		})
	}
	if t.Chance(4) {
		s.ReplicaSpecs = append(s.ReplicaSpecs, v1beta1.ReplicaSpec{Type: "store", Replicas: new(int32(1 + t.Pick(2))), Auxiliary: true, Template: template("main")})
	}
	if t.Chance(3) {
		limit := int32(t.Pick(5))
		s.BackoffLimit = &limit
	}
	if t.Chance(3) {
		s.RestartScope = v1beta1.RestartScopeJob
	}
	drawStrategy(t, s)
	if t.Chance(3) {
		s.Service = &v1beta1.ServiceOption{Ports: []corev1.ServicePort{{Name: "p", Port: 80}}}
	}
	if t.Chance(3) {
		s.SuccessRules = []v1beta1.FinishRule{{"worker": {intstr.FromInt32(rankOf(t, &s.ReplicaSpecs[0]))}}}
	}
	if t.Chance(3) {
		s.FailureRules = []v1beta1.FinishRule{{"worker": {pickOf(t, intstr.FromString("0"), intstr.FromString(v1beta1.AnyRank))}}}
	}
	if t.Chance(6) {
		seconds := int64(60 + t.Pick(240))
		s.ActiveDeadlineSeconds = &seconds
	}
	if t.Chance(8) {
		seconds := int32(t.Pick(100))
		s.TTLSecondsAfterFinished = &seconds
	}
	s.CleanUpPolicy, s.RunMode, s.Scheduler = cleanUpOf(t), modes(), schedulerOf(t)
	if t.Chance(4) {
		s.PodNames = v1beta1.PodNamesPlain
	}
	drawFailurePolicy(t, s)
	drawTemplates(t, s)
	s.StopTogether = s.RestartScope == v1beta1.RestartScopeJob && t.Chance(2)
	drawStart(t, s)
	drawNoProgress(t, s)
	drawDevices(t, s)
	return job
}

// drawFailurePolicy draws rules about exit codes that lives have.
func drawFailurePolicy(t *Tape, s *v1beta1.GenericJobSpec) {
	elsewhere := t.spare(16, 2)
	switch {
	case t.spare(4, 4):
		s.FailurePolicy = &v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{
			{Match: v1beta1.FailureMatch{ExitCodes: []int32{137}}, Action: v1beta1.FailureActionRestart, Counts: new(false), Elsewhere: elsewhere},
			{Match: v1beta1.FailureMatch{ExitCodes: []int32{143}, Types: []string{"worker"}}, Action: v1beta1.FailureActionRestart},
		}}
	case t.spare(4, 2):
		s.FailurePolicy = &v1beta1.FailurePolicy{Rules: []v1beta1.FailurePolicyRule{
			{Match: v1beta1.FailureMatch{ExitCodes: []int32{1}, Types: []string{"worker"}}, Action: v1beta1.FailureActionFail},
			{Match: v1beta1.FailureMatch{ExitCodes: []int32{1}}, Action: v1beta1.FailureActionRestart, Counts: new(false), Elsewhere: elsewhere},
		}}
	}
}

func runPolicy(t *Tape) *v1beta1.RunPolicy {
	limit := int32(t.Pick(4))
	p := &v1beta1.RunPolicy{BackoffLimit: &limit, CleanUpPolicy: cleanUpOf(t)}
	if t.Chance(4) {
		p.RestartStrategy = v1beta1.RestartInPlace
	}
	if t.Chance(6) {
		seconds := int64(60 + t.Pick(240))
		p.ActiveDeadlineSeconds = &seconds
	}
	p.NodeLost, p.AvoidNodes = nodeLostOf(t, 6), avoidNodesOf(t, 24)
	return p
}

func drawTensorFlow(t *Tape) client.Object {
	job := &v1beta1.TensorFlowTrainingJob{}
	for _, replicaType := range []v1beta1.TensorFlowReplicaType{"worker", "ps", "chief"}[:1+t.Pick(3)] {
		replicas := int32(1)
		if replicaType != "chief" {
			replicas += int32(t.Pick(2))
		}
		job.Spec.ReplicaSpecs = append(job.Spec.ReplicaSpecs, v1beta1.TensorFlowReplicaSpec{
			Type: replicaType, Replicas: &replicas, Template: template("tensorflow"), RestartPolicy: policyOf(t),
		})
	}
	job.Spec.RunMode, job.Spec.RunPolicy, job.Spec.Scheduler = modes(), runPolicy(t), schedulerOf(t)
	return job
}

func drawTFJob(t *Tape) client.Object {
	limit, suspend := int32(t.Pick(4)), false
	job := &kubeflow.TFJob{}
	job.Spec.TFReplicaSpecs = map[string]*kubeflow.ReplicaSpec{}
	for _, replicaType := range []string{"Worker", "PS", "Chief"}[:1+t.Pick(3)] {
		replicas := int32(1)
		if replicaType != "Chief" {
			replicas += int32(t.Pick(2))
		}
		job.Spec.TFReplicaSpecs[replicaType] = &kubeflow.ReplicaSpec{
			Replicas: &replicas, Template: template("tensorflow"),
			RestartPolicy: pickOf(t, kubeflow.RestartPolicy("OnFailure"), "Never", "ExitCode", "Always"),
		}
	}
	p := &job.Spec.RunPolicy
	p.Suspend, p.BackoffLimit = &suspend, &limit
	p.CleanPodPolicy = pickOf(t, kubeflow.CleanPodPolicy(""), "None", "Running", "All")
	if t.Chance(6) {
		seconds := int64(60 + t.Pick(240))
		p.ActiveDeadlineSeconds = &seconds
	}
	if t.Chance(4) {
		seconds := int32(t.Pick(100))
		p.TTLSecondsAfterFinished = &seconds
	}
	return job
}

func drawPyTorch(t *Tape) client.Object {
	job := &v1beta1.PyTorchTrainingJob{}
	replicas := int32(1 + t.Pick(3))
	spec := v1beta1.PyTorchReplicaSpec{Type: "worker", Replicas: &replicas, Template: template("pytorch"), RestartPolicy: policyOf(t)}
	if t.Chance(2) {
		least, most := int32(1), int32(4)
		job.Spec.Elastic = &v1beta1.ElasticConfig{Enabled: true, MinReplicas: &least, MaxReplicas: &most, ExpectedReplicas: &replicas}
		job.Spec.TorchrunConfig = &v1beta1.TorchrunConfig{Enabled: true}
		spec.Replicas = nil
	}
	job.Spec.ReplicaSpecs = []v1beta1.PyTorchReplicaSpec{spec}
	job.Spec.RunMode, job.Spec.RunPolicy, job.Spec.Scheduler = modes(), runPolicy(t), schedulerOf(t)
	return job
}

// drawStrategy draws whether a job restarts in place.
func drawStrategy(t *Tape, s *v1beta1.GenericJobSpec) {
	if t.Chance(3) {
		s.RestartStrategy = v1beta1.RestartInPlace
		if t.Chance(2) {
			s.InPlaceLimit = new(int32(1 + t.Pick(2)))
		}
		if t.Chance(2) { // most of what may go wrong needs several restarts of all
			s.RestartScope, s.BackoffLimit = v1beta1.RestartScopeJob, new(int32(2+t.Pick(8)))
		}
		if n := len(s.ReplicaSpecs); n > 1 && t.Chance(2) { // what the image of one type runs is not known
			s.ReplicaSpecs[t.Pick(n)].Template.Spec.Containers[0].Command = nil
		}
	}
}

// nodeLostOf draws how long a job says that its pods wait for a lost node: mostly it does not say.
func nodeLostOf(t *Tape, n int) *v1beta1.NodeLost {
	if seconds := []int32{0, 0, 5, 90}[t.spareOf(n, 4)]; seconds > 0 {
		return &v1beta1.NodeLost{AfterSeconds: seconds}
	}
	return nil
}

// drawTemplates draws how long pods wait for a lost node, and whether they have an init container, and a deadline of their own.
func drawTemplates(t *Tape, s *v1beta1.GenericJobSpec) {
	inits, bounded := t.spare(4, 2), t.spare(8, 2)
	s.NodeLost, s.AvoidNodes = nodeLostOf(t, 16), avoidNodesOf(t, 64)
	for i := range s.ReplicaSpecs {
		pod := &s.ReplicaSpecs[i].Template.Spec
		if s.AvoidNodes != nil && inits {
			pod.Affinity = eitherNode()
		}
		if inits {
			pod.InitContainers = []corev1.Container{{Name: prepare, Image: "image"}}
		}
		if bounded {
			pod.ActiveDeadlineSeconds = new(int64(3600))
		}
	}
}
