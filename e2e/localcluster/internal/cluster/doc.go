// Package cluster runs a Kubernetes of one node, and of more where they are added, as plain processes.
//
// Every component is a process of this machine that listens on the node's
// address, which is that of the pods' bridge, or on loopback. Pods reach
// Services through kube-proxy (nftables), as on any cluster.
//
// # What always holds
//
// All that the cluster writes lies below State and Run or bears the name
// genericjob, so that Down finds it after a crash too. Up and Down may be
// repeated at any time and only do what is still to do.
package cluster
