// Package operator is the operator as a program: flags, manager, controllers. A cluster's admin who adds a framework calls
// Main with it, from a main package of his own.
package operator

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/kubeflow"
)

// Main runs the operator for GenericJobs and for the jobs of these frameworks until it gets SIGTERM or SIGINT. It exits with 1 if it
// cannot. Flags may add Kubeflow's kinds.
func Main(frameworks ...framework.Registration) {
	c := parseFlags()
	if c.version {
		fmt.Println(about())
		return
	}
	c.options.Frameworks = frameworks
	if c.kubeflow {
		c.options.Frameworks = append(c.options.Frameworks, kubeflow.All(c.gangScheduler, c.mpiKeys)...)
	}
	c.options.Definitions = len(c.options.Namespaces) == 0 // a definition is the whole cluster's
	if err := run(ctrl.SetupSignalHandler(), c); err != nil {
		fmt.Fprintln(os.Stderr, "manager:", cutError(err))
		os.Exit(1)
	}
}

// run runs the operator until the context ends. An apiserver that hangs may hold the preparation, or a manager whose
// caches it never filled, for ever. Neither has anything under way that would have to be waited for.
func run(ctx context.Context, c config) error {
	var mgr ctrl.Manager
	err := within(ctx, 0, func() (err error) {
		mgr, err = prepare(ctx, c)
		return err
	})
	if err != nil || ctx.Err() != nil {
		return err
	}
	return within(ctx, lastOfAll, func() error { return ended(ctx, mgr.Start(ctx)) })
}

// within calls f, but does not wait for it any longer than this after the context has ended.
func within(ctx context.Context, after time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	tooLate := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(after, func() { close(tooLate) }) })
	defer stop()
	select {
	case err := <-done:
		return err
	case <-tooLate:
		ctrl.Log.Info("the apiserver does not answer: ending without it")
		return nil
	}
}

// prepare makes the manager with all controllers.
func prepare(ctx context.Context, c config) (ctrl.Manager, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := limitMemory(); err != nil {
		return nil, err
	}
	cfg, err := ctrl.GetConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster (set KUBECONFIG, or run in a pod): %w", err)
	}
	options, err := managerOptions(ctx, c, cfg)
	if err != nil {
		return nil, err
	}
	mgr, err := ctrl.NewManager(cfg, options)
	if err != nil {
		return nil, fmt.Errorf("create the manager: %w", err)
	}
	c.options.Metrics, c.options.Build = metrics.Registry, built()
	if image := &c.options.Settings.WrapperImage; *image == "" {
		if *image, err = ownImage(ctx, mgr.GetAPIReader()); err != nil {
			return nil, err
		}
	}
	if err := controllers.SetUp(ctx, mgr, c.options); err != nil {
		return nil, fmt.Errorf("set up the controllers: %w", err)
	}
	return mgr, servePorts(mgr, c)
}

func managerOptions(ctx context.Context, c config, cfg *rest.Config) (ctrl.Options, error) {
	scheme, err := controllers.NewScheme(c.options.Frameworks...)
	if err != nil {
		return ctrl.Options{}, fmt.Errorf("register API types: %w", err)
	}
	cacheOptions, err := controllers.CacheOptions(c.options.Namespaces...)
	if err != nil {
		return ctrl.Options{}, err
	}
	return ctrl.Options{
		Scheme:                  scheme,
		Cache:                   cacheOptions,
		Metrics:                 metricsserver.Options{BindAddress: "0"}, // this and others: see servePorts
		GracefulShutdownTimeout: ptr.To(lastRunnables),
		LeaderElection:          c.leaderElect,
		LeaderElectionID:        "genericjob.batch.tensorstack.dev",
		LeaderElectionNamespace: c.leaseNamespace,
		LeaderElectionConfig:    brief(ctx, cfg),
		LeaseDuration:           &c.lease.duration,
		RenewDeadline:           &c.lease.renewDeadline,
		RetryPeriod:             &c.lease.retryPeriod,
		// The process ends when the lease is given back, so the next leader need not wait for it to run out.
		LeaderElectionReleaseOnCancel: true,
	}, nil
}
