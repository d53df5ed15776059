package jobs

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// TensorBoard returns the state of the job's TensorBoard; nil if it has none.
func (f *Family) TensorBoard() *v1beta1.DependentStatus {
	switch job := f.Job.(type) {
	case *v1beta1.PyTorchTrainingJob:
		return job.Status.TensorBoard
	case *v1beta1.TensorFlowTrainingJob:
		return job.Status.TensorBoard
	case *unstructured.Unstructured:
		return shown(job).TensorBoard
	default:
		return nil
	}
}
