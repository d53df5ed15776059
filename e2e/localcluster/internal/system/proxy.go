package system

import "strings"

// direct are the addresses of the cluster, its pods and its Services, and those of this machine.
const direct = "10.88.0.0/16,10.96.0.0/16,127.0.0.0/8,::1,localhost"

// Direct returns the environment with the cluster's addresses among those to which no proxy leads. Programs read one of two
// names, or both.
func Direct(environment []string) []string {
	values := map[string]string{}
	for _, entry := range environment {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	for name, other := range map[string]string{"NO_PROXY": "no_proxy", "no_proxy": "NO_PROXY"} {
		own := values[name]
		if own == "" {
			own = values[other]
		}
		environment = append(environment, name+"="+strings.TrimPrefix(own+","+direct, ","))
	}
	return environment
}
