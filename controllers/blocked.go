package controllers

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/kernel/status"
	"github.com/genericjob/genericjob/translators/definition"
)

// blocked says what blocks a training job by its own status, and since when; "" if nothing does. An edit that has to wait for a pause blocks the
// training job, and not its GenericJob.
func blocked(job client.Object) (reason string, since time.Time) {
	if theirs, ok := job.(kubeflow.Job); ok {
		for _, c := range theirs.State().Conditions {
			if c.Type == kubeflow.JobBlocked && c.Status == corev1.ConditionTrue {
				return c.Reason, c.LastUpdateTime.Time // this condition has no other: see the mirror of package kubeflow
			}
		}
		return "", since
	}
	if c := status.Condition(conditionsOf(job), v1beta1.ConditionBlocked); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason, c.LastTransitionTime.Time
	}
	return "", since
}

// conditionsOf returns the conditions of a training job whose status is of the usual shape. A definition may show another.
func conditionsOf(job client.Object) []v1beta1.JobCondition {
	if defined, ok := job.(*definition.Job); ok {
		return conditionsIn(defined.Status.Raw)
	}
	v := reflect.ValueOf(job).Elem().FieldByName("Status")
	if v.IsValid() && v.Kind() == reflect.Struct {
		v = v.FieldByName("Conditions")
	}
	if !v.IsValid() {
		return nil
	}
	conditions, _ := v.Interface().([]v1beta1.JobCondition)
	return conditions
}

// conditionsIn reads the conditions of a status that is kept as JSON, if one of them may be Blocked. In most that word is not found.
func conditionsIn(raw []byte) []v1beta1.JobCondition {
	var shown struct {
		Conditions []v1beta1.JobCondition `json:"conditions"`
	}
	if !bytes.Contains(raw, []byte(`"`+v1beta1.ConditionBlocked+`"`)) || json.Unmarshal(raw, &shown) != nil {
		return nil
	}
	return shown.Conditions
}
