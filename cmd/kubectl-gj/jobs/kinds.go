// Package jobs knows the kinds of jobs and finds a job of any of them, with what belongs to it: its GenericJob and its pods.
package jobs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	kubeflow "github.com/genericjob/genericjob/apis/kubeflow/v1"
	"github.com/genericjob/genericjob/cmd/kubectl-gj/exit"
	translators "github.com/genericjob/genericjob/translators"
	"github.com/genericjob/genericjob/translators/framework"
	kubeflowtranslators "github.com/genericjob/genericjob/translators/kubeflow"
)

// Kind is a kind of job.
type Kind struct {
	schema.GroupVersionKind
	// names are those by which a command line may call it.
	names []string
	// Framework compiles jobs of the kind; nil: they are GenericJobs.
	Framework *framework.Registration
}

// New returns an empty object of the kind.
func (k *Kind) New() client.Object {
	if k.Framework == nil {
		return &v1beta1.GenericJob{}
	}
	return k.Framework.New()
}

// IsKubeflow reports whether the kind is one of Kubeflow's.
func (k *Kind) IsKubeflow() bool { return k.Group == kubeflow.GroupVersion.Group }

// shortNames are those of the kinds that have one. A kind is served as soon as a translator is in one of the lists All.
var shortNames = map[string]string{"TensorFlowTrainingJob": "tj", "PyTorchTrainingJob": "pj", v1beta1.KindGenericJob: "gj"}

// Kinds returns all kinds, those first that own GenericJobs.
func Kinds() []*Kind { return allKinds() }

// allKinds makes the kinds once, for each takes a scheme.
var allKinds = sync.OnceValue(makeKinds)

func makeKinds() []*Kind {
	var kinds []*Kind
	for _, f := range append(translators.All(), kubeflowtranslators.All("", false)...) {
		kinds = append(kinds, &Kind{GroupVersionKind: kindOf(f), Framework: &f})
	}
	kinds = append(kinds, &Kind{GroupVersionKind: v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)})
	for _, k := range kinds {
		if short, ok := shortNames[k.Kind]; ok {
			k.names = append(k.names, short)
		}
		name := strings.ToLower(k.Kind)
		if k.Kind != kubeflow.KindJAXJob { // without its group that may be the catalog's, which a definition serves
			k.names = append(k.names, name, name+"s")
		}
		k.names = append(k.names, name+"."+k.Group, name+"s."+k.Group)
	}
	return kinds
}

// kindOf returns the kind that a framework compiles jobs of.
func kindOf(f framework.Registration) schema.GroupVersionKind {
	scheme := runtime.NewScheme()
	err := f.AddToScheme(scheme)
	kind, unknown := apiutil.GVKForObject(f.New(), scheme)
	if err = errors.Join(err, unknown); err != nil {
		panic(fmt.Sprintf("a translator registers no kind: %v", err)) // golden tests compile jobs of each
	}
	return kind
}

// ByKind returns the kind of an object; nil if it is none of ours.
func ByKind(kind schema.GroupVersionKind) *Kind {
	for _, k := range Kinds() {
		if k.GroupVersionKind == kind {
			return k
		}
	}
	return nil
}

// genericJobs returns the kind of GenericJobs.
func genericJobs() *Kind { return ByKind(v1beta1.GroupVersion.WithKind(v1beta1.KindGenericJob)) }

// Name is how a command line calls a job: KIND/NAME, or NAME alone.
type Name struct {
	Kind *Kind // nil: of whatever kind
	// Other is a kind, or its resource, that a TrainingFramework may define.
	Other string
	Name  string
}

// ParseName reads a job's name.
func ParseName(text string) (Name, error) {
	kind, name, ok := strings.Cut(text, "/")
	if !ok {
		kind, name = "", text
	}
	if name == "" || strings.Contains(name, "/") {
		return Name{}, exit.Usagef("%q names no job: want NAME or KIND/NAME, as in pj/mnist", text)
	}
	if !ok {
		return Name{Name: name}, nil
	}
	for _, k := range Kinds() {
		if slices.Contains(k.names, strings.ToLower(kind)) {
			return Name{Kind: k, Name: name}, nil
		}
	}
	if kind == "" {
		return Name{}, exit.Usagef("%q names no kind of job: want NAME or KIND/NAME, as in pj/mnist", text)
	}
	return Name{Other: kind, Name: name}, nil
}

// In finds the kind of a name that is not one of ours among those of the cluster.
func (n Name) In(cluster meta.RESTMapper) (Name, error) {
	if n.Other == "" {
		return n, nil
	}
	full, group := schema.ParseResourceArg(strings.ToLower(n.Other))
	if full == nil {
		full = &schema.GroupVersionResource{Group: group.Group, Resource: group.Resource}
	}
	kind, err := cluster.KindFor(*full)
	if err != nil {
		kind, err = cluster.KindFor(group.WithVersion(""))
	}
	if err != nil && !meta.IsNoMatchError(err) {
		return n, fmt.Errorf("find the kind %s: %w", n.Other, err)
	}
	if err != nil || !mayBeJob(kind) {
		return n, exit.Usagef("%q is no kind of job: want gj, pj, tj, a kind of Kubeflow's, as in tfjob, or one that the cluster's TrainingFrameworks define", n.Other)
	}
	n.Kind = Defined(kind)
	return n, nil
}

// Short returns the shortest name of the kind.
func (k *Kind) Short() string { return k.names[0] }
