package controllers

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/kernel"
	"github.com/genericjob/genericjob/kernel/ending"
)

const (
	reportTimeout = time.Second // for one pod to answer
	manyReports   = 100         // are asked for at a time
	manyOrders    = 100         // are under way at a time, of all jobs
	largestReport = 4096        // bytes
)

// arrivals are reports of pods that have reached the attempt of which they were told, by job: they need not be asked again. What is
// forgotten is asked for again. Nil remembers nothing.
type arrivals struct {
	mu    sync.Mutex
	byJob map[types.NamespacedName]map[types.UID]inplace.Report
	// next is when to ask for a job's progress again, and listen when for ends that are held.
	next, listen map[types.NamespacedName]time.Time
}

// reportsOf asks those pods that are awaited and have not arrived yet, and from time to time those that may hold code that has failed.
func (r *GenericJob) reportsOf(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod, now time.Time) map[types.UID]inplace.Report {
	asks := r.Reports
	if asks == nil {
		asks = askAll
	}
	key, awaited := client.ObjectKeyFromObject(job), kernel.Awaited(job, pods)
	known := r.arrived.of(key, awaited)
	var unknown []*corev1.Pod
	for _, pod := range awaited {
		if _, is := known[pod.UID]; !is {
			unknown = append(unknown, pod)
		}
	}
	maps.Copy(known, asks(ctx, job, unknown))
	r.arrived.keep(key, awaited, known)
	if holding := kernel.MayHold(job, pods, now); len(holding) > 0 && r.arrived.mayListen(key, now) {
		told, interval := asks(ctx, job, holding), kernel.HoldInterval(len(holding))
		if len(told) < len(holding) {
			interval *= 5 // some are on a node that does not answer: that cost this pass reportTimeout
		}
		r.arrived.listenAgain(key, now.Add(interval))
		maps.Copy(known, told)
	}
	return known
}

// of are the reports that are known of pods.
func (a *arrivals) of(job types.NamespacedName, pods []*corev1.Pod) map[types.UID]inplace.Report {
	if a == nil {
		return map[types.UID]inplace.Report{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	known := map[types.UID]inplace.Report{}
	for _, pod := range pods {
		if report, is := a.byJob[job][pod.UID]; is && report.At >= ending.MarksOf(pod).At() {
			known[pod.UID] = report
		}
	}
	return known
}

// keep remembers the reports of a job whose replicas wait for each other, and forgets those of one in which none does.
func (a *arrivals) keep(job types.NamespacedName, pods []*corev1.Pod, known map[types.UID]inplace.Report) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(pods) == 0 {
		delete(a.byJob, job)
		return
	}
	if a.byJob == nil {
		a.byJob = map[types.NamespacedName]map[types.UID]inplace.Report{}
	}
	a.byJob[job] = known
}

// mayListen says whether a job may be asked for ends that are held: many passes come in between.
func (a *arrivals) mayListen(job types.NamespacedName, now time.Time) bool {
	if a == nil {
		return true
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return !now.Before(a.listen[job])
}

// listenAgain notes when it may be next.
func (a *arrivals) listenAgain(job types.NamespacedName, at time.Time) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listen == nil {
		a.listen = map[types.NamespacedName]time.Time{}
	}
	a.listen[job] = at
}

// askAll asks pods for their reports. Those that do not answer are left out.
func askAll(ctx context.Context, job *v1beta1.GenericJob, pods []*corev1.Pod) map[types.UID]inplace.Report {
	reports := map[types.UID]inplace.Report{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	places := make(chan struct{}, manyReports)
	for _, pod := range pods {
		places <- struct{}{}
		wg.Go(func() {
			defer func() { <-places }()
			report, err := ask(ctx, job, pod, ending.MarksOf(pod).Order)
			if err != nil || report.Pod != string(pod.UID) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			reports[pod.UID] = report
		})
	}
	wg.Wait()
	return reports
}

// push tells a pod an order that the apiserver has just stored. Nobody waits for that: whom it does not reach, the volume shows it.
func (r *GenericJob) push(ctx context.Context, job *v1beta1.GenericJob, pod *corev1.Pod, o inplace.Order) {
	if r.Push != nil {
		r.Push(ctx, job, pod, o)
		return
	}
	if pod.Status.PodIP == "" {
		return
	}
	select {
	case r.couriers <- struct{}{}:
		go func() {
			defer func() { <-r.couriers }()
			_, _ = ask(context.WithoutCancel(ctx), job, pod, &o)
		}()
	default:
	}
}

// ask asks a pod for its report. An order goes along, unless it is nil: it must be one that the apiserver has stored.
func ask(ctx context.Context, job *v1beta1.GenericJob, pod *corev1.Pod, o *inplace.Order) (report inplace.Report, err error) {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(kernel.ReportPort(job, pod))))
	if err != nil {
		return report, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })() // who does not answer in time is not waited for
	q := inplace.Question{Pod: string(pod.UID)}
	if o != nil {
		q.Order = o.String()
	}
	if err := json.NewEncoder(c).Encode(q); err != nil {
		return report, err
	}
	return report, json.NewDecoder(io.LimitReader(c, largestReport)).Decode(&report)
}
