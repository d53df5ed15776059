package translators

import (
	"github.com/genericjob/genericjob/translators/framework"
	"github.com/genericjob/genericjob/translators/pytorch"
	"github.com/genericjob/genericjob/translators/tensorflow"
)

// All returns the translators of the stock operator, one line for each framework.
func All() []framework.Registration {
	return []framework.Registration{
		framework.Register(tensorflow.Translator),
		framework.Register(pytorch.Translator),
	}
}
