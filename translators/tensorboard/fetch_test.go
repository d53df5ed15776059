package tensorboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const patience = 10 * time.Minute

// files is a web server with these files. It also is an object store that wants to see signatures: bucket/key is a path.
type files struct {
	mu      sync.Mutex
	content map[string]string
	secret  string // of the object store; without it nothing is signed
	ranges  bool
	asked   []string
}

func (f *files) put(path, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.content[path] = text
}

func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, r.URL.Path+" "+r.Header.Get("Range"))
	if f.secret != "" && !signedWith(r, f.secret) {
		http.Error(w, "SignatureDoesNotMatch", http.StatusForbidden)
		return
	}
	if r.URL.Query().Get("list-type") == "2" {
		f.list(w, r)
		return
	}
	text, ok := f.content[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	if !f.ranges {
		fmt.Fprint(w, text)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
}

// list answers ListObjectsV2, one object a page.
func (f *files) list(w http.ResponseWriter, r *http.Request) {
	var keys []string
	for path := range f.content {
		if key, ok := strings.CutPrefix(path, r.URL.Path+"/"); ok && strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
			keys = append(keys, key)
		}
	}
	sort.Strings(keys)
	after := r.URL.Query().Get("continuation-token")
	keys = keys[sort.SearchStrings(keys, after):]
	fmt.Fprint(w, `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`)
	if len(keys) > 0 {
		fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size></Contents>", keys[0], len(f.content[r.URL.Path+"/"+keys[0]]))
	}
	if len(keys) > 1 {
		fmt.Fprintf(w, "<IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken>", keys[1])
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// signedWith checks AWS Signature Version 4.
func signedWith(r *http.Request, secret string) bool {
	m := regexp.MustCompile(`^AWS4-HMAC-SHA256 Credential=key/(\d{8})/(\S+)/s3/aws4_request, SignedHeaders=(\S+), Signature=(\w+)$`).FindStringSubmatch(r.Header.Get("Authorization"))
	if m == nil {
		return false
	}
	sum := func(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }
	canonical := "GET\n" + r.URL.EscapedPath() + "\n" + strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") + "\n"
	for name := range strings.SplitSeq(m[3], ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + m[3] + "\n" + sum("")
	scope := m[1] + "/" + m[2] + "/s3/aws4_request"
	key := []byte("AWS4" + secret)
	for _, part := range append(strings.Split(scope, "/"), "AWS4-HMAC-SHA256\n"+r.Header.Get("X-Amz-Date")+"\n"+scope+"\n"+sum(canonical)) {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(part))
		key = h.Sum(nil)
	}
	return hex.EncodeToString(key) == m[4]
}

// fetch runs fetch.py until the test ends, a round every tenth of a second.
func fetch(t *testing.T, env []string, sources ...string) (folder string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here; images with TensorBoard have one")
	}
	folder = t.TempDir()
	c := exec.Command(python, append([]string{"-I", "-u", "-c", fetchScript, folder, "0.1"}, sources...)...)
	c.Env = append([]string{"PATH=" + os.Getenv("PATH")}, env...)
	c.Stdout, c.Stderr = t.Output(), t.Output()
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		require.NoError(t, c.Process.Signal(os.Interrupt))
		require.NoError(t, c.Wait(), "it ends by a signal alone, at once")
	})
	return folder
}

func read(folder, path string) string {
	raw, _ := os.ReadFile(filepath.Join(folder, path))
	return string(raw)
}

func until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	require.Eventually(t, ask, patience, 20*time.Millisecond, what)
}

func TestFetchAppendsWhatIsNew(t *testing.T) {
	for _, ranges := range []bool{true, false} {
		t.Run(fmt.Sprintf("ranges %v", ranges), func(t *testing.T) {
			f := &files{content: map[string]string{"/run/events.out.tfevents.1": "one"}, ranges: ranges}
			server := httptest.NewServer(f)
			t.Cleanup(server.Close)
			host := strings.TrimPrefix(server.URL, "http://")
			folder := fetch(t, nil, "", server.URL+"/run/events.out.tfevents.1", "", server.URL+"/later/scalars?token=x")
			first := filepath.Join("http", host, "run/events.out.tfevents.1")
			until(t, "the file", func() bool { return read(folder, first) == "one" })
			until(t, "the file that is not there is told of", func() bool {
				return strings.Contains(read(folder, "errors"), "cannot fetch "+server.URL+"/later/scalars: HTTPError: HTTP Error 404")
			})
			require.NotContains(t, read(folder, "errors"), "token")
			open, err := os.Open(filepath.Join(folder, first))
			require.NoError(t, err)
			defer open.Close()
			f.put("/run/events.out.tfevents.1", "one two")
			f.put("/later/scalars", "late")
			until(t, "what is new", func() bool { return read(folder, first) == "one two" })
			same, err := open.Stat()
			require.NoError(t, err)
			require.EqualValues(t, 7, same.Size(), "TensorBoard has it open")
			until(t, "the other file, named so that TensorBoard knows it", func() bool {
				found, _ := filepath.Glob(filepath.Join(folder, "http", host, "later/scalars.*.tfevents"))
				return len(found) == 1
			})
			until(t, "nothing to tell of", func() bool { return read(folder, "errors") == "" })
			f.put("/run/events.out.tfevents.1", "new")
			until(t, "another file under the same name", func() bool { return read(folder, first) == "new" })
		})
	}
}

func TestFetchReadsAnObjectStore(t *testing.T) {
	f := &files{secret: "very/secret", ranges: true, content: map[string]string{
		"/logs/exp 1/a/events.out.tfevents.1":     "a",
		"/logs/exp 1/b+ü/events.out.tfevents.2":   "b",
		"/logs/exp 1/a/checkpoint":                "large",
		"/logs/exp 10/events.out.tfevents.3":      "other",
		"/logs/exp 1/../../events.out.tfevents.4": "out",
	}}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	env := []string{"S0_S3_ENDPOINT=" + strings.TrimPrefix(server.URL, "http://"), "S0_S3_USE_HTTPS=0", "S0_AWS_ACCESS_KEY_ID=key",
		"S0_AWS_SECRET_ACCESS_KEY=very/secret", "S0_AWS_REGION=eu-1", "S1_host_base=" + server.URL, "S1_access_key=key", "S1_secret_key=wrong", "S2_S3_ENDPOINT=" + server.URL}
	folder := fetch(t, env, "S0_", "s3://logs/exp 1", "S1_", "s3://logs/exp 1", "S2_", "s3://logs")
	until(t, "the files", func() bool {
		return read(folder, "s3/logs/exp 1/a/events.out.tfevents.1") == "a" && read(folder, "s3/logs/exp 1/b+ü/events.out.tfevents.2") == "b"
	})
	until(t, "the errors", func() bool { // each round writes them anew
		told := read(folder, "errors")
		return strings.Count(told, "403") == 2 && strings.Contains(told, "the Secret has no AWS_ACCESS_KEY_ID")
	})
	f.put("/logs/exp 1/a/events.out.tfevents.1", "a and more")
	until(t, "what is new", func() bool { return read(folder, "s3/logs/exp 1/a/events.out.tfevents.1") == "a and more" })
	f.put("/logs/exp 1/a/events.out.tfevents.1", "less")
	until(t, "another object", func() bool { return read(folder, "s3/logs/exp 1/a/events.out.tfevents.1") == "less" })
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, asked := range f.asked {
		require.NotContains(t, asked, "checkpoint")
		require.NotContains(t, asked, "exp 10")
	}
}

// The probe's script says what the last round could not read.
func TestProbe(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here")
	}
	file := filepath.Join(t.TempDir(), "errors")
	probe := func() (string, error) {
		out, err := exec.CommandContext(t.Context(), python, "-I", "-S", "-c", probeScript, file).CombinedOutput()
		return string(out), err
	}
	_, err = probe()
	require.NoError(t, err, "before the first round")
	require.NoError(t, os.WriteFile(file, []byte("cannot fetch x"), 0o600))
	out, err := probe()
	require.Error(t, err)
	require.Equal(t, "cannot fetch x\n", out)
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = probe()
	require.NoError(t, err)
}
