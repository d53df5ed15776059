// Package simulator lives the lives of jobs in a simulated cluster, to find the schedule that breaks the operator. What runs is real: kernel.Plan,
// the translators and the reconcilers of controllers/jobs and controllers/training. What is simulated is the world around them.
//
//   - an API with resourceVersions, finalizers, graceful deletion and garbage collection
//   - informer caches that lag behind it, each kind on its own
//   - calls that fail, that succeed and lose their answer, or that are carried out when their client has given up
//   - operators that crash between two calls and come back with stale lists, and two that both believe to lead
//   - policies and webhooks that refuse creates, patches or deletes, for a while or for good
//   - nodes that are lost, drained and evicted; users who pause, scale, delete, re-create and strip finalizers; clocks that jump
//
// All that happens in a life is drawn from one Tape of bytes. So a life can be repeated, fuzzed, and shrunk to the few events that matter. A life of
// a Miniature is not drawn: it is the healthy life but for a list of deviations. An Exploration lives all that have a few. While a life goes on, a
// record (truth) is kept of what really happened. The invariants compare what the operator does with it. Each is named after the failure in the field
// that it stands for.
//
// Two differential tests compare it with real ones. The API must answer as a real apiserver does to the same calls. The kubelet's pods must look as
// those of a real kubelet have, one look after another (Looks).
//
// # Begin with
//
// Read four files first:
//
//	life.go      a life from its beginning to its end
//	tape.go      how all of it is drawn
//	operator.go  an operator with its caches
//	truth.go     what really happened
//
// Then sick.go shows a whole fault: state, draw and invariants in one file.
//
// # Where things are
//
//	The API           api.go, deletion.go (with garbage collection), patches.go, client.go and calls.go (what becomes of a call),
//	                  versions.go (of apiservers), policy.go (policies and webhooks), reread.go (what JSON does to a value)
//	Nodes, kubelets   nodes.go (pods in trouble and in calm), losses.go, evictions.go, ends.go, states.go and oddends.go (what is seldom),
//	                  sidecars.go, starts.go (Ready), sick.go, avoided.go
//	In place          inplace.go (wrappers and orders), held.go, reports.go, sandboxes.go
//	Operators         operator.go, thread.go, events.go
//	Users, others     users.go, owned.go, prebuilt.go, kept.go, kueue.go, gangs.go, frameworks.go, defined.go
//	A life            life.go, calm.go, story.go
//	What is drawn     tape.go, draws.go
//	What is checked   truth.go, invariants.go (at each write), rest.go (at rest), counts.go (metrics), and by subject: counted.go, elsewhere.go,
//	                  finals.go, firsts.go, histories.go, lives.go, progress.go, ready.go, recoveries.go, rules.go, served.go, times.go
//	Looks of pods     looks.go
//	Every schedule    miniatures.go, feature_miniatures.go, healthy.go, schedule.go, explore.go
//	A bad life        shrink.go
//
// # Words
//
// CONTRIBUTING.md has the words of the whole project. These are the package's own:
//
//	alone, injected   what runs in pods beside the code: nothing, or a container that admission has added
//	late              of a create: it was carried out when somebody else had gone ahead
//	calm              the second part of a life, without trouble: everything must come to rest
//	doubt             of a replica: an end of its code that may count, or not, for nobody can tell what was first
//	edition           of a definition: an admin edits it, and new jobs are compiled by the next
//	flap              of a node: it is lost, and soon answers again
//	gate              the apiservers' feature gate for scheduling groups
//	meddle            what users do to a job that they should leave alone
//	mute              of a wrapper: its container has ended while it waited for an order
//	nap               rest in the modes that users have left, in which no code ends of its own accord
//	quiet             of steps: nothing is written in them
//	raced             of a pod: its create was under way when its job was deleted
//	rare              of a life: its pods have states and ends that a kubelet shows seldom
//	settling          of a pod: its containers have ended, and its kubelet tells the phase later
//	shift             the steps for which code runs in a healthy pod
//	spare             what the last draw has left of its byte, drawn from as well
//	stand             which of Ready, Reconciling and Stalled holds
//	stray             of a GenericJob: somebody has edited it in place of the training job that owns it
//	stride            in which of three ways code gets on from attempt to attempt: each time, every second time, never
//	strip             to take all finalizers off a pod
//	trail             all changes of the objects of a kind, which caches see one after another
//	trouble           the first part of a life, in which all that is drawn happens
//	truth             what really happened, beside what the operator believes
//	unsettled         of a record: modes were switched or replicas scaled, so some counts are not certain
//
// # To add a fault
//
//   - A state: a field of Life, in the group of what it befalls (life.go), or of api, where it is the API's.
//   - A draw: what is drawn once is set in Live, what happens now and then is done in step, or in podTrouble. Draw by spare or spareOf if you can: any
//     other draw changes the lives of all seeds.
//   - Its end: calmDown (calm.go) heals what would keep a job from coming to rest.
//   - An invariant: a method of truth that calls violated with the name of the failure. Those of invariants.go call it, at each write.
//   - A mutant in mutants/list.go or mutants/features.go: a change of production code that only this invariant finds.
//   - A miniature in miniatures.go, if few deviations from the healthy life reach the fault.
//
// Tests alone import this package.
package simulator
