package run_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeTorch is a package of which a function waits for peers, and a program that hangs in it or elsewhere.
var fakeTorch = map[string]string{
	"site-packages/torch/__init__.py":             "",
	"site-packages/torch/distributed/__init__.py": "import time\ndef all_reduce():\n    time.sleep(1000)\n",
	"train.py": `import os, sys, time
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "site-packages"))
import torch.distributed as dist
def wait_for_data():
    time.sleep(1000)
print("step 1")
(dist.all_reduce if sys.argv[1] == "waits" else wait_for_data)()
`,
}

// train puts the program into a folder, and returns its file.
func train(t *testing.T, dir string) string {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("there is no python3 on this machine")
	}
	for name, text := range fakeTorch {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	return filepath.Join(dir, "train.py")
}

func TestTheLastWordsSayWhereCodeHangs(t *testing.T) {
	const untold = `heartbeat: no line of output matched for 3 s (steadySeconds)`
	const silent = untold + `, last: "step 1"`
	for how, tc := range map[string]struct {
		flags []string
		want  func(dir string) string
	}{
		"hangs": {[]string{"-read-output"}, func(dir string) string { return "at: " + dir + "/train.py:5, in wait_for_data\noutput:\n" + silent }},
		"waits": {[]string{"-read-output"}, func(dir string) string {
			return "at: " + dir + "/train.py:7, in <module>\nfollows: it waits for a peer\noutput:\n" + silent
		}},
		"no text": {nil, func(string) string { return untold }},
	} {
		t.Run(how, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			flags := append(tc.flags, "-beat-line=^step", "-beat-startup=1h", "-beat-steady=3s", "-termination-message="+p.words())
			c := p.wrap(flags, "python3", train(t, p.dir), how)
			p.run(c)
			require.Equal(t, 124, code(t, c))
			require.Equal(t, tc.want(p.dir), p.said())
		})
	}
}

// A launcher may hear of the end of its process, or take SIGQUIT for an order to end. Then it would tell its peers that all is over.
func TestNobodyReactsToAnEndOfAProcessThatSaysWhereItHangs(t *testing.T) {
	const launcher = `
import os, signal, subprocess, sys
def told(*_):
    with open(os.environ["LOG"], "a") as f:
        f.write("the rendezvous is closed\n")
    sys.exit(1)
for s in (signal.SIGTERM, signal.SIGQUIT, signal.SIGINT, signal.SIGHUP):
    signal.signal(s, told)
subprocess.run(sys.argv[1:], start_new_session=True)
told()
`
	for name, options := range map[string]string{"a launcher that prints its stack": "-X faulthandler", "one that prints none": ""} {
		t.Run(name, func(t *testing.T) {
			p := newPod(t)
			p.order(0, 0, 0)
			t.Setenv("CODE", launcher)
			c, out := p.watched("^step", "1h", "3s",
				"export PYTHONFAULTHANDLER=; python3 "+options+` -c "$CODE" python3 -X faulthandler `+train(t, p.dir)+" hangs; echo the next begins >> $LOG")
			require.Equal(t, 124, code(t, c))
			require.Contains(t, out.String(), "in wait_for_data")
			require.Empty(t, p.logged())
		})
	}
}
