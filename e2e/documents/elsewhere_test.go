package documents

import "regexp"

// runner is a file, a test or a script of CI, that runs commands which cannot be run here: they need a real cluster, a registry,
// programs that this module does not have, or a person. It has these words.
type runner struct {
	command *regexp.Regexp
	file    string
	words   []string
}

func commandsLike(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")") }

var elsewhere = []runner{
	{commandsLike(`(UNDEPLOY_KINDS=[a-z.]+ )?make undeploy`), "e2e/suite/undeploy_test.go", []string{`"deploy", "undeploy.sh"`}},
	{commandsLike(`board=|kubectl port-forward`), "e2e/suite/tensorflow_test.go", []string{`func (s *space) tensorBoardShows`}},
	{commandsLike(`go -C ../genericjob/e2e/localcluster run . load`), "e2e/suite/extension_test.go", []string{`"e2e/localcluster", "run", ".", "load"`}},
	{commandsLike(`helm install .*--create-namespace --wait`), "deploy/helm/lifecycle_test.go", []string{`"install"`, `"--create-namespace"`}},
	{commandsLike(`helm install$`), "deploy/helm/lifecycle_test.go", []string{`"--take-ownership"`, `"--force-conflicts"`}},
	{commandsLike(`helm install .*namespaces=`), "e2e/suite/helm_test.go", []string{`namespaces={`}},
	{commandsLike(`helm (upgrade|rollback|uninstall)`), "deploy/helm/lifecycle_test.go", []string{`"upgrade"`, `"--reset-then-reuse-values"`, `"rollback"`, `"uninstall"`}},
	{commandsLike(`kubectl delete .*--all --all-namespaces|kubectl wait --for=delete|kubectl delete crd`), "e2e/suite/helm_test.go",
		[]string{`"delete"`, `"--all-namespaces"`, `"--for=delete"`, `"crd"`}},
	{commandsLike(`kubectl rollout status`), "e2e/suite/extension_test.go", []string{`"rollout", "status"`}},
	{commandsLike(`promtool test rules`), "e2e/metrics/metrics_test.go", []string{`"test", "rules"`}},
	{commandsLike(`crane push`), ".ci/publish", []string{`crane push`}},
	{commandsLike(`install dist/kubectl-gj`), "e2e/suite/gj_test.go", []string{`kubectl_complete-gj`}},
	{commandsLike(`pip install ./cmd/python`), "e2e/python/python_test.go", []string{`"pip", "wheel"`, `"pip", "install"`}},
	{commandsLike(`kubectl apply -f (queue|urgent|near|tfjob)\.yaml|kubectl wait (gj/night|gj/urgent|gj/near|tfjob/queued) |kubectl get (gj night|workloads)|kubectl (label nodes|rollout restart)`),
		"e2e/suite/kueue_document_test.go", []string{`"deploy", "kueue", "README.md"`, `func documentIsFollowed`, `s.follow(g, `}},
	{commandsLike(`ssh-keygen|kubectl create secret generic mpi-ssh|rm key`), "e2e/suite/catalog_test.go", []string{`makeSSHKey`, `"kubeflow", "README.md"`}},
	{commandsLike(`git tag`), ".github/workflows/release.yaml", []string{"tags:"}},
}

// elsewhereOf is what runs a command; nil if it is run here.
func elsewhereOf(command string) *runner {
	for i := range elsewhere {
		if elsewhere[i].command.MatchString(command) {
			return &elsewhere[i]
		}
	}
	return nil
}
