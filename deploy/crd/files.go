// Package crd has the operator's own CRDs as they are installed.
package crd

import _ "embed" // for the file

//go:embed batch.tensorstack.dev_tensorflowtrainingjobs.yaml
var tensorFlowTrainingJobs string

// TensorFlowTrainingJobs is the CRD of that kind, in YAML. It has every type that jobs of all frameworks share.
func TensorFlowTrainingJobs() []byte { return []byte(tensorFlowTrainingJobs) }

//go:embed batch.tensorstack.dev_genericjobs.yaml
var genericJobs string

// GenericJobs is the CRD of GenericJobs, in YAML.
func GenericJobs() []byte { return []byte(genericJobs) }
