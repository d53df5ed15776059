package training

import (
	"errors"
	"fmt"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// DefinitionError says that a definition cannot compile a job that keeps to the schema and to the definition's validations. Its author has to mend
// that, and no user can.
type DefinitionError struct {
	// Definition is the name of the TrainingFramework.
	Definition string
	// Err says what is wrong, and where in the definition.
	Err error
}

// Error says whose fault it is first.
func (e *DefinitionError) Error() string {
	return fmt.Sprintf("TrainingFramework %s is at fault, and not the job: %v. Tell a cluster admin, who has to mend the definition. Then create the job again", e.Definition, e.Err)
}

// Unwrap returns what is wrong.
func (e *DefinitionError) Unwrap() error { return e.Err }

// revisionUnknownError says that no revision that is kept compiled a job. Neither the job nor a definition is wrong.
type revisionUnknownError string

// Error says which revision did.
func (e revisionUnknownError) Error() string { return string(e) }

// reasonFor returns the reason of a job of which nothing can be made.
func reasonFor(invalid error) string {
	var wrong *DefinitionError
	var unknown revisionUnknownError
	switch {
	case errors.As(invalid, &wrong):
		return v1beta1.ReasonInvalidDefinition
	case errors.As(invalid, &unknown):
		return v1beta1.ReasonRevisionUnknown
	default:
		return v1beta1.ReasonInvalidSpec
	}
}

// refusedSpecError returns what to do where the apiserver does not take what a job compiles to.
func (r *Reconciler) refusedSpecError(words string) error {
	next := ""
	if r.Definition != "" {
		next = fmt.Sprintf(". If the value is none of the job's, TrainingFramework %s is at fault: tell a cluster admin", r.Definition)
	}
	return fmt.Errorf("the apiserver refuses what the spec compiles to: %s. Correct the field in spec and create the job again%s", words, next)
}
