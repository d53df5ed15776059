package jobs

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel/barrier"
	"github.com/genericjob/genericjob/kernel/ending"
)

const (
	reportTimeout      = time.Second // for one pod to answer
	maxReportsPerRound = 100         // asked for at a time; a job may have a round of each subject under way
	maxReports         = 1000        // of all jobs, under way at a time
	largestReport      = 16 << 10    // bytes: two messages of inplace.MaxMessage, of which JSON may write each byte as six
	// debounceAnswers is how long further answers of a round are awaited before a reconcile sees the first.
	debounceAnswers = 20 * time.Millisecond
	// A job of which no pod has answered waits from firstSilence to longestSilence for the next round. A container that is just being
	// started again refuses the first questions.
	firstSilence   = 100 * time.Millisecond
	longestSilence = 10 * time.Second
	// longestAbsence bounds that wait for pods awaited at the barrier. When such a pod is back, all others of its job wait for it. After a while
	// it is replaced.
	longestAbsence = time.Second
)

// subject is what a round of questions is about. The rounds of two subjects do not wait for each other.
type subject int

const (
	arrival subject = iota
	heldEnd
	codeProgress
	subjects // how many there are
)

// questions are asked beside reconciles. A reconcile that asks gets the answers to the questions of an earlier one. Answers that are news
// lead to a reconcile. Pods that do not answer, behind a NetworkPolicy for example, thus hold up no other job.
type questions struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
	slots chan struct{}
}

// round is what a job's pods are asked about one subject.
type round struct {
	underway bool
	answers  map[types.UID]inplace.Report // that no reconcile has seen
	silent   int                          // rounds in a row that nobody has answered
	next     time.Time                    // not before
}

// question is one to be asked. It holds nothing of a reconcile.
type question struct {
	pod     types.UID
	address string
	order   string
	at      int
}

func newQuestions(c clock.PassiveClock) *questions {
	return &questions{clock: c, slots: make(chan struct{}, maxReports)}
}

// Start implements source.Source. It keeps the queue for answers.
func (q *questions) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = queue
	return nil
}

// ask returns the answers that have come since the job last asked. Rounds are those of the job. If asks is true, and no round is under way, it begins one.
func (q *questions) ask(ctx context.Context, rounds *[subjects]*round, job *v1beta1.GenericJob, about subject, pods []*corev1.Pod, asks bool) map[types.UID]inplace.Report {
	q.mu.Lock()
	defer q.mu.Unlock()
	r, now := rounds[about], q.clock.Now()
	switch {
	case len(pods) == 0 && (r == nil || !r.underway):
		rounds[about] = nil
		return nil
	case r == nil:
		r = &round{}
		rounds[about] = r
	}
	answers := r.answers
	r.answers = nil
	if !asks || r.underway || now.Before(r.next) {
		return answers
	}
	var list []question
	for _, pod := range pods {
		one := questionFor(job, pod, ending.NumbersOf(pod).Order)
		if report, has := answers[pod.UID]; !has || !one.isNews(about, report) {
			list = append(list, one)
		}
	}
	if len(list) > 0 {
		r.underway = true
		go q.run(context.WithoutCancel(ctx), client.ObjectKeyFromObject(job), about, r, list)
	}
	return answers
}

// run asks the questions of a round.
func (q *questions) run(ctx context.Context, job types.NamespacedName, about subject, r *round, list []question) {
	var wg sync.WaitGroup
	heard, slots := 0, make(chan struct{}, maxReportsPerRound)
	for _, one := range list {
		slots <- struct{}{}
		q.slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots; <-q.slots }()
			report, err := one.ask(ctx)
			if err != nil || report.Pod != string(one.pod) {
				return
			}
			q.mu.Lock()
			defer q.mu.Unlock()
			heard++
			if r.answers == nil {
				r.answers = map[types.UID]inplace.Report{}
			}
			r.answers[one.pod] = report
			if one.isNews(about, report) && q.queue != nil {
				q.queue.AddAfter(ctrl.Request{NamespacedName: job}, debounceAnswers)
			}
		})
	}
	wg.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	r.underway = false
	r.silent++
	if heard > 0 {
		r.silent = 0
	}
	r.next = q.clock.Now().Add(silence(about, r.silent))
}

// silence is how long no further round begins, after so many in a row that nobody has answered.
func silence(about subject, rounds int) time.Duration {
	longest := longestSilence
	if about == arrival {
		longest = longestAbsence
	}
	if rounds == 0 {
		return 0
	}
	return min(longest, firstSilence<<min(rounds-1, 10))
}

// isNews reports whether a reconcile has to see an answer at once.
func (one question) isNews(about subject, report inplace.Report) bool {
	switch about {
	case arrival:
		return report.Attempt == one.at
	case heldEnd:
		return report.Held != nil
	default:
		step, loss := report.Progress()
		return step != nil || loss != ""
	}
}

// questionFor asks a pod for its report. An order goes along, unless it is nil: it must be one that the apiserver has stored.
func questionFor(job *v1beta1.GenericJob, pod *corev1.Pod, o *inplace.Order) question {
	q := question{pod: pod.UID, address: net.JoinHostPort(ending.Address(pod), strconv.Itoa(barrier.ReportPort(job, pod)))}
	if o != nil {
		q.order, q.at = o.String(), o.Attempt
	}
	return q
}

// ask sends one question, and reads the report.
func (one question) ask(ctx context.Context) (report inplace.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", one.address)
	if err != nil {
		return report, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // who does not answer in time is not waited for
	if err := json.NewEncoder(c).Encode(inplace.Question{Pod: string(one.pod), Order: one.order}); err != nil {
		return report, err
	}
	return report, json.NewDecoder(io.LimitReader(c, largestReport)).Decode(&report)
}
