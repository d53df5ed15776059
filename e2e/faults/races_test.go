package faults_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// races knows which pods were created although somebody else had written the job's status between the creator's look at
// it and the create. No operator can exclude that: Kubernetes knows no create under the condition that another object is
// as it was. It takes two that believe to lead, or a call that is carried out after its caller was killed and replaced.
// What the operator must do is to see that such a pod goes, and to leave its end out of the account.
type races struct {
	mu     sync.Mutex
	looked map[string]map[string]time.Time // by manager and job: its last look, or write of its own
	wrote  map[string][]span               // by job: when anybody wrote its status
	made   map[types.UID]creation
}

// span is when a call was carried out: somewhen between the question and the answer, which may have waited for this process.
type span struct{ asked, answered time.Time }

// creation is when a pod's creator had last looked at its job, and had the answer to the create.
type creation struct {
	job           string
	looked, ended time.Time
}

func newRaces() *races {
	return &races{looked: map[string]map[string]time.Time{}, wrote: map[string][]span{}, made: map[types.UID]creation{}}
}

// fenceOf is when a manager last looked at each of its jobs.
func (r *races) fenceOf(who string) map[string]time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]time.Time, len(r.looked[who]))
	for job, at := range r.looked[who] {
		out[job] = at
	}
	return out
}

// happened notes what a call did that the apiserver has just carried out.
func (r *races) happened(who string, c call, path string, asked time.Time, answer *http.Response, fenced map[string]time.Time) {
	if answer.StatusCode >= 300 {
		return
	}
	switch {
	case c.kind == "genericjobs" && (c.verb == "get" || c.verb == "update" && c.sub == "status"):
		r.mu.Lock()
		defer r.mu.Unlock()
		job := strings.TrimSuffix(path, "/status")
		job = job[strings.LastIndex(job, "/")+1:]
		now := time.Now()
		if r.looked[who] == nil {
			r.looked[who] = map[string]time.Time{}
		}
		r.looked[who][job] = now
		if c.verb == "get" {
			r.looked[who][job] = asked // a write may have come between the apiserver's look and its answer
		}
		if c.verb == "update" {
			r.wrote[job] = append(r.wrote[job], span{asked, now})
		}
	case c.kind == "pods" && c.verb == "create" && c.sub == "":
		r.created(answer, fenced)
	}
}

// created notes a pod that was just created.
func (r *races) created(answer *http.Response, fenced map[string]time.Time) {
	body, err := io.ReadAll(answer.Body)
	answer.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return
	}
	o, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	pod, ok := o.(*corev1.Pod)
	if err != nil || !ok {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	job := pod.Labels[v1beta1.LabelJobName]
	r.made[pod.UID] = creation{job, fenced[job], time.Now()}
}

// isLost reports whether a pod was created too late, in a race that nobody can exclude. It is asked when all is over: the answer to a write
// that came before a create may be noted after it.
func (r *races) isLost(uid types.UID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	made, known := r.made[uid]
	return known && slices.ContainsFunc(r.wrote[made.job], func(w span) bool {
		return w.answered.After(made.looked) && w.asked.Before(made.ended)
	})
}
