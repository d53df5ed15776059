package hostile

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Words are texts that mean something somewhere, or break what takes them for harmless.
var Words = []string{
	"", "-", "0", "1", "007", "-1", "any", "2147483648", "1e3", "x y", "a/b", "../../etc", "A", "é漢😀", "\x00", "'\"`{}\\", "\n",
	"worker", "master", "chief", "ps", "Worker", "Master", "evaluator", "main", "tensorflow", "python", "pytorch",
	"OnFailure", "Never", "Always", "ExitCode", "Job", "Replica", "Plain", "Hashed", "All", "none", "Running", "Succeeded", "Failed",
	"Paused", "Resumed", "Debug-", "True", "False", "Unknown", "0-3,7", "1-0", "0-1048576", "0-9999", "3-",
	"$(rank)", "$(", "$()", "$(type", "$($(rank))", "$$(rank)", "$(replicas[nobody])", "$(replicas[*]*999999999)", "$(replicas[worker])",
	"$(service.worker[0].host)", "$(service.worker[99999999999999999999].host)", "$(service.worker[-1].host)", "$(service.port[x])",
	"$(onRank[0].$(rank))", "$(onRank[00].x)", "$(var[rank])", "$(index)",
	"batch.tensorstack.dev/job-uid", "batch.tensorstack.dev/attempt", "batch.tensorstack.dev/tracking", "tensorstack.dev/tensorboard",
	"kube-system", "default", "job", "job-worker-0", "kubectl.kubernetes.io/default-container", "TF_CONFIG", "RANK", "torchrun",
	"t9k://pvc/a/b", "t9k://minio/a/../b", "t9k://pvc/../x", "s3://b/p", "http://127.0.0.1/x", "http://[", "gpu", "auto", "c10d",
	"--nnodes=1", "--rdzv_endpoint", "--",
	strings.Repeat("x", 64), strings.Repeat("x", 254), strings.Repeat("界", 100), strings.Repeat("$(", 500), strings.Repeat("é", 3000),
	"$(replicas[" + strings.Repeat("界", 2000) + "])",
}

// Moments are times at the edges of what can be stored and reckoned with.
var Moments = []time.Time{
	{}, time.Unix(0, 0), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 12, 31, 23, 59, 59, 0, time.UTC),
	time.Date(2026, 1, 1, 1, 0, 0, 1, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC),
}

var quantities = []string{"0", "1", "-1", "100m", "1n", "1Gi", "9223372036854775807", "1e99", "1e-99"}

var numbers = []int64{
	0, 1, 2, 3, -1, 5, 64, 65, 255, 1000, 1001, 9999, 10000, 10001, 65535, 65536, math.MaxInt32, math.MinInt32, math.MaxInt32 - 1,
	1 << 33, math.MaxInt64, math.MinInt64, math.MaxInt64 / 1_000_000_000, math.MaxInt64/1_000_000_000 + 1,
}

// Word chooses one of Words.
func (s *Source) Word() string { return Pick(s, Words...) }

// whole are values of types that are not taken apart.
func (s *Source) whole(t reflect.Type) (any, bool) {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return metav1.NewTime(Pick(s, Moments...)), true
	case reflect.TypeFor[metav1.MicroTime]():
		return metav1.NewMicroTime(Pick(s, Moments...)), true
	case reflect.TypeFor[metav1.Duration]():
		return metav1.Duration{Duration: time.Duration(Pick(s, numbers...))}, true
	case reflect.TypeFor[resource.Quantity]():
		return resource.MustParse(Pick(s, quantities...)), true
	case reflect.TypeFor[intstr.IntOrString]():
		if s.OneIn(2) {
			return intstr.FromString(s.Word()), true
		}
		return intstr.FromInt32(int32(Pick(s, numbers...))), true
	case reflect.TypeFor[runtime.RawExtension]():
		raw, err := json.Marshal(s.Word())
		return runtime.RawExtension{Raw: raw}, err == nil
	case reflect.TypeFor[metav1.FieldsV1]():
		return metav1.FieldsV1{}, true
	}
	return nil, false
}
