// Package pytorch compiles PyTorchTrainingJobs.
//
// Without torchrun each replica is one process. It gets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, with which PyTorch initializes by env://
// (https://pytorch.org/docs/stable/distributed.html). With torchrun the command of the training container becomes torchrun. Each pod then has an
// agent of torchrun's, which starts the processes. The agents meet in one of three ways, which rendezvous.go chooses:
//
//	job                                              | agents meet at      | who gives ranks     | a restart replaces
//	a fixed size, without maxRestarts                | replica 0, static   | the operator        | all replicas
//	elastic, or with maxRestarts, or on host network | a store of its own  | torchrun            | one replica; on host network alone all
//	a backend or an endpoint of the user's           | what the user says  | torchrun            | as above
//
// With restartScope Replica a job of the first row meets at replica 0 by c10d. Then torchrun gives the ranks: given ranks are for restarts of all.
//
// The store is a replica of the type rendezvous (store.go). In its job the program agent.py starts torchrun, so that any pod may be lost.
//
// Replica 0 of the first type is the master: the job succeeds when it does. An elastic job fails when its master has failed for good, any other job
// when any replica has. A restart replaces all replicas; where torchrun's agents can meet again, only the replica that ended.
//
// The files, in the order of Compile:
//
//	compile.go                     Compile, what ends the job, the Service
//	elastic.go                     how many replicas each type has
//	environment.go                 variables of the containers that train
//	torchrun.go, conf.go           the command, and the value of --rdzv_conf
//	extraoptions.go                what the user gives torchrun
//	rendezvous.go, store.go        how agents meet, and the store
//	translator.go                  the status, and what the scale subresource shows
package pytorch
