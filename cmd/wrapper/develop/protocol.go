// Package develop replaces the code of a replica that runs, in its pod, and has its processes begun again. Nobody counts that: the container does not
// end, so the operator and the kubelet see nothing of it.
//
// A developer's program, `kubectl gj sync`, runs `wrapper develop` in the container of each pod, by the developer's own right to exec. It sends
// requests to its standard input, one after another. So all replicas do the same step before any goes on:
//
//	files   keeps files beside the code, and looks whether they may be written
//	ready   from now on the end of a peer may have the code fail: such a failure belongs to the restart
//	stop    ends the code
//	apply   puts the files in their place
//	start   begins the code again
//
// Steps may be left out: without stop and start the code goes on. At the end of the input nothing is left half done. Files that were not applied are
// deleted, and code that was stopped begins again. `wrapper develop` reaches the wrapper that runs by a socket in the pod's volume.
//
// The files stay in the pod's volume, too. A container that starts again has those of its image, so its wrapper puts them in their place: see Restore.
// A new pod has a new volume.
package develop

import "time"

// Command is the argument by which the wrapper's program serves a developer.
const Command = "develop"

// What a Request asks for.
const (
	// Open is for whoever connects to the socket: one at a time is served.
	Open  = "open"
	Files = "files"
	Ready = "ready"
	Stop  = "stop"
	Apply = "apply"
	Start = "start"
)

// What files may be, in a pod.
const (
	// MaxFiles is how many there may be.
	MaxFiles = 10_000
	// MaxBytes is their size, of all together.
	MaxBytes = 64 << 20
	// MaxStream is how long a tar stream of such files may be.
	MaxStream = MaxBytes + MaxFiles*2048
	// maxRequest is how long the line of a request may be: it may name files that are to be deleted.
	maxRequest = 4 << 20
)

const (
	// Patience is how long a wrapper waits for the next request, beyond the time that the code may take to end. Then it begins the code again. Ready may
	// be asked for again, while others need longer.
	Patience = time.Minute
	// LongestVisit is how long anybody may be served.
	LongestVisit = 15 * time.Minute
)

// Request is a line of JSON. After one that asks for Files follow as many bytes as it says.
type Request struct {
	Do string `json:"do"`
	// Dir is the folder in the container that Files are for, an absolute path.
	Dir string `json:"dir,omitempty"`
	// Bytes is the length of the tar stream that follows.
	Bytes int64 `json:"bytes,omitempty"`
	// Delete are files to be deleted in Dir.
	Delete []string `json:"delete,omitempty"`
	// Grace is how long code may take to end after Stop. 0, and what is longer, stand for the grace period of the pod.
	Grace time.Duration `json:"grace,omitempty"`
}

// Answer is a line of JSON, one for each Request.
type Answer struct {
	// Error says what could not be done; "" if all was.
	Error string `json:"error,omitempty"`
	// Busy says that somebody else is served.
	Busy bool `json:"busy,omitempty"`
	// Waits says, of Start, that the code waits for an order of the operator, by which it begins.
	Waits bool `json:"waits,omitempty"`
}
