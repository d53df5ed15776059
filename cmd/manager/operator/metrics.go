package operator

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
)

// What anybody may take who reaches the port of the metrics, before it is known who he is. controller-runtime's own server
// lets everybody have any number of connections, with a megabyte of headers each: enough to end the operator. A connection
// more waits until one ends. HTTP/2, which has many requests in one connection, is not spoken.
const (
	maxConnections = 16
	maxHeaders     = 16 << 10 // bytes; tokens take one or two thousand
	maxHeaderTime  = 5 * time.Second
	maxRequestTime = 10 * time.Second
	maxAnswerTime  = 30 * time.Second // with the questions to the apiserver
	maxIdleTime    = time.Minute      // scrapers come back within
	lastScrape     = time.Second      // that a scrape under way has when the operator ends
)

// serveMetrics has the manager serve the metrics over TLS, to who may get /metrics. The address "0" serves nothing.
func serveMetrics(mgr ctrl.Manager, address string) error {
	if address == "0" {
		return nil
	}
	filter, err := filters.WithAuthenticationAndAuthorization(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("serve the metrics: %w", err)
	}
	scrape, err := filter(ctrl.Log.WithName("metrics"), promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	if err != nil {
		return fmt.Errorf("serve the metrics: %w", err)
	}
	listener, err := listen(address)
	if err != nil {
		return fmt.Errorf("serve the metrics at --metrics-bind-address=%s: %w", address, err)
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", scrape)
	return mgr.Add(&manager.Server{Name: "metrics", Server: bounded(mux), Listener: listener, ShutdownTimeout: ptr.To(lastScrape)})
}

func bounded(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: handler, MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: maxHeaderTime, ReadTimeout: maxRequestTime, WriteTimeout: maxAnswerTime, IdleTimeout: maxIdleTime,
	}
}

// listen accepts a bounded number of connections, under a certificate that is made again at each start: it keeps tokens from who
// only listens on the wire, as Kubernetes' own components do.
func listen(address string) (net.Listener, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate just made: %w", err)
	}
	plain, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return tls.NewListener(netutil.LimitListener(plain, maxConnections), &tls.Config{
		Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12,
	}), nil
}
