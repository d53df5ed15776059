package run

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/batch/v1beta1"
	"github.com/genericjob/genericjob/kernel/spec"
)

// told is what signs know after lines of output: step, then loss.
func told(t *testing.T, f *v1beta1.ProgressFormat, lines ...string) [2]string {
	line := spec.Progress(&v1beta1.GenericJobSpec{Progress: f})
	require.NotNil(t, line, "%v", f)
	s, h := &signs{}, &heartbeat{progress: regexp.MustCompile(line.Pattern)}
	for _, text := range lines {
		s.read([]byte(text), h)
	}
	require.Zero(t, s.count(), "a line that tells progress is no sign of life, unless it is the heartbeat's")
	step, loss := s.progress()
	return [2]string{step, loss}
}

// The lines have the form of real ones; kernel/spec/progress.go has the sources.
func TestPresetsReadTheLinesOfTheirPrograms(t *testing.T) {
	const bar = "━━━━━━━━━━━━━━━━━━━━"
	for preset, tc := range map[v1beta1.ProgressPreset]struct {
		lines []string
		want  [2]string
		other string // a line that tells nothing
	}{
		v1beta1.PresetDeepSpeed: {
			[]string{"[2026-03-11 02:06:58,985] [INFO] [logging.py:69:log_dist] [Rank 0] step=40, skipped=2, lr=[5e-05], mom=[[0.9, 0.999]]"},
			[2]string{"40", ""}, "[2026-03-11 02:06:58,985] [INFO] [timer.py:189:stop] 0/40, SamplesPerSec=83.4, MemAllocated=0.26GB",
		},
		v1beta1.PresetEstimator: {
			[]string{"INFO:tensorflow:loss = 4.264, step = 100 (124.394 sec)"},
			[2]string{"100", "4.264"}, "INFO:tensorflow:global_step/sec: 0.8038",
		},
		v1beta1.PresetKeras: {
			[]string{"Epoch 3/12", "\x1b[1m 94/100\x1b[0m \x1b[32m" + bar + "\x1b[0m\x1b[37m\x1b[0m \x1b[1m5s\x1b[0m 50ms/step - accuracy: 0.9106 - loss: 0.3071\x08\x08\x08"},
			[2]string{"3", "0.3071"}, "Model: \"sequential\"",
		},
		v1beta1.PresetLightning: {
			[]string{"Epoch 2:  93%|█████████▎| 1586/1702 [12:50<00:56,  2.06it/s, v_num=0, train_loss=0.149]"},
			[2]string{"2", "0.149"}, "Validation DataLoader 0:  50%|█████     | 5/10 [00:01<00:01, 4.9it/s]",
		},
		v1beta1.PresetMaxText: {
			[]string{"I0811 21:54:55.531340 138304 metric_logger.py:226] completed step: 9, seconds: 5.667, TFLOP/s/device: 134.924, Tokens/s/device: 8672.758, total_weights: 196608, loss: 10.374"},
			[2]string{"9", "10.374"}, "To see full metrics 'tensorboard --logdir=gs:'",
		},
		v1beta1.PresetMegatron: {
			[]string{
				" [2026-09-01 10:00:00.123] iteration      201/  250000 | consumed samples:       205824 | elapsed time per iteration (ms): 139113.4 | learning rate: 1.507E-05 | global batch size:  1024 | lm loss: 2.373574E+00 | loss scale: 1.0 | grad norm: 0.811 |",
				" iteration      202/  250000 | consumed samples:       206848 | elapsed time per iteration (ms): 139221.4 | loss scale: 1.0 | number of skipped iterations:   1 |",
			},
			[2]string{"202", "2.373574E+00"}, " validation loss at iteration 100 | lm loss value: 2.4E+00 | lm loss PPL: 1.1E+01 |",
		},
		v1beta1.PresetNeMo: {
			[]string{"Training epoch 1, iteration 6/9 | lr: 0.0006 | consumed_samples: 224 | global_batch_size: 32 | global_step: 16 | reduced_train_loss: 7.319"},
			[2]string{"16", "7.319"}, "Validation: iteration 1/50",
		},
		v1beta1.PresetTorchTitan: {
			[]string{
				"[rank0]:[titan] 2026-05-18 16:04:46,338 - root - INFO - \x1b[31mstep: 14  \x1b[32mloss:  3.24405  \x1b[38;2;180;60;0mgrad_norm:  0.8319  \x1b[36mmemory:  9.46GiB(64.99%)  \x1b[34mtps: 7,282  \x1b[35mmfu: 0.17%\x1b[39m",
				"[titan] 2026-05-18 16:04:47,456 - root - INFO - step: 12,015  loss:  nan  memory:  9.46GiB(64.99%)  tps: 7,334",
			},
			[2]string{"12015", "nan"}, "[titan] 2026-05-18 16:04:47 - root - INFO - Training starts at step 1",
		},
	} {
		t.Run(string(preset), func(t *testing.T) {
			f := &v1beta1.ProgressFormat{Preset: preset}
			require.Equal(t, tc.want, told(t, f, tc.lines...))
			require.Equal(t, [2]string{}, told(t, f, tc.other))
		})
	}
}

func TestProgressIsReadInOnesOwnWords(t *testing.T) {
	f := &v1beta1.ProgressFormat{Stdout: `at (?P<step>\S+) of`}
	for line, want := range map[string]string{
		"at 1,234,567 of 2,000,000":   "1234567",
		"at \x1b[1m12\x1b[0m of 20":   "12",
		"at 1,23 of 20":               "",
		"at home of 20":               "",
		"loss 2, and no step is told": "",
	} {
		require.Equal(t, want, told(t, f, line)[0], line)
	}
}

// A line may be a sign of life, tell progress, or both.
func TestProgressBesideAHeartbeat(t *testing.T) {
	s, h := &signs{}, &heartbeat{line: regexp.MustCompile("alive"), progress: regexp.MustCompile(`step (?P<step>\d+)`)}
	for _, line := range []string{"alive", "step 1", "alive at step 2"} {
		s.read([]byte(line), h)
	}
	step, _ := s.progress()
	require.Equal(t, "2", step)
	require.Equal(t, 2, s.count())
}
