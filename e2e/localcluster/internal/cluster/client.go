package cluster

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/pki"
)

// client asks the cluster the few questions that Up and Status have. A full
// client library would make this module slow to build on a fresh machine.
type client struct{ http *http.Client }

func (l Layout) newClient() (*client, error) {
	certificate, err := tls.LoadX509KeyPair(pki.CertFile(l.pki(), "admin"), pki.KeyFile(l.pki(), "admin"))
	if err != nil {
		return nil, fmt.Errorf("load the administrator's certificate: %w", err)
	}
	ca, err := os.ReadFile(pki.CertFile(l.pki(), pki.Authority))
	if err != nil {
		return nil, fmt.Errorf("load the cluster's authority: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, RootCAs: pool}}
	return &client{&http.Client{Timeout: 5 * time.Second, Transport: transport}}, nil
}

func (c *client) get(ctx context.Context, url string, into any) error {
	body, status, err := c.do(ctx, http.MethodGet, url)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("ask %s: %s: %s", url, http.StatusText(status), body)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("understand the answer of %s: %w", url, err)
	}
	return nil
}

func (c *client) do(ctx context.Context, method, url string) ([]byte, int, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return nil, 0, fmt.Errorf("ask %s: %w", url, err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, 0, fmt.Errorf("ask %s: %w", url, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, 0, fmt.Errorf("read the answer of %s: %w", url, err)
	}
	return body, response.StatusCode, nil
}

func nodeURL(name string) string { return server + "/api/v1/nodes/" + name }

func (c *client) deleteNode(ctx context.Context, name string) error {
	body, status, err := c.do(ctx, http.MethodDelete, nodeURL(name))
	if err != nil {
		return err
	}
	if status != http.StatusOK && status != http.StatusNotFound {
		return fmt.Errorf("delete node %s: %s: %s", name, http.StatusText(status), body)
	}
	return nil
}

func (c *client) etcdHealthy(ctx context.Context) error { return c.get(ctx, etcdURL+"/health", nil) }

func (c *client) apiserverReady(ctx context.Context) error { return c.get(ctx, server+"/readyz", nil) }

// nodeReady returns nil for a node that takes pods; of an added one, those that tolerate its taint.
func (c *client) nodeReady(ctx context.Context, name string) error {
	var node struct {
		Spec   struct{ Taints []struct{ Key string } }
		Status struct {
			Conditions []struct{ Type, Status, Message string }
		}
	}
	if err := c.get(ctx, nodeURL(name), &node); err != nil {
		return err
	}
	for _, taint := range node.Spec.Taints {
		if taint.Key != AddedNodeTaint {
			return fmt.Errorf("node %s still has the taint %s", name, taint.Key)
		}
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type != "Ready" {
			continue
		}
		if condition.Status == "True" {
			return nil
		}
		return fmt.Errorf("node %s is not ready: %s", name, condition.Message)
	}
	return fmt.Errorf("node %s has not reported yet", name)
}

// usable also wants what the first pod of a user would miss: its ServiceAccount
// and name resolution, and through it the address of the apiserver.
func (c *client) usable(ctx context.Context) error {
	if err := c.nodeReady(ctx, NodeName); err != nil {
		return err
	}
	if err := c.get(ctx, server+"/api/v1/namespaces/default/serviceaccounts/default", nil); err != nil {
		return err
	}
	if err := resolves(ctx); err != nil {
		return err
	}
	// kube-proxy has written its rules once the Service's address answers.
	return c.get(ctx, "https://"+serviceIP+"/readyz", nil)
}

func resolves(ctx context.Context) error {
	dialer := net.Dialer{Timeout: time.Second}
	resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, network, nodeIP+":53")
	}}
	addresses, err := resolver.LookupHost(ctx, "kubernetes.default.svc.cluster.local.")
	if err != nil {
		return fmt.Errorf("ask the cluster's DNS: %w", err)
	}
	if len(addresses) != 1 || addresses[0] != serviceIP {
		return fmt.Errorf("the cluster's DNS says %v for the apiserver: want %s", addresses, serviceIP)
	}
	return nil
}
