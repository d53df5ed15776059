package main

// mostItems bounds lists of Kubernetes' own types whose entries take far more memory than bytes of JSON. {} is a toleration of 72 bytes,
// or a container of 408. An object of 1.5 MB that is made of them would be tens of megabytes to whoever reads it. Each bound is far above
// what a pod can use.
var mostItems = map[string]int{
	"containers": maxContainers, "initContainers": maxContainers, "ephemeralContainers": maxContainers, "volumes": 256, "tolerations": 256,
	"sources": 32, "envFrom": 64, "nodeSelectorTerms": 64, "options": 64,
}

// maxContainers is far above what a pod can use. The kubelet's and the apiserver's own limit is the size of the object.
const maxContainers = 64

// mostQuantities bounds the resources that one list of limits, requests or overhead names.
const mostQuantities = 16

// boundLists adds these bounds where there are none.
func boundLists(node any) {
	switch n := node.(type) {
	case map[string]any:
		if values, isMap := n["additionalProperties"].(map[string]any); isMap && values["pattern"] == quantity {
			atMost(n, "maxProperties", mostQuantities)
		}
		properties, _ := n["properties"].(map[string]any)
		for name, most := range mostItems {
			if list, is := properties[name].(map[string]any); is && list["type"] == "array" {
				atMost(list, "maxItems", most)
			}
		}
		for _, child := range n {
			boundLists(child)
		}
	case []any:
		for _, child := range n {
			boundLists(child)
		}
	}
}

func atMost(schema map[string]any, bound string, most int) {
	if _, has := schema[bound]; !has {
		schema[bound] = most
	}
}
