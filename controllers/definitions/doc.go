// Package definitions reconciles TrainingFrameworks. It says what is wrong with each, and has the kinds of the others served by package
// training.
//
//	stage                                               conditions that it sets, and their reasons
//	judge
//	  conflict     does another serve the kind?         Accepted=False   KindConflict
//	  lookUpKind   reads the CRD of the kind            Accepted=Unknown KindMissing, unless the definition brings its schema
//	  check        looks for mistakes                   Accepted=False   InvalidDefinition
//	  makeKind     creates or patches the CRD           Accepted=False   KindConflict, InvalidDefinition, RightsMissing
//	  accept       keeps the definition as a revision   Accepted=False   TooManyRevisions
//	                                                    Accepted=True    Accepted
//	writeStatus    stores a new revision                Reconciling      Accepted
//	serve          what judge found is in the way       Serving=False    KindConflict, KindMissing, RightsMissing, NotAccepted
//	  lacks        asks for the rights on the kind      Serving=False    RightsMissing
//	  ensureServed starts a cache and a controller      Serving=False    InvalidDefinition, if this operator takes no longer what was accepted
//	                                                    Serving=Unknown  Serving, until the cache is filled; after a minute it says what it waits for
//	                                                    Serving=True     Serving
//	setReady       follows from these two               Ready, Reconciling or Stalled, with the reason of one of them
//	showChanges    writes the status, and an event of an edit that is refused
//
// Who wakes what:
//
//	the definition, others of its kind, CRDs of its group   Reconciler (setup.go)
//	time                                                    Reconciler: no event tells of rights, of jobs that end, or of a filled cache (orSooner)
//	a job, its GenericJob, a ConfigMap that it owns         training.Reconciler (kinds.go)
//	a kind that is served no more, and each 30 seconds      unserved, which tells the jobs that nobody serves
//
// Begin with reconcile.go: the steps from a definition to a served kind. Then read judge.go and crd.go: what is found of a definition. Last comes
// kinds.go, which starts and stops a cache and a controller for each kind, and filling.go, for a cache that is not filled.
package definitions
