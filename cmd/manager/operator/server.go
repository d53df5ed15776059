package operator

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// What anybody may take who reaches a port, before it is known who he is. controller-runtime's own servers let everybody have any
// number of connections, with a megabyte of headers each: enough to end the operator. A connection has one request. HTTP/2,
// which has many in one connection, is not spoken.
const (
	maxAnswers     = 16             // under way; each may set off questions to the apiserver
	maxConnections = 4 * maxAnswers // those whose request has not come yet, or waits, take headers alone
	maxHeaders     = 16 << 10       // bytes; tokens take one or two thousand
	lastAnswer     = time.Second    // that an answer under way has when the operator ends
)

// times bound what a connection may wait for.
type times struct {
	header, request time.Duration // to come
	turn            time.Duration // for an answer to begin: the shortest time of a port has room for it, and for the answer
}

// shortTimes returns the times of every port. They are enough for whoever means it.
func shortTimes() times {
	return times{header: 5 * time.Second, request: 10 * time.Second, turn: 2 * time.Second}
}

// port is one that the operator listens on.
type port struct {
	name, flag, address string
	encrypted           bool
	answerTime          time.Duration
	times               times
	paths               map[string]http.Handler
}

// serve has the manager serve ports from its start on, whoever leads. The addresses "0" and "" serve nothing.
func serve(mgr ctrl.Manager, ports ...port) error {
	for _, p := range ports {
		if p.address == "" || p.address == "0" {
			continue
		}
		p.times = shortTimes()
		listener, err := p.listen()
		if err != nil {
			return fmt.Errorf("serve the %s at --%s=%s: %w", p.name, p.flag, p.address, err)
		}
		if err := mgr.Add(&manager.Server{Name: p.name, Server: p.server(), Listener: listener, ShutdownTimeout: ptr.To(lastAnswer)}); err != nil {
			return err
		}
	}
	return nil
}

func (p port) server() *http.Server {
	mux := http.NewServeMux()
	for path, handler := range p.paths {
		mux.Handle(path, handler)
	}
	server := &http.Server{
		Handler: staying(inTurn(mux, p.times.turn)), ConnContext: withConnection, MaxHeaderBytes: maxHeaders,
		ReadHeaderTimeout: p.times.header, ReadTimeout: p.times.request, WriteTimeout: p.answerTime,
		ErrorLog: log.New(io.Discard, "", 0), // strangers would decide how long the log is
	}
	server.SetKeepAlivesEnabled(false) // who asks again and reads no answer would keep his connection
	return server
}

// listen returns a listener with a bounded number of connections.
func (p port) listen() (net.Listener, error) {
	var config *tls.Config
	if p.encrypted {
		var err error
		if config, err = ownCertificate(); err != nil {
			return nil, err
		}
	}
	plain, err := net.Listen("tcp", p.address)
	if err != nil {
		return nil, err
	}
	if config == nil {
		return newConnections(plain), nil
	}
	return tls.NewListener(newConnections(plain), config), nil
}

// ownCertificate makes a certificate, anew at each start: it keeps tokens from who only listens on the wire, as Kubernetes' own
// components do.
func ownCertificate() (*tls.Config, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate just made: %w", err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: []string{"http/1.1"}, MinVersion: tls.VersionTLS12}, nil
}
