package system

import (
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNoProxyLeadsToTheCluster(t *testing.T) {
	for name, own := range map[string]string{"none": "", "one name": "NO_PROXY=.corp", "the other": "no_proxy=.corp", "both": "NO_PROXY=.corp no_proxy=.corp"} {
		t.Run(name, func(t *testing.T) {
			environment := Direct(append([]string{"HTTPS_PROXY=http://proxy.corp:3128"}, strings.Fields(own)...))
			values := map[string]string{}
			for _, entry := range environment {
				key, value, _ := strings.Cut(entry, "=")
				values[key] = value
			}
			want := direct
			if own != "" {
				want = ".corp," + direct
			}
			require.Equal(t, want, values["NO_PROXY"])
			require.Equal(t, want, values["no_proxy"])
		})
	}
}

// A child's environment is read as the client libraries read it, once for each process.
func TestClientsReadIt(t *testing.T) {
	if os.Getenv("AS_CLIENT") == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestClientsReadIt$")
		child.Env = Direct(append(os.Environ(), "AS_CLIENT=1", "HTTPS_PROXY=http://proxy.corp:3128", "NO_PROXY=", "no_proxy="))
		text, err := child.CombinedOutput()
		require.NoError(t, err, "%s", text)
		return
	}
	for url, proxied := range map[string]bool{
		"https://10.88.0.1:6443": false, "https://10.96.0.1": false, "https://127.0.0.1:1": false, "https://proxy.golang.org": true,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		proxy, err := http.ProxyFromEnvironment(request)
		require.NoError(t, err)
		require.Equal(t, proxied, proxy != nil, url)
	}
}
