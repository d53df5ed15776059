package pki

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCertificatesVerifyForWhatTheyServe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	require.NoError(t, Ensure(dir, []Identity{
		{Name: "server", User: "server", IPs: []string{"10.96.0.1"}, DNS: []string{"kubernetes.default.svc"}},
		{Name: "client", User: "someone", Groups: []string{"some"}},
	}))
	ca, err := os.ReadFile(CertFile(dir, Authority))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ca))
	load := func(name string) *x509.Certificate {
		pair, err := tls.LoadX509KeyPair(CertFile(dir, name), KeyFile(dir, name))
		require.NoError(t, err)
		return pair.Leaf
	}
	for _, address := range []string{"10.96.0.1", "kubernetes.default.svc"} {
		_, err := load("server").Verify(x509.VerifyOptions{Roots: roots, DNSName: address})
		require.NoError(t, err)
	}
	client := load("client")
	require.Equal(t, []string{"some"}, client.Subject.Organization)
	_, err = client.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
	require.Error(t, err, "a client's certificate must not serve")
}

func TestEnsureKeepsTheKeysOfARunningCluster(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	require.NoError(t, Ensure(dir, nil))
	before, err := os.ReadFile(KeyFile(dir, Authority))
	require.NoError(t, err)
	require.NoError(t, Ensure(dir, nil))
	after, err := os.ReadFile(KeyFile(dir, Authority))
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestAddSignsWithTheSameAuthority(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	require.NoError(t, Ensure(dir, nil))
	require.NoError(t, Add(dir, Identity{Name: "late", User: "late", IPs: []string{"10.88.0.2"}}))
	ca, err := os.ReadFile(CertFile(dir, Authority))
	require.NoError(t, err)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(ca))
	pair, err := tls.LoadX509KeyPair(CertFile(dir, "late"), KeyFile(dir, "late"))
	require.NoError(t, err)
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "10.88.0.2"})
	require.NoError(t, err)

	require.NoError(t, Add(dir, Identity{Name: "late", User: "another"}))
	again, err := tls.LoadX509KeyPair(CertFile(dir, "late"), KeyFile(dir, "late"))
	require.NoError(t, err)
	require.Equal(t, pair.Leaf.Raw, again.Leaf.Raw, "a running node keeps its key")
}
