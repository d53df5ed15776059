package simulator

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/equality"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
)

func TestAValueIsRereadAsJSONWouldDoIt(t *testing.T) {
	for _, kind := range []any{
		v1beta1.GenericJobStatus{}, v1beta1.GenericJobSpec{}, v1beta1.TrainingJobStatus{}, kubeflow.JobStatus{}, v1beta1.TensorFlowTrainingJobSpec{},
	} {
		t.Run(fmt.Sprintf("%T", kind), func(t *testing.T) {
			fill := randfill.NewWithSeed(1).NilChance(0.3).NumElements(0, 3).MaxDepth(12).Funcs( // what has to be legal
				func(f *metav1.FieldsV1, _ randfill.Continue) { f.SetRawString("{}") },
				func(q *quantity.Quantity, c randfill.Continue) {
					*q = *quantity.NewMilliQuantity(c.Int63n(1e6), quantity.DecimalSI)
				},
				func(v *intstr.IntOrString, c randfill.Continue) { *v = intstr.FromInt32(c.Int31()) },
			)
			for range 200 {
				v := reflect.New(reflect.TypeOf(kind))
				fill.Fill(v.Interface())
				want := reflect.New(reflect.TypeOf(kind)).Elem()
				throughJSON(want, v.Elem())
				got := reread(v.Elem())
				require.True(t, equality.Semantic.DeepEqual(want.Interface(), got.Interface()), "want %+v\ngot %+v", want, got)
				require.Equal(t, want.Interface(), got.Interface())
			}
		})
	}
}
