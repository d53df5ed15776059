package verbs

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/genericjob/genericjob/cmd/kubectl-gj/jobs"
)

// patience is how long a user waits for a completion, or for what only adds to an answer.
const patience = 3 * time.Second

// names completes the name of a job, the first argument.
func (p *program) names(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	s, err := p.connect()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var found []cobra.Completion
	for _, kind := range jobs.Kinds() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if s.List(ctx, list, client.InNamespace(s.namespace)) != nil {
			continue // the cluster may not have it
		}
		for i := range list.Items {
			kind := kind
			if owner := jobs.OwnerOf(kind, &list.Items[i]); owner != nil {
				theirs := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
				if jobs.ByKind(theirs) != nil {
					continue // its owner is the job
				}
				kind = jobs.Defined(theirs)
			}
			full := kind.Short() + "/" + list.Items[i].Name
			if strings.HasPrefix(full, begun) && strings.Contains(begun, "/") {
				found = append(found, full)
			} else if strings.HasPrefix(list.Items[i].Name, begun) {
				found = append(found, cobra.CompletionWithDesc(list.Items[i].Name, kind.Kind))
			}
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}
