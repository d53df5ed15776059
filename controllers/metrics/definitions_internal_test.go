package metrics

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestDefinitionsAreToldByHowTheyStand(t *testing.T) {
	defined := func(accepted, serving metav1.ConditionStatus) *v1beta1.TrainingFramework {
		d := &v1beta1.TrainingFramework{}
		for name, is := range map[string]metav1.ConditionStatus{v1beta1.FrameworkAccepted: accepted, v1beta1.FrameworkServing: serving} {
			if is != "" {
				d.Status.Conditions = append(d.Status.Conditions, metav1.Condition{Type: name, Status: is})
			}
		}
		return d
	}
	ending := defined("True", "True")
	ending.DeletionTimestamp = &metav1.Time{Time: now}
	all := []*v1beta1.TrainingFramework{
		defined("True", "True"),
		defined("", ""), defined("Unknown", "False"), defined("True", "False"), defined("True", "Unknown"),
		defined("False", "False"), defined("False", "True"),
		ending,
	}
	known := true
	c := &DefinitionCollector{Each: func(tell func(*v1beta1.TrainingFramework)) bool {
		for _, d := range all {
			tell(d)
		}
		return known
	}}
	require.Equal(t, map[string]float64{"definitions{Serving}": 1, "definitions{Waiting}": 4, "definitions{Refused}": 2}, told(t, c))
	known = false
	require.Empty(t, told(t, c), "not to know is not 0")
}

func TestABuildWithoutACommitSaysSo(t *testing.T) {
	require.Equal(t, map[string]float64{"build_info{unknown go1.26.8 v0.1.0}": 1}, told(t, Build{Version: "v0.1.0", Go: "go1.26.8"}.Collector()))
}
