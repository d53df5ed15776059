package compact

import (
	"os"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// cluster is the apiserver that all tests of this package share.
var cluster *envtest.Environment

func TestMain(m *testing.M) {
	os.Exit(testenv.Main(m, func(e *envtest.Environment) { cluster = e }, "kubeflow/crd"))
}
