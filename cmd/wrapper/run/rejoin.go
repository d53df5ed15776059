package run

import (
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

// Meeting again. An agent may run torchrun. When a peer has gone, torchrun ends its training processes, and starts new ones once the peer has come
// back. Code without training processes therefore does not hang. With new ones it has the time of a start.

// meetInterval is how often to look whether torchrun has started training processes.
const meetInterval = time.Second

// startsAnew reports whether an agent's torchrun has other training processes than when last asked, or none.
func (w *wrapper) startsAnew() bool {
	training, is := trainingProcesses(descendants())
	if !is || len(training) > 0 && slices.Equal(training, w.training) {
		return false
	}
	w.training = training
	return true
}

// trainingProcesses returns those that the launcher has started which an agent runs, and whether there is an agent.
func trainingProcesses(list []process) (pids []int, is bool) {
	var agents, launchers []int
	for _, p := range list { // parents come first
		switch {
		case p.name == inplace.AgentName:
			agents = append(agents, p.pid)
		case slices.Contains(agents, p.parent):
			launchers = append(launchers, p.pid)
		case slices.Contains(launchers, p.parent):
			pids = append(pids, p.pid)
		}
	}
	slices.Sort(pids)
	return pids, len(agents) > 0
}
