package run

import (
	"net"
	"slices"
	"sync"
)

// Anybody may connect to the wrapper, and say nothing. Silent visitors take slots only from each other, and not from a visitor who asks at once.
const (
	manyVisitors     = 256 // at a time
	visitorsOfOne    = 8   // of one address; an operator asks a pod four things at once at most
	ipv6Neighborhood = 64  // bits: who has one IPv6 address has all of such a network
)

// visitors are the open connections, in the order in which they came.
type visitors struct {
	mu   sync.Mutex
	list []*visitor
}

type visitor struct {
	line   net.Conn
	from   string
	silent bool // has not named the pod yet
}

// admit finds a place for a new visitor. If there is none, the visitor who has been silent for longest has to leave. If the newcomer's address has
// its share of the places, it is one from that address, or else one from any. It returns nil if no such visitor is silent.
func (in *visitors) admit(c net.Conn) *visitor {
	in.mu.Lock()
	defer in.mu.Unlock()
	v := &visitor{line: c, from: origin(c.RemoteAddr()), silent: true}
	ofSame := func(other *visitor) bool { return other.from == v.from }
	ofAny := func(*visitor) bool { return true }
	if in.count(ofSame) >= visitorsOfOne && !in.dismiss(ofSame) || len(in.list) >= manyVisitors && !in.dismiss(ofAny) {
		return nil
	}
	in.list = append(in.list, v)
	return v
}

func (in *visitors) count(is func(*visitor) bool) (n int) {
	for _, v := range in.list {
		if is(v) {
			n++
		}
	}
	return n
}

// dismiss closes the connection of the first silent visitor among these. It reports whether there was one.
func (in *visitors) dismiss(is func(*visitor) bool) bool {
	i := slices.IndexFunc(in.list, func(v *visitor) bool { return v.silent && is(v) })
	if i < 0 {
		return false
	}
	_ = in.list[i].line.Close()
	in.list = slices.Delete(in.list, i, i+1)
	return true
}

// knows notes that a visitor knows the pod's UID. Nobody takes that visitor's place any more.
func (in *visitors) knows(v *visitor) {
	in.mu.Lock()
	defer in.mu.Unlock()
	v.silent = false
}

// leave ends a visit.
func (in *visitors) leave(v *visitor) {
	in.mu.Lock()
	defer in.mu.Unlock()
	_ = v.line.Close()
	in.list = slices.DeleteFunc(in.list, func(other *visitor) bool { return other == v })
}

// origin returns the address of a visitor, or the network of an IPv6 address.
func origin(a net.Addr) string {
	tcp, is := a.(*net.TCPAddr)
	if !is {
		return a.String()
	}
	if tcp.IP.To4() == nil {
		return tcp.IP.Mask(net.CIDRMask(ipv6Neighborhood, 8*net.IPv6len)).String()
	}
	return tcp.IP.String()
}
