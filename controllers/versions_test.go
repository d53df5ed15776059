package controllers_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kubeversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
)

// apiservers play those before Kubernetes 1.34, in front of the real one: they refuse pods with restart rules as these do.
type apiservers struct {
	version string           // that they tell; "" if nobody may know
	isOld   func(n int) bool // whether the n-th request for such a pod comes to one that refuses it

	mu              sync.Mutex
	offered, denied int // pods with restart rules
}

func (s *apiservers) counts() (offered, denied int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offered, s.denied
}

func (s *apiservers) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		switch {
		case r.URL.Path == "/version" && s.version == "":
			return answer(r, http.StatusForbidden, apierrors.NewForbidden(corev1.Resource("version"), "", nil).ErrStatus)
		case r.URL.Path == "/version":
			return answer(r, http.StatusOK, version.Info{GitVersion: s.version})
		case r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/pods"):
			return next.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		pod := &corev1.Pod{}
		if _, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, pod); err != nil {
			return nil, err
		}
		if pod.Spec.Containers[0].RestartPolicy == nil || !s.refuses() {
			return next.RoundTrip(r)
		}
		return answer(r, http.StatusUnprocessableEntity, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Pod").GroupKind(), pod.Name, field.ErrorList{
			field.Forbidden(field.NewPath("spec", "containers").Index(0).Child("restartPolicy"), "may not be set for non-init containers"),
		}).ErrStatus)
	})
}

func (s *apiservers) refuses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered++
	if s.isOld(s.offered) {
		s.denied++
		return true
	}
	return false
}

func answer(r *http.Request, code int, body any) (*http.Response, error) {
	if status, is := body.(metav1.Status); is {
		status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
		body = status
	}
	text, err := json.Marshal(body)
	return &http.Response{StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(text))}, err
}

// isBefore reports whether the apiserver of the tests is older than 1.<minor>.
func isBefore(t *testing.T, minor uint) bool {
	t.Helper()
	server, err := discovery.NewDiscoveryClientForConfig(apiserver)
	require.NoError(t, err)
	info, err := server.ServerVersion()
	require.NoError(t, err)
	return kubeversion.MustParseGeneric(info.GitVersion).LessThan(kubeversion.MajorMinor(1, minor))
}

func always(int) bool { return true }

// Restart rules are the operator's. Where an apiserver refuses them, the pod that fails is replaced, and the others go on in theirs.
func TestNoJobFailsByRestartRulesThatItsApiserverDoesNotKnow(t *testing.T) {
	t.Parallel()
	t.Run("the version tells", func(t *testing.T) {
		t.Parallel()
		s := &apiservers{version: "v1.33.9-eks-1", isOld: always}
		replacesWhoFails(t, s)
		offered, _ := s.counts()
		require.Zero(t, offered, "who is known to refuse is not asked")
	})
	t.Run("nobody tells", func(t *testing.T) {
		t.Parallel()
		s := &apiservers{isOld: always}
		replacesWhoFails(t, s)
		offered, denied := s.counts()
		require.Equal(t, offered, denied)
		require.Positive(t, denied)
		require.Less(t, denied, 4, "the pod that is made later needs no second call")
	})
	t.Run("an apiserver that is older than this test's", func(t *testing.T) {
		t.Parallel()
		if !isBefore(t, 34) {
			t.Skip("needs an apiserver before Kubernetes 1.34: make test-versions VERSIONS=1.30")
		}
		replacesWhoFails(t, nil)
	})
}

// While a control plane is upgraded, one that tells its version is not always the one that gets the pod.
func TestNoJobFailsByTwoVersionsAtOnce(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	s := &apiservers{version: "v1.34.0", isOld: func(n int) bool { return n%2 == 1 }}
	c.operate(operation{settings: withWrapper.settings, wrap: s.wrap})
	for _, name := range []string{"first", "second", "third"} {
		job := c.submit(name, threeInPlace)
		c.await(name, func(j *v1beta1.GenericJob) bool { return j.Status.Running == "3/3" })
		requireNeverRefused(t, c.job(name))
		for _, pod := range c.pods(job) {
			require.Contains(t, pod.Annotations, inplace.Annotation)
		}
	}
	_, denied := s.counts()
	require.Positive(t, denied)
}

func requireNeverRefused(t *testing.T, job *v1beta1.GenericJob) {
	t.Helper()
	for _, c := range job.Status.Conditions {
		require.NotContains(t, c.Message, "restartPolicy", "%s %s", c.Type, c.Reason)
		require.False(t, c.Type == v1beta1.ConditionBlocked && c.Status == "True", c.Message)
	}
}

// replacesWhoFails has a job restart all of its three replicas, of which one has failed, on apiservers that know no restart rules.
func replacesWhoFails(t *testing.T, s *apiservers) {
	t.Helper()
	c := newCluster(t)
	o := operation{settings: withWrapper.settings}
	if s != nil {
		o.wrap = s.wrap
	}
	c.operate(o)
	job := c.submit("world", threeInPlace)
	c.await("world", func(j *v1beta1.GenericJob) bool { return j.Status.Running == "3/3" })
	before := c.pods(job)
	for name, pod := range before {
		require.Nil(t, pod.Spec.Containers[0].RestartPolicy, name)
		require.Empty(t, pod.Spec.Containers[0].RestartPolicyRules, name)
	}
	stay := []*wrapper{c.wrap(before["worker-0"]), c.wrap(before["worker-2"])}

	c.finish(job, "worker-1", 3)
	c.until("the others are told to stop", func() bool {
		return c.pods(job)["worker-0"].Annotations[inplace.Annotation] == "attempt=1 go=0 jobAttempt=1"
	})
	for _, w := range stay {
		w.arrives(1, 0)
	}
	have := c.await("world", func(j *v1beta1.GenericJob) bool {
		return j.Status.InPlace != nil && j.Status.InPlace.StartedJobAttempt == 1 && j.Status.Running == "3/3"
	})
	require.EqualValues(t, 1, have.Status.BackoffCount)
	requireNeverRefused(t, have)
	after := c.pods(job)
	require.Equal(t, before["worker-0"].UID, after["worker-0"].UID)
	require.Equal(t, before["worker-2"].UID, after["worker-2"].UID)
	require.NotEqual(t, before["worker-1"].UID, after["worker-1"].UID)
	require.Nil(t, after["worker-1"].Spec.Containers[0].RestartPolicy)
	for name := range after {
		c.finish(job, name, 0)
	}
	c.awaitPhase("world", v1beta1.JobSucceeded)
}
