package suite_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/genericjob/genericjob/controllers"
)

// behaviours are tested side by side, each in a namespace of its own.
var behaviours = []struct {
	name string
	test func(*space)
}{
	{"restarts are those that policy and limit allow", restartsFollowPolicyAndLimit},
	{"a container that runs out of memory is told apart", outOfMemoryIsTold},
	{"restartScope Job replaces all replicas at once", jobScopeReplacesAll},
	{"a pod deleted by hand is replaced and spends no restart", deletedPodIsReplaced},
	{"a pod deleted by force is replaced and spends no restart", forceDeletedPodIsReplaced},
	{"a pod evicted through the API is replaced and spends no restart", evictedPodIsReplaced},
	{"policy Never does not start code again, not even after a deletion", neverDoesNotStartAgain},
	{"a pause stops pods and resumeSpecs say how they go on", pauseAndResume},
	{"debug mode runs its null command, another on request, then the job", debugAndBack},
	{"scaling 2, 4, 1 moves the highest ranks alone", scaleUpAndDown},
	{"cleanUpPolicy says which pods stay", cleanUpPolicies},
	{"a deadline ends a job in which nothing happens", deadlineEndsQuietJob},
	{"a job goes with its pods when its time to live is over", timeToLive},
	{"a job deleted in mid-run leaves nothing behind", deletedJobLeavesNothing},
	{"pods that are orphaned on request are let go", orphanedPodsAreLetGo},
	{"an image that cannot be pulled is told", imageThatCannotBePulled},
	{"a stranger's Service of the same name is left alone, and the job has another", strangersService},
	{"a stranger's pod of the same name blocks the job until it goes", strangersPod},
	{"an exceeded quota blocks the job until there is room", exceededQuota},
	{"what the apiserver refuses for good fails the job", refusedTemplate},
	{"a variable that names nobody fails the job", unknownVariable},
	{"a sidecar that admission injects holds nothing up", injectedSidecarHoldsNothingUp},
	{"an admission policy that comes later fails no running job", policyThatComesLaterFailsNobody},
	{"a drain of a synchronous job is one disruption", drainIsOneDisruption},
	{"a scheduler that is not there is told by its name", silentSchedulerIsTold},
	{"kubectl shows what a user looks for", kubectlView},
	{"the name of a replica is found by one query", namesAreFoundAtOnce},
	{"pods on the network of their node find each other, and wait for its ports", nodesNetwork},
}

func TestBehaviour(t *testing.T) {
	for _, b := range behaviours {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			b.test(newSpace(t))
		})
	}
}

// The tests below disturb every job of the cluster, so they run alone: after all others, and in this order.

func TestOperatorKilled(t *testing.T) {
	killedOperatorForgetsNothing(newSpace(t), seed)
}

func TestOperatorDown(t *testing.T) {
	operatorDownMissesNothing(newSpace(t))
}

func TestUndeploy(t *testing.T) {
	t.Run("with the operator running", func(t *testing.T) { undeployLeavesNothing(newSpace(t), true) })
	t.Run("with the operator down", func(t *testing.T) { undeployLeavesNothing(newSpace(t), false) })
}

// What the pods run.
const image = "localhost/genericjob-e2e:dev"

var (
	root    string           // of the checkout
	kubectl string           // the program
	cluster client.WithWatch // not cached: tests see what is there
	archive string           // of the image
	seed    int64            // of the schedule by which the operator is killed

	withSchedulers   bool // TestGangSchedulers is run
	withIntegrations bool // TestArgo is run
)

func TestMain(m *testing.M) {
	flag.Int64Var(&seed, "seed", 0, "schedule by which the operator is killed; 0 = a new one")
	flag.BoolVar(&withSchedulers, "schedulers", false, "run TestGangSchedulers, on a cluster that was started with `up -gang`")
	flag.BoolVar(&withIntegrations, "integrations", false, "run TestArgo")
	flag.DurationVar(&late, "late", 100*time.Second, "how long TestElastic holds replicas back at the start")
	flag.IntVar(&against, "against", 0, "how often TestInPlaceAgainstOthers measures each row; 0 = not at all")
	flag.IntVar(&crashRuns, "crashes", 0, "how often TestCrashes runs each cell; 0 = not at all")
	flag.StringVar(&crashesInto, "crashes-into", "", "the folder into which TestCrashes writes what it has seen, as kernel/testdata/crashes has it")
	flag.IntVar(&drawnJobs, "drawn", 0, "how many jobs TestDrawn draws; 0 = none")
	flag.Int64Var(&drawnSeed, "drawn-seed", 0, "of which seed TestDrawn draws its jobs; 0 = a new one")
	flag.IntVar(&drawnFrom, "drawn-from", 0, "with which job of the seed TestDrawn begins")
	flag.Parse()
	if os.Getenv("GENERICJOB_E2E") != "1" {
		fmt.Println("skipped: these tests need a cluster with the operator; `make e2e` starts one and sets GENERICJOB_E2E=1")
		return
	}
	if seed == 0 {
		seed = rand.Int63()
	}
	folder, err := os.MkdirTemp("", "genericjob-e2e-")
	if err == nil {
		err = prepare(folder)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "prepare:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(folder)
	if err := awaitNamespacesGone(); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = 1
	}
	os.Exit(code)
}

func prepare(folder string) error {
	log.SetLogger(zap.New())
	module, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find the checkout: %w", err)
	}
	root = filepath.Dir(strings.TrimSpace(string(module)))
	if kubectl = os.Getenv("KUBECTL"); kubectl == "" {
		kubectl = "kubectl"
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	config.QPS = -1
	scheme, err := controllers.NewScheme()
	if err != nil {
		return err
	}
	if cluster, err = client.NewWithWatch(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("reach the cluster: %w", err)
	}
	return loadImage(folder)
}

// loadImage builds the worker and puts it into the local cluster. It is there as sleep too, which debug mode runs.
func loadImage(folder string) error {
	binary := filepath.Join(folder, "worker")
	archive = binary + ".tar"
	for _, command := range [][]string{
		{"build", "-trimpath", "-ldflags", "-s -w", "-o", binary, "./e2e/suite/worker"},
		{"-C", "e2e/localcluster", "run", ".", "image", "-ref", image, "-out", archive, "-add", binary + ":/bin/sleep", binary},
		{"-C", "e2e/localcluster", "run", ".", "load", archive},
	} {
		run := exec.Command("go", command...)
		run.Dir, run.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		if text, err := run.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w\n%s", strings.Join(command, " "), err, text)
		}
	}
	return nil
}

// awaitNamespacesGone waits for the end of the tests' namespaces, which nothing but a leaked finalizer keeps.
func awaitNamespacesGone() error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Second) {
		list := &corev1.NamespaceList{}
		if err := cluster.List(context.Background(), list, client.MatchingLabels{namespaceLabel: "true"}); err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("namespace %s is still there: %v", list.Items[0].Name, list.Items[0].Status)
		}
	}
}

// until waits until what is asked for holds.
func until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	untilWithin(t, patience, what, ask)
}

// untilWithin is until, for what the operator or the cluster itself does only after minutes.
func untilWithin(t *testing.T, bound time.Duration, what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !ask(); time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			require.FailNow(t, "this did not come: "+what)
		}
	}
}
