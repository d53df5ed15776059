package suite_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// largeFile is how much an image of serveImage weighs besides the worker, in bytes.
const largeFile = 256 << 20

// serveImage serves an image for the rest of the test, and returns its name. The image has the worker, and a large file that no other
// image has. Containerd asks registries of its own machine without TLS.
func serveImage(t *testing.T) string {
	t.Helper()
	worker, err := os.ReadFile(strings.TrimSuffix(archive, ".tar"))
	require.NoError(t, err)
	large := make([]byte, largeFile)
	rand.New(rand.NewSource(time.Now().UnixNano())).Read(large)
	blobs := map[string][]byte{}
	keep := func(kind string, blob []byte) map[string]any {
		digest := fmt.Sprintf("sha256:%x", sha256.Sum256(blob))
		blobs[digest] = blob
		return map[string]any{"mediaType": "application/vnd.oci.image." + kind, "digest": digest, "size": len(blob)}
	}
	layers := []map[string]any{keep("layer.v1.tar", layer(t, "worker", worker)), keep("layer.v1.tar", layer(t, "large", large))}
	config := keep("config.v1+json", encode(t, map[string]any{
		"os": "linux", "architecture": runtime.GOARCH, "config": map[string]any{"User": "65532:65532", "Entrypoint": []string{"/worker"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []any{layers[0]["digest"], layers[1]["digest"]}},
	}))
	kind := "application/vnd.oci.image.manifest.v1+json"
	manifest := keep("manifest.v1+json", encode(t, map[string]any{"schemaVersion": 2, "mediaType": kind, "config": config, "layers": layers}))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		if name == "dev" {
			name = manifest["digest"].(string)
		}
		if r.URL.Path == "/v2/" {
			return
		}
		blob, is := blobs[name]
		if !is {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		if path.Base(path.Dir(r.URL.Path)) == "manifests" {
			w.Header().Set("Content-Type", kind)
		}
		w.Header().Set("Docker-Content-Digest", name)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(blob))
	}))
	t.Cleanup(server.Close)
	return strings.Replace(server.URL, "http://127.0.0.1", "localhost", 1) + "/large:dev"
}

// layer is an image's layer of one file.
func layer(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	require.NoError(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}))
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func encode(t *testing.T, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return text
}
