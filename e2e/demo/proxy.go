package main

import (
	"cmp"
	"fmt"
	"os"
)

// direct are the addresses of the local cluster, its pods and its Services, and those of this machine.
const direct = "10.88.0.0/16,10.96.0.0/16,127.0.0.0/8,::1,localhost"

// avoidProxies keeps a proxy of the user's from the cluster's addresses, for the demo and for all that it starts. Programs read
// one of two names, or both.
func avoidProxies() error {
	upper, lower := os.Getenv("NO_PROXY"), os.Getenv("no_proxy")
	for name, own := range map[string]string{"NO_PROXY": cmp.Or(upper, lower), "no_proxy": cmp.Or(lower, upper)} {
		if own != "" {
			own += ","
		}
		if err := os.Setenv(name, own+direct); err != nil {
			return fmt.Errorf("set %s: %w", name, err)
		}
	}
	return nil
}
