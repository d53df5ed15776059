package operator

import (
	"errors"
	"flag"
	"fmt"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/genericjob/genericjob/controllers"
)

// config is what the flags set. There is no flag for client-side rate limits: the apiserver's priority and fairness is
// the throttle.
type config struct {
	metrics, health string
	pprof           string
	version         bool
	leaderElect     bool
	leaseNamespace  string
	lease           lease
	leaseFlags      []string // those about the lease that are set, as "--leader-elect-namespace=a"
	kubeflow        bool
	gangScheduler   string
	mpiKeys         bool
	arguments       []string // what follows the flags
	options         controllers.Options
}

func parseFlags() config {
	var c config
	flag.StringVar(&c.metrics, "metrics-bind-address", ":8443",
		"address of the metrics, served over TLS to who may get /metrics; 0 switches them off")
	flag.BoolVar(&c.options.TimesByNamespace, "metrics-namespace-label", false,
		"tell the metrics of time by the jobs' namespace, too: 32 series for each kind and namespace with jobs")
	flag.StringVar(&c.health, "health-probe-bind-address", ":8081", "address of /healthz and /readyz")
	flag.StringVar(&c.pprof, "pprof-bind-address", "", "address of Go's profiler, which asks nobody who he is; empty = off")
	flag.BoolVar(&c.leaderElect, "leader-elect", false,
		"work only while holding a lease, so that several operators may run")
	flag.StringVar(&c.leaseNamespace, "leader-elect-namespace", "",
		"namespace of the lease; default: that of the operator's pod. Needed only where the operator does not run in a pod")
	c.lease.flags(flag.CommandLine)
	flag.IntVar(&c.options.Concurrency, "concurrency", controllers.DefaultConcurrency, "jobs that are worked on at once; a reconcile mostly waits for the apiserver")
	flag.DurationVar(&c.options.Settings.ForceReplaceAfter, "force-replace-after", 5*time.Minute,
		"how long a pod may stay Terminating beyond its grace period before it is deleted by force and replaced; one whose node is known to be lost does not wait; 0 = never (a node that is only cut off may then still run it)")
	flag.DurationVar(&c.options.Settings.NodeLostAfter, "node-lost-after", 0,
		"how long a node may be not Ready before Kubernetes deletes the pods there, in jobs without nodeLost, in whole seconds; 0 = as long as Kubernetes itself says, 5m")
	flag.Func("avoid-nodes", "what holds for jobs without avoidNodes, as in after=2,within=24h,atMost=1; each may be left out; default: they avoid no node for failures",
		c.setAvoidNodes)
	flag.Func("avoid-node-conditions", "conditions of nodes that new pods of jobs with avoidNodes keep off, as in GpuUnhealthy=True,NetworkReady=False; takes the right to watch nodes; default: none",
		c.setNodeConditions)
	flag.BoolVar(&c.options.BadNodes.AcrossJobs, "avoid-nodes-across-jobs", false,
		"have jobs with avoidNodes count failures of other jobs of their namespace, one of each on one node, and losses of nodes in all namespaces")
	flag.StringVar(&c.options.Settings.ClusterDomain, "cluster-domain", "cluster.local", "the cluster's DNS domain")
	flag.StringVar(&c.options.Settings.WrapperImage, "wrapper-image", "",
		"image with /wrapper, of which pods that restart in place get a copy; default: the operator's own, if it runs in a pod")
	flag.BoolVar(&c.kubeflow, "kubeflow", false,
		"serve Kubeflow's TFJob, PyTorchJob, XGBoostJob, PaddleJob, JAXJob and MPIJob too; their CRDs must be there, and Kubeflow's own operators must not run")
	flag.StringVar(&c.gangScheduler, "gang-scheduler-name", "",
		"scheduler that places the pods of each of Kubeflow's jobs together: volcano, or the name of one with the plugin Coscheduling; empty = each pod by itself. Other kinds say so in spec.scheduler")
	flag.BoolVar(&c.mpiKeys, "mpi-keys", false,
		"make a Secret with a key pair for ssh for each of Kubeflow's MPIJobs, which takes the right to create Secrets; without it their pods mount the Secret mpi-ssh of their namespace, which users make")
	flag.Func("namespaces", "namespaces, separated by commas, whose jobs are served: rights are needed in these alone; default: all. No other operator may serve one of them",
		c.setNamespaces)
	flag.BoolVar(&c.version, "version", false, "print the version and end")
	var log zap.Options
	logFlags(&log)
	flag.Parse()
	c.arguments = flag.Args()
	c.leaseFlags = leaseFlagsIn(flag.CommandLine)
	ctrl.SetLogger(terse(zap.New(zap.UseFlagOptions(&log))))
	return c
}

// check says what is wrong with the flags together.
func (c *config) check() error {
	return errors.Join(c.lease.check(), c.checkLeaseFlags(), c.checkKubeflow(), c.checkArguments())
}

// checkLeaseFlags refuses flags about a lease that nobody would hold: of several operators, all would work.
func (c *config) checkLeaseFlags() error {
	if c.leaderElect || len(c.leaseFlags) == 0 {
		return nil
	}
	return fmt.Errorf("%s has no effect without --leader-elect: give that, too, or leave it out", c.leaseFlags[0])
}

// checkArguments refuses what is no flag. Flags behind it would have no effect: those behind "--leader-elect true", for example.
func (c *config) checkArguments() error {
	if len(c.arguments) == 0 {
		return nil
	}
	return fmt.Errorf("argument %q is no flag, and flags behind it would have no effect: write values as in --leader-elect=true, --concurrency=8", c.arguments[0])
}

// checkKubeflow refuses flags about Kubeflow's kinds where these are not served: an admin would wait for an effect.
func (c *config) checkKubeflow() error {
	switch {
	case c.kubeflow:
		return nil
	case c.gangScheduler != "":
		return fmt.Errorf("--gang-scheduler-name=%s has no effect without --kubeflow: it is about Kubeflow's jobs. Give --kubeflow too, or leave it out: other kinds name their scheduler in spec.scheduler", c.gangScheduler)
	case c.mpiKeys:
		return errors.New("--mpi-keys has no effect without --kubeflow: it is about Kubeflow's MPIJobs. Give --kubeflow too, or leave it out, with the right to create Secrets")
	}
	return nil
}

// logFlags adds those of controller-runtime's flags for the log that an admin needs to read one. They say how much it
// tells, and whether to a program (the default) or to people.
func logFlags(to *zap.Options) {
	all := flag.NewFlagSet("", flag.ContinueOnError)
	to.BindFlags(all)
	for _, name := range []string{"zap-log-level", "zap-encoder"} {
		f := all.Lookup(name)
		flag.Var(f.Value, f.Name, f.Usage)
	}
}
