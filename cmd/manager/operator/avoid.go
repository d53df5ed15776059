package operator

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/controllers/badnodes"
)

// setNodeConditions reads the flag --avoid-node-conditions.
func (c *config) setNodeConditions(text string) (err error) {
	c.options.BadNodes.Conditions, err = badnodes.ParseConditions(text)
	return err
}

// setAvoidNodes reads the flag --avoid-nodes. It takes what the CRD takes in a job.
func (c *config) setAvoidNodes(text string) error {
	a := &v1beta1.AvoidNodes{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(part, "=")
		var err error
		switch name {
		case "after":
			a.After, err = countIn(value, 1, 10)
		case "atMost":
			a.AtMost, err = countIn(value, 1, 16)
		case "within":
			a.Within = v1beta1.AvoidTime(value)
			if d, wrong := time.ParseDuration(value); wrong != nil || d < time.Minute || d > 8760*time.Hour {
				err = fmt.Errorf("want a time from 1m to 8760h, as in 24h or 1h30m")
			}
		default:
			err = fmt.Errorf("want after, within or atMost, as in after=2,within=24h,atMost=1")
		}
		if err != nil {
			return fmt.Errorf("%q: %w", part, err)
		}
	}
	c.options.Settings.AvoidNodes = a
	return nil
}

// countIn reads a whole number within bounds.
func countIn(text string, least, most int32) (*int32, error) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || int32(n) < least || int32(n) > most {
		return nil, fmt.Errorf("want a whole number from %d to %d", least, most)
	}
	return new(int32(n)), nil
}
