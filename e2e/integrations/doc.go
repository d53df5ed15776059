// Package integrations asks what workflow tools take jobs for. It asks Katib by its own functions, and Kubeflow's clients by their own types. It
// asks Argo Workflows and Flyte by the rules of their code. The statuses are the kernel's own. The table in deploy/integrations/README.md is the
// answer.
//
// Tests alone are here. TestArgo of e2e/suite runs Argo Workflows itself.
package integrations
