package status

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/ptr"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// A field that is added to the rows and not compared would never be written.
func TestRowsAreComparedInEveryField(t *testing.T) {
	row := v1beta1.ReplicaStatus{Name: "a", UID: "b", Phase: "c", Containers: []v1beta1.ContainerStatus{{Name: "d", State: "e", ExitCode: ptr.To[int32](1)}}}
	require.True(t, sameRow(row, *row.DeepCopy()))
	zeroEach(t, reflect.TypeFor[v1beta1.ReplicaStatus](), func(i int) bool {
		other := row.DeepCopy()
		reflect.ValueOf(other).Elem().Field(i).SetZero()
		return sameRow(row, *other)
	})
	zeroEach(t, reflect.TypeFor[v1beta1.ContainerStatus](), func(i int) bool {
		other := row.DeepCopy()
		reflect.ValueOf(&other.Containers[0]).Elem().Field(i).SetZero()
		return sameRow(row, *other)
	})
}

func zeroEach(t *testing.T, of reflect.Type, same func(field int) bool) {
	for i := range of.NumField() {
		require.False(t, same(i), "%s.%s is not compared, or not set in this test", of.Name(), of.Field(i).Name)
	}
}
