package metrics

import (
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/e2e/testenv"
)

// scrape starts a Prometheus that scrapes operators each second, and has the alerts of deploy/monitoring.
func (r *run) scrape(operators ...*process) {
	r.t.Helper()
	var targets []string
	for _, o := range operators {
		targets = append(targets, o.address)
	}
	config := r.write("prometheus.yaml", fmt.Sprintf(`
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [%s]
scrape_configs:
  - job_name: genericjob
    scheme: https
    authorization: {credentials_file: %s}
    tls_config: {insecure_skip_verify: true}
    static_configs: [{targets: [%s]}]
`, filepath.Join(r.root, "deploy", "monitoring", "rules.yaml"), r.write("token", r.token("default", "prometheus")), strings.Join(targets, ", ")))
	address := testenv.FreeAddress(r.t)
	r.api = "http://" + address + "/api/v1/"
	r.begin = time.Now()
	r.start("prometheus", address, nil, r.prometheus, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(r.folder, "tsdb"), "--web.listen-address="+address)
	r.until("both operators are scraped", func() bool { return r.value("sum(up)") == float64(len(operators)) })
}

// text is what an operator tells who scrapes it.
func (r *run) text(o *process) string {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "https://"+o.address+"/metrics", nil)
	require.NoError(r.t, err)
	request.Header.Set("Authorization", "Bearer "+r.token("default", "prometheus"))
	insecure := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	response, err := insecure.Do(request)
	require.NoError(r.t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(r.t, err)
	require.Equal(r.t, http.StatusOK, response.StatusCode)
	return string(body)
}

// series is what Prometheus answers of one series: points in time and their values.
type series struct {
	Metric map[string]string
	Values [][2]any // of a range
	Value  [2]any   // of a moment
}

func number(v any) float64 {
	s, _ := v.(string)
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// ask asks Prometheus for something. The error is Prometheus' own, or that it does not answer.
func (r *run) ask(what string, query url.Values, into any) error {
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.api+what+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return err
	}
	if answer.Status != "success" {
		return fmt.Errorf("%s: %s", what, answer.Error)
	}
	return json.Unmarshal(answer.Data, into)
}

func stamp(t time.Time) string { return strconv.FormatFloat(float64(t.UnixMilli())/1000, 'f', 3, 64) }

// at is what a query finds at a time.
func (r *run) at(query string, t time.Time) ([]series, error) {
	var found struct{ Result []series }
	err := r.ask("query", url.Values{"query": {query}, "time": {stamp(t)}}, &found)
	return found.Result, err
}

// value is the one value that a query finds now; NaN if it finds none, or Prometheus does not answer yet.
func (r *run) value(query string) float64 {
	found, err := r.at(query, time.Now())
	if err != nil || len(found) != 1 {
		return math.NaN()
	}
	return number(found[0].Value[1])
}

// over is what a query finds in the whole run, each second.
func (r *run) over(query string) ([]series, error) {
	var found struct{ Result []series }
	err := r.ask("query_range", url.Values{"query": {query}, "start": {stamp(r.begin)}, "end": {stamp(time.Now())}, "step": {"1"}}, &found)
	return found.Result, err
}
