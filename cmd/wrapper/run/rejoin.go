package run

import (
	"slices"
	"time"

	"github.com/genericjob/genericjob/apis/inplace"
)

// Rejoining. The command may be an agent that runs torchrun. When a peer is lost, torchrun ends its training processes, and starts new ones once the
// peer has come back. So code does not hang while it has no training processes. With new ones it has as much time as at a start.

// trainingCheckInterval is how often to look whether torchrun has started training processes.
const trainingCheckInterval = time.Second

// hasOtherTraining reports whether an agent's torchrun has no training processes, or others than at the last call.
func (w *wrapper) hasOtherTraining() bool {
	training, hasAgent := trainingProcesses(descendants())
	if !hasAgent || len(training) > 0 && slices.Equal(training, w.watch.trainingSeen) {
		return false
	}
	w.watch.trainingSeen = training
	return true
}

// trainingProcesses returns the processes that an agent's launcher has started, and whether there is an agent.
func trainingProcesses(list []process) (pids []int, hasAgent bool) {
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
