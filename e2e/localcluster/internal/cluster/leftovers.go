package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// removeFiles keeps the logs, for whoever asks afterwards why it failed, and
// removes Run last: its presence says that there may be more to remove.
func (l Layout) removeFiles(context.Context) error {
	failures := []error{removeCNIResults(l.Run), removeDevicePlugins()}
	for _, n := range l.nodes() {
		failures = append(failures, removeShimSockets(n.run()), removeLogLinks(n.folder()))
	}
	entries, err := os.ReadDir(l.State)
	if err != nil && !os.IsNotExist(err) {
		failures = append(failures, err)
	}
	for _, entry := range entries {
		if path := filepath.Join(l.State, entry.Name()); path != l.Logs() {
			failures = append(failures, os.RemoveAll(path))
		}
	}
	if err := errors.Join(failures...); err != nil {
		return err
	}
	return os.RemoveAll(l.Run)
}

var shimSocket = regexp.MustCompile(`/run/containerd/s/[0-9a-f]+`)

// removeShimSockets removes the sockets that the shims of killed pods left in a
// folder which containerd shares with any other containerd of the machine.
func removeShimSockets(run string) error {
	var failures []error
	for _, name := range []string{"bootstrap.json", "address"} {
		files, err := filepath.Glob(run + "/containerd/io.containerd.runtime.v2.task/*/*/" + name)
		failures = append(failures, err)
		for _, file := range files {
			content, err := os.ReadFile(file)
			failures = append(failures, err)
			for _, socket := range shimSocket.FindAll(content, -1) {
				failures = append(failures, ignoreAbsent(os.Remove(string(socket))))
			}
		}
	}
	// Fails if somebody else uses the folders, and then they must stay.
	_ = os.Remove("/run/containerd/s")
	_ = os.Remove("/run/containerd")
	return errors.Join(failures...)
}

// removeCNIResults removes what the CNI library keeps of our pods. The loopback
// network has the same name in every cluster, so the pods' namespaces tell.
func removeCNIResults(run string) error {
	files, err := filepath.Glob("/var/lib/cni/results/*")
	failures := []error{err}
	for _, file := range files {
		content, err := os.ReadFile(file)
		failures = append(failures, err)
		if strings.Contains(string(content), run+"/") {
			failures = append(failures, ignoreAbsent(os.Remove(file)))
		}
	}
	_ = os.Remove("/var/lib/cni/results")
	_ = os.Remove("/var/lib/cni")
	return errors.Join(failures...)
}

// removeDevicePlugins removes the one socket that the kubelet makes in a fixed folder.
func removeDevicePlugins() error {
	const folder = "/var/lib/kubelet/device-plugins"
	failed := ignoreAbsent(os.Remove(folder + "/kubelet.sock"))
	_ = os.Remove(folder)
	_ = os.Remove(filepath.Dir(folder))
	return failed
}

// removeLogLinks removes the kubelet's links to our pods' logs, which it makes in a fixed folder.
func removeLogLinks(folder string) error {
	links, err := filepath.Glob("/var/log/containers/*.log")
	failures := []error{err}
	for _, link := range links {
		target, err := os.Readlink(link)
		if err == nil && strings.HasPrefix(target, filepath.Join(folder, "pod-logs")+"/") {
			failures = append(failures, ignoreAbsent(os.Remove(link)))
		}
	}
	_ = os.Remove("/var/log/containers")
	return errors.Join(failures...)
}

func ignoreAbsent(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}
