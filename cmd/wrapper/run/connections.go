package run

import (
	"net"
	"slices"
	"sync"
)

// Anybody may connect to the wrapper, and say nothing. Silent connections take slots only from each other, and not from a client that asks at once.
const (
	maxConnections   = 256 // at a time
	maxPerAddress    = 8   // of one address; an operator asks a pod four things at once at most
	ipv6Neighborhood = 64  // bits: who has one IPv6 address has all of such a network
)

// connections are the open connections, in the order in which they came.
type connections struct {
	mu   sync.Mutex
	list []*connection
}

type connection struct {
	line   net.Conn
	from   string
	silent bool // has not named the pod yet
}

// add finds a slot for a new connection. If there is none, the connection that has been silent for longest is closed. If the new one's address has
// its share of the slots, it is one from that address, or else one from any. It returns nil if no such connection is silent.
func (open *connections) add(c net.Conn) *connection {
	open.mu.Lock()
	defer open.mu.Unlock()
	v := &connection{line: c, from: origin(c.RemoteAddr()), silent: true}
	ofSame := func(other *connection) bool { return other.from == v.from }
	ofAny := func(*connection) bool { return true }
	if open.count(ofSame) >= maxPerAddress && !open.closeSilent(ofSame) || len(open.list) >= maxConnections && !open.closeSilent(ofAny) {
		return nil
	}
	open.list = append(open.list, v)
	return v
}

func (open *connections) count(matches func(*connection) bool) (n int) {
	for _, v := range open.list {
		if matches(v) {
			n++
		}
	}
	return n
}

// closeSilent closes the first silent connection among these. It reports whether there was one.
func (open *connections) closeSilent(matches func(*connection) bool) bool {
	i := slices.IndexFunc(open.list, func(v *connection) bool { return v.silent && matches(v) })
	if i < 0 {
		return false
	}
	_ = open.list[i].line.Close()
	open.list = slices.Delete(open.list, i, i+1)
	return true
}

// trust notes that the client knows the pod's UID. Its connection is never closed for another one.
func (open *connections) trust(v *connection) {
	open.mu.Lock()
	defer open.mu.Unlock()
	v.silent = false
}

// remove closes a connection that is no longer needed.
func (open *connections) remove(v *connection) {
	open.mu.Lock()
	defer open.mu.Unlock()
	_ = v.line.Close()
	open.list = slices.DeleteFunc(open.list, func(other *connection) bool { return other == v })
}

// origin returns the address of a connection, or the network of an IPv6 address.
func origin(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return a.String()
	}
	if tcp.IP.To4() == nil {
		return tcp.IP.Mask(net.CIDRMask(ipv6Neighborhood, 8*net.IPv6len)).String()
	}
	return tcp.IP.String()
}
