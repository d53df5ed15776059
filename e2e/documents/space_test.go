package documents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// space is a namespace and a folder that one test has for itself. In the folder is what is in the checkout.
type space struct {
	t                        *testing.T
	name, folder, kubeconfig string
}

func newSpace(t *testing.T) *space {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "documents-"}}
	require.NoError(t, api.Create(t.Context(), namespace))
	// As the controller-manager would.
	require.NoError(t, api.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace.Name}}))
	s := &space{t: t, name: namespace.Name, folder: t.TempDir(), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}

	config, err := clientcmd.Load(cluster.KubeConfig)
	require.NoError(t, err)
	config.Contexts[config.CurrentContext].Namespace = s.name
	require.NoError(t, clientcmd.WriteToFile(*config, s.kubeconfig))

	checkout, err := filepath.Abs(root)
	require.NoError(t, err)
	entries, err := os.ReadDir(checkout)
	require.NoError(t, err)
	for _, entry := range entries {
		require.NoError(t, os.Symlink(filepath.Join(checkout, entry.Name()), filepath.Join(s.folder, entry.Name())))
	}
	return s
}

// run runs commands as a user would type them. They must succeed; what they say is returned.
func (s *space) run(commands string) string {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	bash := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands) // #nosec G204 -- what the documents say
	bash.Dir = s.folder
	bash.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "PATH="+programs+":"+os.Getenv("PATH"))
	text, err := bash.CombinedOutput()
	require.NoError(s.t, err, "%s\n%s", commands, text)
	return string(text)
}

// until waits until what is asked for holds.
func until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ask(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(t, fmt.Sprint("this did not come: ", what))
		}
	}
}
