package page

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/list"
	"github.com/genericjob/genericjob/kernel/kerneltest"
	"github.com/genericjob/genericjob/kernel/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files, and the picture of the README")

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "%s: if the change is meant, run the test with -update", file)
}

// pageOf returns the page of a job, of which is checked what is true of all pages.
func pageOf(t *testing.T, in *Input) string {
	t.Helper()
	text := Of(in).HTML()
	checkPage(t, text)
	return text
}

func TestThePageOfANight(t *testing.T) {
	compare(t, "testdata/night.html", pageOf(t, night(t)))
}

// The picture is small: everybody who opens the README loads it.
func TestThePictureOfTheREADME(t *testing.T) {
	text := Of(night(t)).SVG()
	isXML(t, text)
	require.Less(t, len(text), 40_000)
	compare(t, "../report.svg", text)
}

// isSVG matches a drawing. None stands in another but in the picture.
var isSVG = regexp.MustCompile(`(?s)<svg.*?</svg>`)

func isXML(t *testing.T, text string) {
	t.Helper()
	for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err, text)
	}
}

// elements are all that a page may consist of, and attributes all that these may have. None of them runs, loads or sends anything.
var (
	elements = strings.Fields(`html head meta title style body main h1 h2 p br b span div dl dt dd ul li table caption tbody tr th td pre figure figcaption
		svg defs pattern desc path circle text rect`)
	attributes = strings.Fields(`lang charset content http-equiv name class id scope role viewbox xmlns aria-hidden aria-labelledby patternunits
		width height x y d dy cx cy r`)
)

// checkPage checks what is true of all pages. They consist of nothing but what ours do, and the policy allows the style sheet. Drawings are
// XML, with a title and a description.
func checkPage(t *testing.T, text string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(text))
	require.NoError(t, err)
	styles, policy := 0, ""
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		require.Contains(t, elements, strings.ToLower(n.Data))
		for _, a := range n.Attr {
			require.Contains(t, attributes, strings.ToLower(a.Key), n.Data)
			if a.Val == "Content-Security-Policy" {
				policy = n.Attr[slices.IndexFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "content" })].Val
				require.Zero(t, styles, "the policy stands before what it is about")
			}
		}
		if n.Data == "style" {
			styles++
			sum := sha256.Sum256([]byte(n.FirstChild.Data))
			require.Equal(t, "default-src 'none'; style-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'; base-uri 'none'; form-action 'none'", policy)
		}
	}
	require.Equal(t, 1, styles)
	for _, svg := range isSVG.FindAllString(text, -1) {
		isXML(t, svg)
		if strings.Contains(svg, `role="img"`) {
			require.Regexp(t, `<title id="[^"]+">[^<]+</title><desc id="[^"]+">[^<]+</desc>`, svg)
		} else {
			require.Contains(t, svg, `aria-hidden="true"`)
		}
	}
}

// attacks would run a script, load something, or change the page, if any of them were not escaped where it stands.
const attack = `</title></style></svg></pre><script>alert(1)</script><img src=x onerror=alert(2)><style>*{display:none}</style>"onload="alert(3)' style='x:y'{{.}}` + "\x1b[2J\x00\u202e<!--"

func TestWhatTenantsWriteIsNoMarkup(t *testing.T) {
	in := night(t)
	job := in.Family.GenericJob
	job.Name, job.Labels = attack, map[string]string{attack: attack}
	s := &job.Status
	s.Running, s.Phase = attack, v1beta1.JobPhase(attack)
	for _, f := range append([]*v1beta1.ReplicaFailure{&s.FirstFailure.ReplicaFailure}, &s.Failures[0], &s.Failures[1]) {
		f.Message, f.Exception, f.Frame, f.Node, f.Reason, f.Follows, f.WorkerSignal = attack, attack, attack, attack, attack, attack, attack
		f.Cause = &v1beta1.Cause{Kind: attack, Role: attack, Codes: []string{attack}}
	}
	s.FirstFailure.Summary = attack
	s.Conditions = []v1beta1.JobCondition{{Type: v1beta1.ConditionFailed, Status: metav1.ConditionTrue, Reason: attack, Message: attack}}
	s.Progress.Loss = attack
	s.Time.Basis = attack
	for _, pod := range in.Family.Pods {
		pod.Spec.NodeName, pod.Status.Reason = attack, attack
	}
	in.History = &v1beta1.History{Earlier: []v1beta1.HistorySum{{Kind: v1beta1.HistoryKind(attack), Count: 1}}, Entries: []v1beta1.HistoryEntry{{Kind: v1beta1.HistoryFailure, Begin: metav1.NewTime(kerneltest.At(time.Hour)), Pod: spec.PodName(in.Family.GenericJob, "worker", 1),
		Node: attack, Cause: attack, Message: attack}, {Kind: v1beta1.HistoryKind(attack), Begin: metav1.NewTime(kerneltest.At(2 * time.Hour)), Pod: attack, Message: attack}}}
	in.Events = []corev1.Event{{Type: attack, Reason: attack, Message: attack}}
	in.Steps.Replica = attack
	text := pageOf(t, in)
	require.NotContains(t, text, "<script")
	require.NotContains(t, text, "<img")
	require.NotContains(t, text, "\x1b")
	require.GreaterOrEqual(t, strings.Count(text, `&lt;script&gt;alert(1)`), 20, "it is shown")

	page := ListOf(list.Of([]*jobs.Family{in.Family}, nil), true, in.Now).HTML()
	checkPage(t, page)
	require.GreaterOrEqual(t, strings.Count(page, `&lt;script&gt;alert(1)`), 4)
}

// thousand returns a job of so many replicas, each of which starts at another second, and of which every third fails.
func thousand(n int) *Input {
	job := kerneltest.Job(kerneltest.Type("worker", int32(n)))
	var pods []corev1.Pod
	for rank, pod := range kerneltest.Pods(job, "worker", n) {
		begun := kerneltest.At(time.Duration(rank%700) * time.Second)
		kerneltest.StartedAt(begun)(pod)
		if rank%3 == 0 {
			kerneltest.ExitedAt(1, kerneltest.At(time.Duration(2000+rank)*time.Second))(pod)
		} else {
			kerneltest.Running(pod)
		}
		pod.Status.StartTime = &metav1.Time{Time: begun}
		pods = append(pods, *pod)
	}
	for rank := range 5 {
		job.Status.Failures = append(job.Status.Failures, v1beta1.ReplicaFailure{Pod: spec.PodName(job, "worker", rank*99), Time: &metav1.Time{Time: kerneltest.At(time.Hour)}})
	}
	return &Input{Family: jobs.NewFamily(jobs.ByKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)), job, job, pods), Now: kerneltest.At(2 * time.Hour)}
}

func TestThePageOfAThousandReplicas(t *testing.T) {
	for _, n := range []int{1000, 5000} {
		in := thousand(n)
		text := pageOf(t, in)
		require.Less(t, len(text), 1_000_000)
		drawn := Of(in).Timeline.Rows
		require.Len(t, drawn, 10, "five replicas of which the status tells, and those between")
		require.Equal(t, "worker-[1-98]", drawn[1].Name)
		require.LessOrEqual(t, strings.Count(text, `class="symbol`), 10*(int(lineWidth)/int(merged)+1))
		require.Contains(t, text, "replicas failed, too")
	}
}

// Of a job without a GenericJob, and of one that an operator of another version has made, the page says what it does not know.
func TestPagesOfLittle(t *testing.T) {
	kind := jobs.ByKind(v1beta1.GroupVersion.WithKind("PyTorchTrainingJob"))
	job := &v1beta1.PyTorchTrainingJob{ObjectMeta: metav1.ObjectMeta{Name: "mnist", Namespace: "ns", CreationTimestamp: metav1.NewTime(kerneltest.Start)}}
	text := pageOf(t, &Input{Family: jobs.NewFamily(kind, job, nil, nil), Now: kerneltest.Start})
	require.Contains(t, text, "nothing of it was started")
	require.Contains(t, text, "does not say what the time was spent on")
	require.Contains(t, text, "neither a step nor a loss")

	in := night(t)
	in.History, in.Steps, in.Family.GenericJob.Status.Progress = nil, nil, nil
	text = pageOf(t, in)
	require.Contains(t, text, "and no list of when what came")
	require.Contains(t, text, "There is no curve")
	require.NotContains(t, text, "What came between")
}

func TestThePageOfASweep(t *testing.T) {
	var rows []list.Row
	for i, rate := range []string{"0.1", "0.01", ""} {
		labels := map[string]string{"sweep": "rates"}
		if rate != "" {
			labels["rate"] = rate
		}
		rows = append(rows, list.Row{Namespace: "ns", Name: fmt.Sprintf("gj/job-%d", i), Phase: v1beta1.JobFailed, Cause: v1beta1.CauseNotANumber, Labels: labels,
			LastFailure: "loss is nan", Loss: "0.25", Step: new(int64(70)), Started: &metav1.Time{Time: kerneltest.Start}})
	}
	text := ListOf(rows, false, kerneltest.At(time.Hour)).HTML()
	checkPage(t, text)
	compare(t, "testdata/sweep.html", text)
	l := ListOf(rows, false, kerneltest.At(time.Hour))
	require.Equal(t, []Fact{{"sweep", "rates"}}, l.Same)
	require.Equal(t, []string{"rate"}, l.Labels)
	for i := range 20 {
		rows[0].Labels[fmt.Sprint("key-", i)] = "x"
	}
	require.Len(t, ListOf(rows, false, kerneltest.Start).Labels, mostLabels)
	require.Contains(t, ListOf(rows, false, kerneltest.Start).More, "13 more labels are not shown: key-")
}

// The same input is the same page: maps have no order.
func TestAPageIsTheSameTwice(t *testing.T) {
	require.True(t, bytes.Equal([]byte(pageOf(t, night(t))), []byte(pageOf(t, night(t)))))
}
