package suite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// crashEnd is the end of a rank's container, as the apiserver told it. Their order is that in which they were told.
type crashEnd struct {
	Rank     string `json:"rank"`
	Pod      int    `json:"pod"`      // of the rank, counted from 0
	Restarts int32  `json:"restarts"` // of the container in its pod
	Deleted  bool   `json:"deleted,omitempty"`
	corev1.ContainerStateTerminated
}

type crashEnds []crashEnd

func (list crashEnds) String() string {
	var b strings.Builder
	for _, e := range list {
		message := e.Message
		if len(message) > 300 {
			message = "..." + message[len(message)-300:]
		}
		fmt.Fprintf(&b, "  rank %s, pod %d, restart %d, deleted %v: %s code %d reason %s: %q\n",
			e.Rank, e.Pod, e.Restarts, e.Deleted, e.FinishedAt.UTC().Format("15:04:05"), e.ExitCode, e.Reason, message)
	}
	return b.String()
}

// watchEnds notes the ends of all containers that train. It begins before the job; the function that it returns ends it.
func (s *space) watchEnds() func() crashEnds {
	s.t.Helper()
	ctx, cancel := context.WithCancel(s.ctx)
	pods, err := s.Watch(ctx, &corev1.PodList{}, client.InNamespace(s.ns))
	require.NoError(s.t, err)
	var (
		list crashEnds
		born = map[string][]types.UID{}
		done sync.WaitGroup
	)
	done.Go(func() {
		for e := range pods.ResultChan() {
			if pod, ok := e.Object.(*corev1.Pod); ok && pod.Labels[v1beta1.LabelReplicaType] == "node" {
				list = list.with(pod, born)
			}
		}
	})
	return func() crashEnds {
		cancel()
		pods.Stop()
		done.Wait()
		return list
	}
}

// with is the list with what a pod tells that is new.
func (list crashEnds) with(pod *corev1.Pod, born map[string][]types.UID) crashEnds {
	rank := pod.Labels[v1beta1.LabelReplicaRank]
	if !slices.Contains(born[rank], pod.UID) {
		born[rank] = append(born[rank], pod.UID)
	}
	n := slices.Index(born[rank], pod.UID)
	for _, status := range pod.Status.ContainerStatuses {
		for restarts, state := range map[int32]corev1.ContainerState{status.RestartCount - 1: status.LastTerminationState, status.RestartCount: status.State} {
			t := state.Terminated
			known := func(e crashEnd) bool { return e.Rank == rank && e.Pod == n && e.ContainerID == t.ContainerID }
			if t != nil && !slices.ContainsFunc(list, known) {
				list = append(list, crashEnd{Rank: rank, Pod: n, Restarts: restarts, Deleted: pod.DeletionTimestamp != nil, ContainerStateTerminated: *t})
			}
		}
	}
	return list
}

// ofFirstStart are the ends of the start in which a rank ended first: of containers that were not started again, within a minute.
func (list crashEnds) ofFirstStart(victim string) (of crashEnds) {
	i := slices.IndexFunc(list, func(e crashEnd) bool { return e.Rank == victim && e.ExitCode != 0 })
	for _, e := range list {
		if i >= 0 && e.Pod == 0 && e.Restarts == 0 && e.ExitCode != 0 && e.FinishedAt.Sub(list[i].FinishedAt.Time).Abs() < time.Minute {
			of = append(of, e)
		}
	}
	return of
}

// recorded is what a run leaves for a test without a cluster: see kernel/testdata/crashes.
type recorded struct {
	crash
	Words []string  `json:"words"` // what the status must say of the first failure
	Ends  crashEnds `json:"ends"`
}

// record writes how the containers of a run ended into a file of the folder that the flag names. What is not told as it was is left out.
func (u *user) record(o *observed, v judgement) {
	u.t.Helper()
	if len(v.wrong) > 0 || o.isHealed() {
		return
	}
	r := recorded{crash: o.crash, Ends: o.ends.ofFirstStart(fmt.Sprint(o.Victim))}
	for _, s := range o.told {
		if strings.HasSuffix(s.Source, " of GenericJob") && !strings.HasPrefix(s.Source, "event") {
			r.Words = append(r.Words, o.words(s.Text))
		}
	}
	slices.Sort(r.Words)
	r.Words = slices.Compact(r.Words)
	text, err := json.MarshalIndent(r, "", " ")
	require.NoError(u.t, err)
	name := strings.ReplaceAll(strings.ReplaceAll(o.cell(), ", ", "-"), " ", "_") + ".json"
	require.NoError(u.t, os.WriteFile(filepath.Join(crashesInto, name), append(text, '\n'), 0o644))
}
