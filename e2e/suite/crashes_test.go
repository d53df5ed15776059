package suite_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// crashRuns is how often TestCrashes runs each of its cells, and crashesInto the folder that gets what was recorded; "" for none.
var (
	crashRuns   int
	crashesInto string
)

// TestCrashes has one rank of four end in each way in which ranks end, in jobs of each shape, with real PyTorch on gloo. It checks what the
// status, the events, `kubectl gj why` and `kubectl gj logs -f` say of the end. It prints a table, and fails if one of them says what is not
// so. `make crashes` runs it.
func TestCrashes(t *testing.T) {
	if crashRuns == 0 {
		t.Skip("it takes an hour: -crashes 5 runs each cell five times")
	}
	loadFramework(t, "pytorch")
	plugins := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(plugins, "kubectl-gj"), ".")
	build.Dir = filepath.Join(root, "cmd", "kubectl-gj")
	text, err := build.CombinedOutput()
	require.NoError(t, err, "%s", text)

	all := &judgements{}
	t.Cleanup(func() { all.print(os.Stdout) })
	for n := range crashRuns {
		for i, c := range cells() {
			c.vary(n + i)
			t.Run(fmt.Sprintf("%s %d", c.cell(), n+1), func(t *testing.T) {
				t.Parallel()
				v := (&user{newSpace(t), plugins}).crash(c)
				all.add(c, v)
				require.Empty(t, v.wrong, "%s\n%s", c, v.told)
			})
		}
	}
}

// crash is one run of a cell: how a job trains, and how one of its ranks ends.
type crash struct {
	Shape   string `json:"shape"` // plain, fixed or elastic: the latter two by torchrun
	InPlace bool   `json:"inPlace"`
	Fault   string `json:"fault"`
	// What varies in the runs of a cell. Victim is the rank that ends; Record that its main function is marked with PyTorch's @record; Final
	// that the job has no restart left.
	Victim int  `json:"victim"`
	Record bool `json:"record"`
	Final  bool `json:"final"`
}

const (
	plainShape   = "plain"
	fixedShape   = "fixed"
	elasticShape = "elastic"
)

// The ways in which a rank ends. See testdata/crash.py.
const (
	raiseFault  = "raise"
	killFault   = "kill"
	exitFault   = "exit"
	memoryFault = "memory"
	hangFault   = "hang"
	importFault = "import"
)

func cells() (list []crash) {
	for _, shape := range []string{plainShape, fixedShape, elasticShape} {
		for _, inPlace := range []bool{false, true} {
			for _, fault := range []string{raiseFault, killFault, exitFault, memoryFault, hangFault, importFault} {
				list = append(list, crash{Shape: shape, InPlace: inPlace, Fault: fault})
			}
		}
	}
	return list
}

// vary sets what varies: five runs of a cell have all of it.
func (c *crash) vary(n int) {
	v := []crash{{Victim: 2}, {Victim: 3, Record: true}, {Victim: 1, Final: true}, {Victim: 0, Record: true}, {Victim: 2, Record: true, Final: true}}[n%5]
	c.Victim, c.Record, c.Final = v.Victim, v.Record, v.Final
}

// cell is the name of the cell.
func (c crash) cell() string {
	strategy := "new pods"
	if c.InPlace {
		strategy = "in place"
	}
	return fmt.Sprintf("%s, %s, %s", c.Shape, strategy, c.Fault)
}

func (c crash) String() string {
	text := fmt.Sprintf("%s of rank %d", c.cell(), c.Victim)
	if c.Record {
		text += ", @record"
	}
	if c.Final {
		text += ", final"
	}
	return text
}

// heals reports whether torchrun starts the training processes again by itself, so that no pod ends.
func (c crash) heals() bool {
	return c.Shape == elasticShape && !c.Final && c.Fault != memoryFault && c.Fault != hangFault
}
