package spec

import (
	"fmt"
	"strings"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
)

// ProgressLine is a regular expression for lines of output that tell progress, by groups named step and loss.
type ProgressLine struct {
	Pattern string
	// Last reports that the highest rank prints these lines, and not the lowest.
	Last bool
}

// loss is a number as Python and C print it, "nan" and "inf" among them.
const loss = `(?P<loss>[-+.\w]+)`

// presets are the lines of known programs, each with a source. Colours are taken out of a line before it is matched.
var presets = map[v1beta1.ProgressPreset]ProgressLine{
	// github.com/deepspeedai/DeepSpeed/issues/1825. It prints no loss.
	v1beta1.PresetDeepSpeed: {Pattern: `\[Rank 0\] step=(?P<step>\d+), skipped=`},
	// github.com/tensorflow/tensorflow/issues/43014
	v1beta1.PresetEstimator: {Pattern: `loss = ` + loss + `, step = (?P<step>\d+)`},
	// github.com/keras-team/keras/pull/8169 and Keras 3. A line has the epoch, or the batch with the loss.
	v1beta1.PresetKeras: {Pattern: `^\W*Epoch (?P<step>\d+)/\d+|(?:^|\D)\d+/(?:\d+|Unknown)\s.*? - loss: ` + loss},
	// github.com/Lightning-AI/pytorch-lightning/issues/3866 and 4225
	v1beta1.PresetLightning: {Pattern: `Epoch (?P<step>\d+): .*?(?:[ ,\[](?:train_)?loss(?:_step)?=` + loss + `|$)`},
	// github.com/AI-Hypercomputer/maxtext/pull/761 and 2232
	v1beta1.PresetMaxText: {Pattern: `completed step: (?P<step>\d+), .*?loss: ` + loss},
	// github.com/epfLLM/Megatron-LLM/issues/11. Megatron-LM prints on the last rank, which has the last stage of the pipeline.
	v1beta1.PresetMegatron: {Pattern: `iteration\s+(?P<step>\d+)/\s*\d+ \|(?:.*? loss: ` + loss + `)?`, Last: true},
	// github.com/NVIDIA-NeMo/Speech/pull/10128
	v1beta1.PresetNeMo: {Pattern: `Training epoch \d+, iteration \d+/\d+ .*?global_step: (?P<step>\d+)(?:.*?reduced_train_loss: ` + loss + `)?`},
	// github.com/pytorch/torchtitan/pull/2389
	v1beta1.PresetTorchTitan: {Pattern: `step:\s*(?P<step>[\d,]+)\s+loss:\s*` + loss},
}

// Progress returns how the code of a job tells its progress; nil if it does not.
func Progress(s *v1beta1.GenericJobSpec) *ProgressLine {
	switch p, h := s.Progress, s.Heartbeat; {
	case p != nil && p.Stdout != "":
		return &ProgressLine{Pattern: p.Stdout}
	case p != nil:
		if line, ok := presets[p.Preset]; ok {
			return &line
		}
		return nil // a preset of a later version
	case h != nil && (strings.Contains(h.Stdout, "<step>") || strings.Contains(h.Stdout, "<loss>")):
		return &ProgressLine{Pattern: h.Stdout}
	default:
		return nil
	}
}

// WhyNoProgress says which replicas' progress nobody reads, though the job asks for it. It says why, and what to do about it.
func WhyNoProgress(s *v1beta1.GenericJobSpec, noWrapper bool) []string {
	switch {
	case s.Progress == nil:
		return nil
	case Progress(s) == nil:
		return []string{fmt.Sprintf("this version of the operator does not know preset %q: set stdout instead", s.Progress.Preset)}
	case noWrapper:
		return []string{"nobody reads it: " + withoutWrapper}
	default:
		return lacking(s, "nobody reads it in the output of type %s: %s", WhyNoWrapper)
	}
}
