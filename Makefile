# Everything that is done to this checkout. Go, git and make are all it needs: tools are built from pinned modules.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c

# The image, by default the one that deploy/default/kustomization.yaml names.
IMG ?= $(shell sed -nE 's/^ *new(Name|Tag): //p' deploy/default/kustomization.yaml | paste -sd:)
KUBECTL ?= kubectl
# What --version of the operator says, the commit that its metrics name (a release sets it: other builds are the same whatever git knows), for which
# architecture it is built, and into which file.
VERSION ?= dev
COMMIT ?=
ARCH ?= $(shell go env GOARCH)
MANAGER ?= dist/manager
# What becomes an image, one binary for each architecture, and in which archive.
BINARIES ?= $(MANAGER)
ARCHIVE ?= dist/genericjob-manager.tar
# A registry's folder for images and charts, e.g. registry.example/genericjob.
REGISTRY ?=
# The versions of Kubernetes that are tested, oldest first.
VERSIONS ?= 1.30 1.32 1.34 1.36 1.37
MODULE := github.com/genericjob/genericjob
SEEDS ?= 100000
# How many deviations `make sim-all` goes from the healthy life, and in which miniatures (a regular expression; all).
K ?= 2
MINIATURES ?=
# How often `make flakes` runs each package, the seed of the order (0 draws one), and which packages (all). SEED is that of `make e2e-drawn`, too.
RUNS ?= 20
SEED ?= 0
PACKAGES ?=
# How long `make fuzz` fuzzes each target.
FUZZTIME ?= 1m
# Flags of `make sim-branches`: -seeds, -apiserver, -profiles
BRANCHES ?=
# Flags of the bench: -run, -count, -long, ...
BENCH ?=
# How often `make bench-inplace` measures each row, and `make crashes` runs each cell.
AGAINST ?= 5
# How many jobs `make e2e-drawn` draws; SEED says of which seed, and 0 draws one.
COUNT ?= 20
# What `make loc` counts: a commit, or the working tree if there is none; and another commit to compare it with.
REV ?=
AGAINST_REV ?=
# Flags of `localcluster up`: -gang
UP ?=
LOCALCLUSTER := go -C e2e/localcluster run .
export KUBECTL
# All programs, tests and tools are compiled in one way: what they share is compiled once. Without cgo programs are static; without
# paths and the state of git they are the same on every machine, and a checkout of another user's is no obstacle.
COMPILE := -trimpath -buildvcs=false
export CGO_ENABLED := 0
# A go.work above the checkout, or -mod of the user's own, would choose other modules than go.mod does.
export GOWORK := off
export GOFLAGS := $(filter-out $(COMPILE) -mod=%,$(shell go env GOFLAGS)) $(COMPILE)

.PHONY: help generate verify lint test flakes race fuzz day chart sim sim-all sim-mutants sim-branches faults bench attack bench-inplace crashes cluster cluster-down demo e2e e2e-smoke e2e-drawn e2e-schedulers e2e-integrations e2e-metrics test-python test-goodput peers manager kubectl-gj image image-archive manifests test-versions sbom vulncheck loc prepare-release test-release release publish deploy undeploy

help: ## Print this list
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/\1\t\2/p' Makefile | expand -t 16

generate: ## Make deepcopy functions, CRDs and the API reference from apis/, and the drawing
	go tool controller-gen object crd:generateEmbeddedObjectMeta=true paths=./apis/batch/... output:crd:dir=deploy/crd
	go tool controller-gen object crd:generateEmbeddedObjectMeta=true paths=./apis/kubeflow/... output:crd:dir=deploy/kubeflow/crd
	go run ./deploy/crd/trim deploy/crd/*_*.yaml deploy/kubeflow/crd/*_*.yaml
	go run ./deploy/kubeflow/olderversion deploy/kubeflow/crd/*_{tfjobs,pytorchjobs,mpijobs}.yaml
	go run ./apis/reference deploy/crd/*_*.yaml deploy/kubeflow/crd/*_*.yaml > apis/README.md
	go -C .ci/tools run ./drawing < translators/pods.txt > translators/pods.svg
	go -C e2e/extension generate ./...
	cp e2e/extension/deploy/frameworks.example.com_jaxjobs.yaml deploy/frameworks/jax/crd.yaml

verify: ## Prove that generated files, formatting and go.mod are current
	.ci/verify

lint: ## Run the linters of .golangci.yaml on every module with code
	.ci/golangci-lint run ./...
	cd e2e/localcluster && ../../.ci/golangci-lint run --config ../../.golangci.yaml ./...
	cd e2e/extension && ../../.ci/golangci-lint run --config ../../.golangci.yaml ./...
	cd .ci/tools && ../golangci-lint run --config ../../.golangci.yaml ./...
	cd e2e/gitops && ../../.ci/golangci-lint run --config ../../.golangci.yaml ./...
	cd e2e/integrations && ../../.ci/golangci-lint run --config ../../.golangci.yaml ./...
	cd e2e/documents && ../../.ci/golangci-lint run --config ../../.golangci.yaml ./...
	cd cmd/kubectl-gj && ../../.ci/golangci-lint run --config ../../.golangci.yaml ./...

test: ## Run all tests, and say how far it is; builds etcd and kube-apiserver first, unless KUBEBUILDER_ASSETS is set
	@echo 'All tests but the end-to-end suite, with an etcd and a kube-apiserver that are built before: about 20 minutes on 2 cores, later 14.'
	go -C .ci/tools run ./gotest

flakes: ## Run all tests RUNS times beside busy loops, in an order drawn from SEED; PACKAGES, a regular expression, narrows it
	go -C .ci/tools run ./gotest -flakes -runs $(RUNS) -seed $(SEED) -packages '$(value PACKAGES)'

race: ## Run the tests of kernel, controllers, wrapper and plugin with the race detector, which needs gcc; builds etcd and kube-apiserver first
	assets=$${KUBEBUILDER_ASSETS:-$$($(LOCALCLUSTER) assets)} && export KUBEBUILDER_ASSETS=$$assets CGO_ENABLED=1 && \
	go test -race -count=1 -timeout 120m ./kernel/... ./controllers/... ./cmd/wrapper/... && go -C cmd/kubectl-gj test -race -count=1 -timeout 60m ./...

fuzz: ## Fuzz each target for FUZZTIME=1m
	.ci/fuzz $(FUZZTIME)

day: ## Do what a person does in a day, on the local cluster: demo, tests, twice at once, and in a folder whose path has a space
	e2e/day

chart: ## Lint the Helm chart, prove that it is what kustomize makes, and try it on an apiserver; builds helm first
	assets=$${KUBEBUILDER_ASSETS:-$$($(LOCALCLUSTER) assets)} && helm=$$($(LOCALCLUSTER) path helm) && \
	KUBEBUILDER_ASSETS=$$assets HELM=$$helm go test -count=1 -timeout 60m ./deploy/helm/...

sim: ## Run the simulator over SEEDS schedules
	go test ./e2e/simulator -run 'TestSimulator$$' -v -count=1 -timeout 0 -seeds=$(SEEDS)

sim-all: ## Live all lives of small jobs that differ from a healthy one in at most K=2 things; it goes on where it was stopped; MINIATURES narrows it
	go test ./e2e/simulator -run 'TestEverySchedule$$' -v -count=1 -timeout 0 -k=$(K) -miniatures='$(MINIATURES)' -keep='$(CURDIR)/dist/sim-all'

sim-mutants: ## Break the operator on purpose, in one place for each mutant: the simulator must find each; UPDATE=-update writes the table of e2e/simulator/mutants/README.md
	go run ./e2e/simulator/mutants $(UPDATE)

sim-branches: ## List the branches that no simulated life takes in e2e/simulator/BRANCHES.md; BRANCHES='-seeds 4000 -apiserver' needs KUBEBUILDER_ASSETS
	go run ./e2e/simulator/branches $(BRANCHES)

faults: ## Run 200 jobs while the apiserver misbehaves and operators are killed; builds etcd and kube-apiserver first
	assets=$${KUBEBUILDER_ASSETS:-$$($(LOCALCLUSTER) assets)} && KUBEBUILDER_ASSETS=$$assets go test ./e2e/faults -run TestFaults -count=1 -v -timeout 90m -jobs=200 -duration=3m

bench: ## Measure the operator against what the apiserver allows; BENCH='-long -count 5' for all of it
	assets=$${KUBEBUILDER_ASSETS:-$$($(LOCALCLUSTER) assets)} && KUBEBUILDER_ASSETS=$$assets go run ./e2e/bench $(value BENCH)

attack: ## Measure what attacks cost the operator's memory, which has a limit, and how long others wait; on loopback alone
	$(MAKE) bench BENCH="-run '^weight-' -plan=false -out dist/attack.json $(value BENCH)"

cluster: ## Start a Kubernetes cluster on this machine (Linux, root)
	$(LOCALCLUSTER) up $(UP)

cluster-down: ## Stop it and remove what it made
	$(LOCALCLUSTER) down

demo: ## Install the operator on the local cluster and watch it run a job, with a crash in the middle
	@echo 'The demo starts a Kubernetes of its own on this machine, and runs three training jobs on it. The first run takes about 20 minutes:'
	@echo 'it downloads Go modules, then compiles the demo, which says nothing, then Kubernetes, and makes images of TensorFlow and PyTorch.'
	@e2e/demo/run /run/genericjob-demo.lock

e2e: ## Run the end-to-end suite on the local cluster, and compare what its pods looked like with the simulator's
	GENERICJOB_E2E=1 e2e/on-local-cluster e2e/watching-pods dist/pods-seen.json go -C e2e/suite test -count=1 -parallel 8 -timeout 180m ./...
	go test ./e2e/simulator -run TestPodsLookAsThoseOfARealKubelet -count=1 -timeout 60m -v -seen=$(CURDIR)/dist/pods-seen.json
	$(MAKE) faults chart e2e-metrics test-python test-goodput

e2e-metrics: ## Test metrics, alerts and dashboard with a real Prometheus and kube-state-metrics, which are built first; UPDATE=-update draws the dashboard
	assets=$${KUBEBUILDER_ASSETS:-$$($(LOCALCLUSTER) assets)} && prometheus=$$($(LOCALCLUSTER) path prometheus) && promtool=$$($(LOCALCLUSTER) path promtool) && \
	state=$$($(LOCALCLUSTER) path kube-state-metrics) && \
	KUBEBUILDER_ASSETS=$$assets PROMETHEUS=$$prometheus PROMTOOL=$$promtool KUBE_STATE_METRICS=$$state go test ./e2e/metrics -count=1 -timeout 60m -v $(UPDATE)

test-python: ## Test the Python package against an apiserver with the operator; what the tests need comes from PyPI
	assets=$${KUBEBUILDER_ASSETS:-$$($(LOCALCLUSTER) assets)} && python=$$(e2e/python/venv) && \
	KUBEBUILDER_ASSETS=$$assets PYTHON=$$python go test ./e2e/python -count=1 -timeout 60m -v

test-goodput: ## Compare status.time with ml-goodput-measurement's account of the same job, which comes from PyPI; UPDATE=-update writes the table
	python=$$(e2e/python/venv e2e/goodput/requirements.txt) && PYTHON=$$python go test ./e2e/goodput -count=1 -timeout 60m -v $(UPDATE)

e2e-smoke: ## Run one job from create to success, and one that restarts in place, on the local cluster
	GENERICJOB_E2E=1 e2e/on-local-cluster go -C e2e/suite test -count=1 -timeout 60m -run TestSmoke ./...

e2e-drawn: ## Run COUNT=20 jobs that are drawn from SEED on the local cluster, and have an oracle judge what becomes of each
	GENERICJOB_E2E=1 e2e/on-local-cluster go -C e2e/suite test -count=1 -v -parallel 4 -timeout 600m -run "TestDrawn" . -drawn $(COUNT) -drawn-seed $(SEED)

e2e-schedulers: ## Run jobs under real gang schedulers and Kueue on the local cluster; builds these first
	$(LOCALCLUSTER) path volcano-scheduler
	$(LOCALCLUSTER) path coscheduling-scheduler
	$(LOCALCLUSTER) path kueue
	GENERICJOB_E2E=1 UP=-gang e2e/on-local-cluster go -C e2e/suite test -count=1 -v -timeout 90m -run "TestGangSchedulers|TestKueue" . -schedulers

e2e-integrations: ## Run workflows of Argo's with jobs as steps on the local cluster; builds Argo Workflows first
	$(LOCALCLUSTER) path workflow-controller
	GENERICJOB_E2E=1 e2e/on-local-cluster go -C e2e/suite test -count=1 -v -timeout 60m -run "TestArgo" . -integrations

bench-inplace: ## Measure restarts in place against new pods and JobSet on the local cluster; AGAINST=5 times each; prints a table
	$(LOCALCLUSTER) path jobset
	GENERICJOB_E2E=1 e2e/on-local-cluster go -C e2e/suite test -count=1 -timeout 120m -run "TestInPlaceAgainstOthers" . -v -against $(AGAINST)

crashes: ## End one rank of real PyTorch jobs in each way, on the local cluster, and judge what is said of it; AGAINST=5 times each; prints a table
	GENERICJOB_E2E=1 e2e/on-local-cluster go -C e2e/suite test -count=1 -parallel 3 -timeout 600m -run "TestCrashes" . -crashes $(AGAINST)

peers: ## Prove that e2e/peers/pods is what Kubeflow's operators make of e2e/peers/manifests; UPDATE=-update writes it
	e2e/peers/run $(UPDATE)

manager: ## Build the operator's static binary into dist/
	GOOS=linux GOARCH=$(ARCH) go build -ldflags "-s -w -X $(MODULE)/cmd/manager/operator.linkedVersion=$(VERSION) -X $(MODULE)/cmd/manager/operator.linkedCommit=$(COMMIT)" -o "$(MANAGER)" ./cmd/manager
	GOOS=linux GOARCH=$(ARCH) go build -ldflags "-s -w" -o "$(MANAGER)-wrapper" ./cmd/wrapper

kubectl-gj: ## Build the kubectl plugin into dist/
	go -C cmd/kubectl-gj build -ldflags "-s -w" -o "$(CURDIR)/dist/kubectl-gj" .

image: manager ## Build the operator's image into dist/, without a container engine
	@$(MAKE) --silent image-archive

image-archive:
	@# Not make's own abspath, which takes a path with a space for two.
	$(LOCALCLUSTER) image -ref $(IMG) -out "$$(realpath -m "$(ARCHIVE)")" -entrypoint /manager -user 65532:65532 -beside=-wrapper:/wrapper $(foreach binary,$(BINARIES),"$$(realpath -m "$(binary)")")

test-versions: ## Run the operator's tests that need an apiserver with one of each of VERSIONS, which are built first
	e2e/test-versions $(VERSIONS)

sbom: manager ## List what the operator was built from, as a CycloneDX document in dist/
	go -C .ci/tools run ./sbom -version $(VERSION) "$$(realpath -m "$(MANAGER)")" > dist/manager.cdx.json

loc: ## Count lines of code, without blanks and comments; REV=commit counts that, AGAINST_REV=commit tells the difference to another
	go -C .ci/tools run ./loc -rev '$(value REV)' -against '$(value AGAINST_REV)'

vulncheck: ## Fail if the operator calls code with a known vulnerability; GOVULNDB names another database than vuln.go.dev
	.ci/vulncheck

manifests:
	@$(KUBECTL) kustomize deploy/default | sed -E 's|^( *image:) [^ ]+$$|\1 $(IMG)|'

prepare-release: ## Write VERSION and its date into CHANGELOG.md, and keep its stored jobs for tests of upgrades
	.ci/prepare-release $(VERSION)

test-release: ## Prove that a release is the same twice, for two architectures, and is published as it was made; builds helm first
	go -C .ci/tools test -count=1 -timeout 120m -v -run TestAReleaseIsTheSameTwice . -release

release: ## Make everything of release VERSION for REGISTRY into dist/release: image, chart, manifests, SBOM, checksums
	.ci/release $(VERSION) $(REGISTRY)

publish: ## Push the image and the chart of dist/release
	.ci/publish $(VERSION) $(REGISTRY)

deploy: ## Install the operator, as image IMG, on the cluster of the current kubeconfig
	$(KUBECTL) kustomize deploy/default | sed -E 's|^( *image:) [^ ]+$$|\1 $(IMG)|' | $(KUBECTL) apply -f -
	$(KUBECTL) rollout status -n genericjob-system deployment/genericjob-manager --timeout=3m

undeploy: ## Delete ALL JOBS, then the operator and its kinds
	deploy/undeploy.sh
