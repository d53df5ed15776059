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
	"github.com/genericjob/genericjob/kernel/podstate"
)

const (
	answerTimeout        = time.Second // for one pod to answer
	maxQuestionsPerRound = 100         // questions under way at once in a round; a job may have a round of each subject under way
	maxQuestions         = 1000        // questions under way at once, over all jobs
	largestAnswer        = 16 << 10    // bytes: two messages of inplace.MaxMessage, of which JSON may write each byte as six
	// debounceAnswers is how long a reconcile waits after the first answer of a round, so that it sees more of them.
	debounceAnswers = 20 * time.Millisecond
	// If no pod has answered in a round, the next round begins later: first after firstSilence, then twice that, and so on up to longestSilence. A
	// container that is just being started again refuses the first questions.
	firstSilence   = 100 * time.Millisecond
	longestSilence = 10 * time.Second
	// longestAbsence takes the place of longestSilence for pods that are awaited at the barrier, because all other pods of the job wait for them.
	longestAbsence = time.Second
)

// Subject is what a round of questions is about. The rounds of different subjects do not wait for each other.
type Subject int

// The subjects.
const (
	Arrival      Subject = iota // has the pod arrived at the barrier?
	HeldEnd                     // does its wrapper hold an end?
	CodeProgress                // which step and loss has the code told?
	CodeFurthest                // which is the highest step that the code has told?
	subjects                    // the number of subjects
)

// questions asks pods for reports outside of reconciles, so that pods that do not answer hold up no other job. (A NetworkPolicy may keep them from
// it.) A reconcile begins a round of questions, and gets the answers to an earlier round. An answer that is news begins another reconcile.
type questions struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	queue workqueue.TypedRateLimitingInterface[ctrl.Request]
	slots chan struct{}
}

// round is a round of questions to the pods of a job about one subject.
type round struct {
	underway bool
	answers  map[types.UID]inplace.Report // those that no reconcile has seen yet
	silent   int                          // how many rounds in a row nobody has answered
	next     time.Time                    // when the next round may begin
}

// question is one question to one pod. It keeps no memory of a reconcile.
type question struct {
	pod          types.UID
	address      string
	order        string // that the apiserver has stored for the pod
	orderAttempt int    // the attempt of order
}

func newQuestions(c clock.PassiveClock) *questions {
	return &questions{clock: c, slots: make(chan struct{}, maxQuestions)}
}

// Start implements source.Source. It keeps the queue for answers.
func (q *questions) Start(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.queue = queue
	return nil
}

// ask returns the answers that have come since it was last called for the job and the subject. Rounds are the rounds of the job. If asks is true, no
// round is under way, and it is time, it begins one.
func (q *questions) ask(ctx context.Context, rounds *[subjects]*round, job *v1beta1.GenericJob, about Subject, pods []*corev1.Pod, asks bool) map[types.UID]inplace.Report {
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
		one := questionFor(job, pod, podstate.NumbersOf(pod).Order)
		if report, ok := answers[pod.UID]; !ok || !one.isNews(about, report) {
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
func (q *questions) run(ctx context.Context, job types.NamespacedName, about Subject, r *round, list []question) {
	var wg sync.WaitGroup
	heard, slots := 0, make(chan struct{}, maxQuestionsPerRound)
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

// silence returns how long to wait with the next round, after a number of rounds in a row that nobody has answered.
func silence(about Subject, rounds int) time.Duration {
	longest := longestSilence
	if about == Arrival {
		longest = longestAbsence
	}
	if rounds == 0 {
		return 0
	}
	return min(longest, firstSilence<<min(rounds-1, 10))
}

// isNews reports whether an answer is to begin a reconcile at once.
func (q question) isNews(about Subject, report inplace.Report) bool {
	switch about {
	case Arrival:
		return report.Attempt == q.orderAttempt
	case HeldEnd:
		return report.Held != nil
	case CodeFurthest:
		return report.Furthest != ""
	default:
		step, loss := report.Progress()
		return step != nil || loss != ""
	}
}

// questionFor returns the question to a pod for its report. It has the order o in it, unless that is nil: an order that the apiserver has stored
// already.
func questionFor(job *v1beta1.GenericJob, pod *corev1.Pod, o *inplace.Order) question {
	q := question{pod: pod.UID, address: net.JoinHostPort(podstate.Address(pod), strconv.Itoa(barrier.ReportPort(job, pod)))}
	if o != nil {
		q.order, q.orderAttempt = o.String(), o.Attempt
	}
	return q
}

// ask sends one question, and reads the report.
func (q question) ask(ctx context.Context) (report inplace.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", q.address)
	if err != nil {
		return report, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // the timeout ends what blocks in reads and writes below
	if err := json.NewEncoder(c).Encode(inplace.Question{Pod: string(q.pod), Order: q.order}); err != nil {
		return report, err
	}
	return report, json.NewDecoder(io.LimitReader(c, largestAnswer)).Decode(&report)
}
