// Package translators lists the frameworks that the operator serves. The folders beside it compile training jobs of their kinds to GenericJobs. All
// of them are pure: they have no client, no clock and no logger.
//
// # What happens to a training job
//
// A user creates a PyTorchTrainingJob of the name train, with two replicas of the type node:
//
//  1. The reconciler in controllers/training sees it. It serves the kinds of the list in all.go, and knows nothing of PyTorch itself.
//  2. It calls Compile of the kind's Translator (pytorch/compile.go), with the training job alone. Out comes a framework.Program: the spec of a
//     GenericJob, warnings, and what else the job needs, such as the files of a ConfigMap.
//  3. The reconciler writes what the program asks for: the ConfigMap first, then the GenericJob train, which the training job owns. A TensorBoard and
//     an autoscaler stand beside it.
//  4. The reconciler of GenericJobs runs the GenericJob as any other. It creates the pods train-node-0 and train-node-1.
//  5. Whenever the status of the GenericJob changes, the reconciler of step 1 calls Mirror. That writes it into the training job's status, in the words
//     of its kind. When Phase says that the training job is over, nothing is created for it any more.
//
// After an edit of the training job steps 2 and 3 come again. So Compile must make the same of the same spec each time: other bytes are another spec,
// which would have to wait for a pause.
//
// # The folders
//
//	framework       what a translator is (translator.go), what it returns (program.go), and functions that all share
//	tensorflow      TensorFlowTrainingJobs; the smallest one, to be read first
//	pytorch         PyTorchTrainingJobs, with torchrun and elastic jobs
//	kubeflow        the kinds of Kubeflow's operators, with their words and defaults
//	definition      translators that are made of YAML while the operator runs
//	tensorboard     what the TensorBoard of a job is made of: no translator, but as pure
//	translatortest  tests a translator with files, and with jobs that are damaged
//
// # A smallest translator
//
// ExampleTranslator (framework/example_test.go) compiles a kind whose replicas are all alike, and need to know their rank. It is code that runs.
// Goldens come next: a job in testdata/<case>.yaml, and `go test -update` for testdata/<case>.golden.yaml (translatortest/doc.go). What else a
// framework in this repository needs stands in CONTRIBUTING.md, "Where things go".
package translators
