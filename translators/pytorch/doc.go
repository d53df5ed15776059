// Package pytorch compiles PyTorchTrainingJobs.
//
// Without torchrun each replica is one process, which gets MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE: PyTorch's env://
// way to meet (https://pytorch.org/docs/stable/distributed.html). With torchrun the training container's command becomes
// torchrun, and torchrun's agents meet at replica 0 of the first type, or at a store of their own. That replica is the master in both
// cases: its success is the job's. In an elastic job its final failure is the job's, too; else that of any replica is. A restart replaces
// all replicas, or the one that ended where torchrun's agents can meet again.
package pytorch
