// Package pytorch compiles PyTorchTrainingJobs.
//
// Without torchrun each replica is one process. It gets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE, with which PyTorch initializes by env://
// (https://pytorch.org/docs/stable/distributed.html). With torchrun the command of the training container becomes torchrun. torchrun's agents meet at
// replica 0 of the first type, or at a store, which is a replica of its own.
//
// Replica 0 of the first type is the master: the job succeeds when it does. An elastic job fails when its master has failed for good, any other job
// when any replica has. A restart replaces all replicas; where torchrun's agents can meet again, only the replica that ended.
package pytorch
