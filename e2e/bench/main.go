// Command bench measures the operator, as the manager's binary at its default flags, against a bare control plane: etcd and
// kube-apiserver, no kubelet. The bench plays the kubelets. Each row is compared with the raw limit of the same run, which
// is the same pods made by plain parallel calls. See README.md.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// bench is one run of the program.
type bench struct {
	folder      string // of binary, logs and profiles
	manager     string // the binary
	managerArgs string
	profiled    bool
	growth      string
	quietFor    time.Duration
	starts      int
	pods        int    // of others, in a cluster that is attacked
	crowd       *crowd // those, once they are made
}

// row is one line of the table.
type row struct {
	name           string
	kind           kind
	jobs, replicas int
	run            func(*bench, context.Context, row) (sample, error)
	long           bool // left out unless asked for
}

// rows are all rows, those that take long too.
func rows() []row {
	list := []row{
		{"1x500", genericJob, 1, 500, (*bench).life, false},
		{"100x5", genericJob, 100, 5, (*bench).life, false},
		{"400x5", genericJob, 400, 5, (*bench).life, false},
		{"tensorflow-1x2000", tensorFlowJob, 1, 2000, (*bench).life, false},
		{"defined-1000x1", jaxJob, 1000, 1, (*bench).defined, false},
		{"1x5000", genericJob, 1, 5000, (*bench).life, true},
		{"restart-1x1000", wholeJob, 1, 1000, (*bench).restart, false},
		{"inplace-1x1000", inPlaceJob, 1, 1000, (*bench).inPlace, false},
		{"floor-100x5", genericJob, 100, 5, (*bench).floor, true},
		{"floor-400x5", genericJob, 400, 5, (*bench).floor, true},
		{"fairness", genericJob, 12, 1500, (*bench).fairness, true},
		{"quiet-400", genericJob, 400, 1, (*bench).quiet, true},
		{"quiet-4000", genericJob, 4000, 1, (*bench).quiet, true},
		{"scraped-3000", genericJob, 3000, 1, (*bench).scraped, true},
		{"start-400x50", genericJob, 400, 50, (*bench).takeOver, true},
	}
	for _, a := range attacks() {
		list = append(list, row{a.name, kind{}, a.objects(), 1, (*bench).weight, true})
	}
	for _, jobs := range []int{1, 10, 100, 1000, 4000} {
		list = append(list, row{fmt.Sprintf("growth-jobs-%d", jobs), genericJob, jobs, 1, (*bench).life, true})
	}
	for _, replicas := range []int{10, 100, 1000, 5000} {
		list = append(list, row{fmt.Sprintf("growth-replicas-%d", replicas), genericJob, 1, replicas, (*bench).life, true})
	}
	return list
}

// rowPatience bounds one repetition of a row.
const rowPatience = 20 * time.Minute

func logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func main() {
	b := &bench{}
	only := flag.String("run", "", "regular expression: only these rows, long ones too; empty = all rows that are not long")
	long := flag.Bool("long", false, "all rows")
	count := flag.Int("count", 1, "repetitions of each row; the table shows medians")
	out := flag.String("out", "dist/bench.json", "file to write the results to")
	flag.StringVar(&b.folder, "folder", "dist/bench", "folder of the manager's binary, logs and profiles")
	flag.StringVar(&b.managerArgs, "manager-args", "", "flags for the manager; the results are then not comparable with the thresholds")
	flag.BoolVar(&b.profiled, "profile", false, "write profiles of the manager into the folder; its CPU time is then a little higher")
	flag.DurationVar(&b.quietFor, "quiet", 10*time.Minute, "length of the rows quiet-* and scraped-*")
	flag.StringVar(&b.growth, "growth", "", "file to write the rows growth-* to, for growth.gnuplot")
	flag.IntVar(&b.pods, "pods", 5000, "how many pods of others run in the cluster of the rows weight-*")
	plans := flag.Bool("plan", true, "run kernel.Plan's own benchmark, too")
	serve := flag.Bool("serve", false, "measure nothing: start control plane and manager for another program, until SIGINT")
	flag.Parse()
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := os.MkdirAll(b.folder, 0o755)
	if err == nil {
		b.manager, err = buildManager(ctx, b.folder)
	}
	switch {
	case err != nil:
	case *serve:
		err = b.serve(ctx)
	default:
		err = b.all(ctx, *only, *long, *plans, *count, *out)
	}
	if err != nil {
		logf("bench: %v", err)
		os.Exit(1)
	}
}

// all runs the rows that are asked for, prints the table and compares it with the thresholds.
func (b *bench) all(ctx context.Context, only string, long, plans bool, count int, file string) error {
	defer b.disperse()
	pattern, err := regexp.Compile(only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	res := newResults(count)
	if plans {
		logf("kernel.Plan")
		if res.Plan, err = planBenchmarks(ctx); err != nil {
			return err
		}
	}
	chosen := slices.DeleteFunc(rows(), func(r row) bool { return only == "" && r.long && !long || !pattern.MatchString(r.name) })
	failed := b.each(ctx, chosen, count, res, file)
	res.print(os.Stdout)
	if b.growth != "" {
		if err := res.writeGrowth(b.growth); err != nil {
			return err
		}
	}
	limits, err := readThresholds()
	return errors.Join(append(failed, err, ctx.Err(), res.write(file), res.check(limits))...)
}

// each runs rows. One that fails does not keep the others from being measured.
func (b *bench) each(ctx context.Context, rows []row, count int, res *results, file string) (failed []error) {
	for _, r := range rows {
		if ctx.Err() != nil {
			break
		}
		err := b.repeat(ctx, r, count, res)
		failed = append(failed, err, res.write(file))
		if err != nil {
			logf("  %v", err)
		}
	}
	return failed
}

// repeat runs a row so many times.
func (b *bench) repeat(ctx context.Context, r row, count int, res *results) error {
	for i := range count {
		logf("%s, %d of %d", r.name, i+1, count)
		rowCtx, cancel := context.WithTimeout(ctx, rowPatience+b.quietFor)
		s, err := r.run(b, rowCtx, r)
		cancel()
		if err != nil {
			return fmt.Errorf("row %s: %w", r.name, err)
		}
		logf("  %s", s)
		res.add(r, s)
	}
	return nil
}

// serve keeps a control plane and a manager up for another program.
func (b *bench) serve(ctx context.Context) error {
	p, err := startPlane(ctx)
	if err != nil {
		return err
	}
	user, err := p.env.AddUser(adminUser, nil)
	if err != nil {
		return errors.Join(err, p.stop())
	}
	kubeconfig, err := user.KubeConfig()
	if err != nil {
		return errors.Join(err, p.stop())
	}
	if err := os.WriteFile(b.folder+"/admin.kubeconfig", kubeconfig, 0o600); err != nil {
		return errors.Join(err, p.stop())
	}
	o, err := b.startOperator(context.WithoutCancel(ctx), p)
	if err != nil {
		return errors.Join(err, p.stop())
	}
	logf("serving: KUBECONFIG=%s/admin.kubeconfig, manager is process %d", b.folder, o.process.Process.Pid)
	<-ctx.Done()
	return errors.Join(o.stop(), p.stop())
}
