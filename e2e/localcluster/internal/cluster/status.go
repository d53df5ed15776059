package cluster

import (
	"context"
	"fmt"
	"io"

	"github.com/genericjob/genericjob/e2e/localcluster/internal/process"
	"github.com/genericjob/genericjob/e2e/localcluster/internal/system"
)

// Status writes one line per component, one for the node, and where to look further.
// It returns whether all is well.
func Status(ctx context.Context, l Layout, out io.Writer) bool {
	well := true
	for _, c := range l.components() {
		state := "stopped"
		if pid := process.Running(l.folders(), l.tag(), c.Name); pid != 0 {
			state = fmt.Sprintf("running, pid %d", pid)
		} else {
			well = false
		}
		fmt.Fprintf(out, "%-24s %-20s %s\n", c.Name, state, l.folders().Log(c.Name))
	}
	node := "ready"
	if client, err := l.newClient(); err != nil {
		node, well = "not there: run `up`", false
	} else if err := client.usable(ctx); err != nil {
		node, well = err.Error(), false
	}
	fmt.Fprintf(out, "%-24s %s\n", "node "+NodeName, node)
	for _, n := range l.addedNodes() {
		fmt.Fprintf(out, "%-24s added; its kubelet's folder is %s\n", "node "+n.name, n.data("kubelet"))
	}
	fmt.Fprintf(out, "\nto look inside:\n  export KUBECONFIG=%s\n  %s get events -A\n  %s --address %s -n k8s.io containers list\n",
		system.Quote(l.Kubeconfig()), system.Quote(l.Programs["kubectl"]), system.Quote(l.Programs["ctr"]), l.firstNode().containerdSocket())
	return well
}
