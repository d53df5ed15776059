package suite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDefinition gives the stock operator the kind of e2e/extension by kubectl alone: JAXJobs, as deploy/frameworks/jax defines them. It
// runs alone, for that other test brings the kind, too.
func TestDefinition(t *testing.T) {
	s := newSpace(t)
	s.loadExtension("rendezvous", "./rendezvous", "example.com/rendezvous:dev")
	defer s.run(nil, kubectl, "delete", "--ignore-not-found", "-k", "deploy/frameworks/jax")
	s.run(nil, kubectl, "apply", "-k", "deploy/frameworks/jax")
	s.run(nil, kubectl, "wait", "--for=condition=Serving", "trainingframework/jax", "--timeout=2m") // the role is aggregated, too

	raw, err := os.ReadFile(filepath.Join(root, "e2e", "extension", "sample.yaml"))
	require.NoError(t, err)
	s.wrongJAXJobsAreRefused(string(raw))
	s.processesMeet(string(raw))
	s.crashRestartsAll(string(raw))
}
