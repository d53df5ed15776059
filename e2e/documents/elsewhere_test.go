package documents

import "regexp"

// runner is a test, or a script of CI, that runs commands which cannot run here. They need a real cluster, a registry, programs that this
// module does not have, or a person. These words are in what it runs: in the test, or in functions of its package that it calls.
type runner struct {
	command *regexp.Regexp
	file    string // a script; or, with the test after a colon, a package
	words   []string
}

func commandsLike(pattern string) *regexp.Regexp { return regexp.MustCompile("^(?:" + pattern + ")") }

var elsewhere = []runner{
	{commandsLike(`(UNDEPLOY_KINDS=[a-z.]+ )?make undeploy`), "e2e/suite:TestUndeploy", []string{`"deploy", "undeploy.sh"`}},
	{commandsLike(`board=|kubectl port-forward`), "e2e/suite:TestTensorFlow", []string{`func (s *space) tensorBoardShows`}},
	{commandsLike(`go -C ../genericjob/e2e/localcluster run . load`), "e2e/suite:TestExtension", []string{`"e2e/localcluster", "run", ".", "load"`}},
	{commandsLike(`helm install .*--create-namespace --wait`), "deploy/helm:TestTheLifeOfARelease", []string{`"install"`, `"--create-namespace"`}},
	{commandsLike(`helm install$`), "deploy/helm:TestAReleaseTakesOverWhatKustomizeInstalled", []string{`"--take-ownership"`, `"--force-conflicts"`}},
	{commandsLike(`helm install .*namespaces=`), "e2e/suite:TestHelm", []string{`namespaces={`}},
	{commandsLike(`helm (upgrade|rollback|uninstall)`), "deploy/helm:TestTheLifeOfARelease", []string{`"upgrade"`, `"--reset-then-reuse-values"`, `"rollback"`, `"uninstall"`}},
	{commandsLike(`kubectl delete .*--all --all-namespaces|kubectl wait --for=delete|kubectl delete crd`), "e2e/suite:TestHelm",
		[]string{`"delete"`, `"--all-namespaces"`, `"--for=delete"`, `"crd"`}},
	{commandsLike(`kubectl rollout status`), "e2e/suite:TestExtension", []string{`"rollout", "status"`}},
	{commandsLike(`promtool test rules`), "e2e/metrics:TestMonitoring", []string{`"test", "rules"`}},
	{commandsLike(`kubectl apply -f genericjob-v[0-9.]+-install.yaml`), "Makefile", []string{`$(KUBECTL) kustomize deploy/default`, `$(KUBECTL) apply -f -`}},
	{commandsLike(`crane push`), ".ci/publish", []string{`crane push`}},
	{commandsLike(`install dist/kubectl-gj`), "e2e/suite:TestGJ", []string{`kubectl_complete-gj`}},
	{commandsLike(`pip install ./cmd/python`), "e2e/python:TestPackage", []string{`"pip", "wheel"`, `"pip", "install"`}},
	{commandsLike(`kubectl apply -f (queue|urgent|near|tfjob)\.yaml|kubectl wait (gj/night|gj/urgent|gj/near|tfjob/queued) |kubectl get (gj night|workloads)|kubectl (label nodes|rollout restart)`),
		"e2e/suite:TestKueue", []string{`"deploy", "kueue", "README.md"`, `func documentIsFollowed`, `s.follow(g, `}},
	{commandsLike(`ssh-keygen|kubectl create secret generic mpi-ssh|rm key`), "e2e/suite:TestCatalog", []string{`makeSSHKey`, `"kubeflow", "README.md"`}},
	{commandsLike(`kubectl gj why (\S+ )?--rules`), "cmd/kubectl-gj/verbs:TestWhyWithRules", []string{`"why", "failed", "--rules"`}},
	{commandsLike(`gh attestation verify`), ".github/workflows/release.yaml", []string{"attest-build-provenance", "push-to-registry: true", "SHA256SUMS"}},
	{commandsLike(`kubectl gj translate -f framework.yaml -o yaml`), "cmd/kubectl-gj/translate:TestADefinitionWithASchemaHasItsCRD",
		[]string{`CustomResourceDefinition/jaxjobs.frameworks.example.com`}},
	{commandsLike(`kubectl gj (sync|restart) \S+`), "e2e/suite:TestGJ", []string{`"sync", "coded"`, `"restart", "coded"`, `"--watch"`}},
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
