package v1beta1_test

import (
	"testing"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

func TestAvoidNodes(t *testing.T) {
	avoid := func(a v1beta1.AvoidNodes) edit {
		return spec(func(s *v1beta1.GenericJobSpec) { s.AvoidNodes = &a })
	}
	after := func(n int32) edit { return avoid(v1beta1.AvoidNodes{After: &n}) }
	most := func(n int32) edit { return avoid(v1beta1.AvoidNodes{AtMost: &n}) }
	within := func(text v1beta1.AvoidTime) edit { return avoid(v1beta1.AvoidNodes{Within: text}) }
	const field = "spec.avoidNodes"
	tryRules(t, job, map[string]ruleCase{
		"all has defaults":             {avoid(v1beta1.AvoidNodes{}), after(0), atLeast(field+".after", 1)},
		"failures are remembered":      {after(10), after(11), atMost(field+".after", 10)},
		"no node may be avoided":       {most(0), most(-1), atLeast(field+".atMost", 0)},
		"few nodes are avoided":        {most(16), most(17), atMost(field+".atMost", 16)},
		"a time has units":             {within("24h"), within("24"), []string{field + ".within", "24"}},
		"a time has units of Go's":     {within("1h30m"), within("1d"), []string{field + ".within", "1d"}},
		"a time is not too short":      {within("1m"), within("59s"), []string{field + ".within", "want a time from 1m to 8760h, as in 24h or 1h30m"}},
		"a time is not too long":       {within("8760h"), within("8760h1s"), []string{field + ".within", "want a time from 1m to 8760h"}},
		"a time is not negative":       {within("90s"), within("-1h"), []string{field + ".within", "-1h"}},
		"a time is not without number": {within("60m"), within("hm"), []string{field + ".within"}},
	})
	tryFree(t, job, map[string]edit{"avoidNodes": after(3)})
}
