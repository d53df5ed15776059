package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/genericjob/genericjob/controllers"
)

// processOf returns the process of the test's apiserver: a child of the test that listens at its port.
func processOf(t *testing.T, of *envtest.Environment) int {
	t.Helper()
	port := []byte("--secure-port=" + of.ControlPlane.APIServer.Port)
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, file := range files {
		line, err := os.ReadFile(file)
		stat, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "stat"))
		if err == nil && bytes.Contains(append(line, 0), append(port, 0)) && strings.Contains(string(stat), fmt.Sprintf(" %d ", os.Getpid())) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			require.NoError(t, err)
			return pid
		}
	}
	t.Fatalf("no child of this test has %s", port)
	return 0
}

// silent stops the apiserver for some time, and says how long it was until it answered again.
func silent(t *testing.T, c client.Client, d time.Duration) time.Duration {
	t.Helper()
	pid := processOf(t, cluster)
	began := time.Now()
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	time.Sleep(d)
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))
	eventually(t, "the apiserver answers", func() bool {
		return c.List(t.Context(), &coordinationv1.LeaseList{}) == nil
	})
	return time.Since(began)
}

// An operator ended when the apiserver did not answer for ten seconds, and read all jobs again when it did. Kubernetes' own numbers are 15, 10 and 2
// s.
func TestAnApiserverThatIsSilentFor14SecondsEndsNoOperator(t *testing.T) {
	scheme, err := controllers.NewScheme()
	require.NoError(t, err)
	c, err := client.New(cluster.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	leaseIn := func(namespace string) *coordinationv1.Lease {
		lease := &coordinationv1.Lease{}
		_ = c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "genericjob.batch.tensorstack.dev"}, lease)
		return lease
	}
	holder := func(namespace string) string { return ptr.Deref(leaseIn(namespace).Spec.HolderIdentity, "") }
	lost := func(file string) bool {
		log, err := os.ReadFile(file)
		require.NoError(t, err)
		return strings.Contains(string(log), "leader election lost")
	}
	admin := envtest.User{Name: "patient", Groups: []string{"system:masters"}}
	for tries := 1; ; tries++ {
		patientIn, hastyIn := fmt.Sprintf("patient-%d", tries), fmt.Sprintf("hasty-%d", tries)
		for _, name := range []string{patientIn, hastyIn} {
			require.NoError(t, c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
		}
		_, ofPatient, end := start(t, admin, "-leader-elect-namespace="+patientIn)
		_, ofHasty, _ := start(t, admin, "-leader-elect-namespace="+hastyIn,
			"-leader-elect-lease-duration=17s", "-leader-elect-renew-deadline=10s")
		eventually(t, "both lead", func() bool { return holder(patientIn) != "" && holder(hastyIn) != "" })
		require.EqualValues(t, 30, *leaseIn(patientIn).Spec.LeaseDurationSeconds)
		require.EqualValues(t, 17, *leaseIn(hastyIn).Spec.LeaseDurationSeconds)
		first := holder(patientIn)
		took := silent(t, c, 14*time.Second)
		eventually(t, "one that waits for ten seconds ends: the silence was one", func() bool { return lost(ofHasty) })
		renewed := leaseIn(patientIn).Spec.RenewTime.DeepCopy()
		eventually(t, "the patient one renews its lease, or ends", func() bool {
			return lost(ofPatient) || leaseIn(patientIn).Spec.RenewTime.After(renewed.Time)
		})
		t.Logf("the apiserver did not answer for %s", took.Round(time.Millisecond))
		if !lost(ofPatient) {
			require.Equal(t, first, holder(patientIn))
			end()
			return
		}
		require.Greater(t, took, 17*time.Second, "the operator has ended though the apiserver was back in time")
		require.Less(t, tries, 5, "no machine stalls each time")
	}
}
