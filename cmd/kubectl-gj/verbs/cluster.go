package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
	"github.com/genericjob/genericjob/controllers"
	"github.com/genericjob/genericjob/translators/framework"
)

// session is a connection to the cluster.
type session struct {
	client.WithWatch
	config    *rest.Config
	namespace string
}

func (p *program) connect() (*session, error) {
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	if !p.namesCluster(config.Host) {
		return nil, errors.New("there is no kubeconfig, or it names no cluster: set KUBECONFIG, or give --kubeconfig")
	}
	config.QPS = -1 // the apiserver has its own limits
	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &session{c, config, namespace}, nil
}

// namesCluster reports whether somebody says which cluster this is. Else it is that of client-go, which a kubeconfig may name, too.
func (p *program) namesCluster(host string) bool {
	if host != clientcmd.ClusterDefaults.Server || *p.flags.APIServer != "" || os.Getenv("KUBERNETES_MASTER") != "" {
		return true
	}
	raw, err := p.flags.ToRawKubeConfigLoader().RawConfig()
	name := *p.flags.ClusterName
	if at := raw.Contexts[cmp.Or(*p.flags.Context, raw.CurrentContext)]; name == "" && at != nil {
		name = at.Cluster
	}
	return err == nil && raw.Clusters[name] != nil
}

// newScheme knows all kinds.
func newScheme() (*runtime.Scheme, error) {
	var all []framework.Registration
	for _, kind := range jobs.Kinds() {
		if kind.Framework != nil {
			all = append(all, *kind.Framework)
		}
	}
	return controllers.NewScheme(all...)
}

// find connects, and finds a job. Discovery of the cluster's kinds heeds no context, so it is left behind when ctx ends.
func (p *program) find(ctx context.Context, name string) (*session, *jobs.Family, error) {
	type answer struct {
		session *session
		family  *jobs.Family
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		s, f, err := p.findWithoutEnd(ctx, name)
		answers <- answer{s, f, err}
	}()
	select {
	case a := <-answers:
		return a.session, a.family, a.err
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("find %s: the cluster does not answer: %w", name, ctx.Err())
	}
}

// findWithoutEnd does what find does, but for the context.
func (p *program) findWithoutEnd(ctx context.Context, name string) (*session, *jobs.Family, error) {
	parsed, err := jobs.ParseName(name)
	if err != nil {
		return nil, nil, err
	}
	s, err := p.connect()
	if err != nil {
		return nil, nil, err
	}
	if parsed.Other != "" {
		mapper, err := p.flags.ToRESTMapper()
		if err != nil {
			return nil, nil, fmt.Errorf("ask the cluster for its kinds: %w", err)
		}
		if parsed, err = parsed.In(mapper); err != nil {
			return nil, nil, err
		}
	}
	f, err := jobs.Find(ctx, s, s.namespace, parsed)
	return s, f, err
}

// clientset returns a client for what only Kubernetes' own can: logs.
func (s *session) clientset() (*kubernetes.Clientset, error) {
	c, err := kubernetes.NewForConfig(s.config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return c, nil
}
