package run_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

func TestADeveloperReplacesTheCodeOfAnAttempt(t *testing.T) {
	p := newPod(t)
	dir, script := p.app()
	p.order(2, 2, 1)
	words := filepath.Join(p.dir, "words")
	require.NoError(t, os.WriteFile(words, []byte("of the old code"), 0o600))
	c := p.wrap([]string{"-grace=1m", "-termination-message=" + words}, "sh", "-c", script, "$(genericjob/attempt)")
	p.run(c)
	p.awaitLog("old 2")
	v := p.visit()
	require.Empty(t, v.sends(dir, "train.sh", obeys("echo new $1 >> $LOG"), "lib/x.py", "x").Error)
	require.NoFileExists(t, filepath.Join(dir, "lib", "x.py"), "nothing changes before it is applied")
	v.does(develop.Ready, develop.Stop)
	require.Equal(t, inplace.Report{Pod: "uid", Attempt: 2}, p.report(), "the operator sees no end")
	require.Equal(t, "old 2", p.logged(), "it waits")
	left, err := os.ReadFile(words)
	require.NoError(t, err)
	require.Empty(t, left, "they are of no end")
	v.does(develop.Apply, develop.Start)
	p.awaitLog("old 2; new 2")
	require.Equal(t, inplace.Report{Pod: "uid", Attempt: 2}, p.report())
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 3, code(t, c), "it ends as ever")
}

// The container of a rank that fails starts with the files of its image. Its peers have those that were synced.
func TestTheNextContainerOfThePodHasTheSyncedFiles(t *testing.T) {
	p := newPod(t)
	dir, script := p.app()
	p.order(0, 0, 0)
	old, err := os.ReadFile(filepath.Join(dir, "train.sh"))
	require.NoError(t, err)
	c := p.start(script)
	p.awaitLog("old 0")
	v := p.visit()
	require.Empty(t, v.sends(dir, "train.sh", obeys("echo new $1 >> $LOG; [ $1 -gt 0 ] || { while [ ! -e $LOG.go ]; do sleep 0.05; done; exit 7; }")).Error)
	v.does(develop.Ready, develop.Stop, develop.Apply, develop.Start)
	p.letGo() // once it has answered
	require.Equal(t, 7, code(t, c), "a failure after the restart is one as any other")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "train.sh"), old, 0o600))
	p.start(script)
	p.awaitReport(0, 1)
	p.order(1, 1, 1)
	p.awaitLog("old 0; new 0; new 1")
}

func TestCodeThatIgnoresADeveloperIsKilledAfterTheGraceThatItGives(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.run(p.wrap([]string{"-grace=3s"}, "sh", "-c", `trap '' TERM; setsid sh -c 'trap "" TERM; echo $$ > $LOG.child; while :; do sleep 0.05; done' & echo begins >> $LOG; while :; do sleep 0.05; done`))
	p.until("its child runs", func() bool { return p.child() > 0 })
	child := p.child()
	v := p.visit()
	v.does(develop.Ready)
	require.Empty(t, v.asks(develop.Request{Do: develop.Stop, Grace: 1e9}, nil).Error)
	require.False(t, runs(child))
	v.does(develop.Start)
	p.awaitLog("begins; begins")
}

// A peer's stop breaks connections before a rank is stopped itself.
func TestAFailureWhileTheDeveloperIsReadyIsNone(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.start(`echo begins >> $LOG; while [ ! -e $LOG.go ]; do sleep 0.05; done; rm $LOG.go; echo fails >> $LOG; exit 1`)
	p.awaitLog("begins")
	v := p.visit()
	v.does(develop.Ready)
	p.letGo()
	p.awaitLog("begins; fails")
	v.does(develop.Stop)
	require.Equal(t, inplace.Report{Pod: "uid"}, p.report())
	require.Equal(t, "begins; fails", p.logged(), "it waits for its peers")
	v.does(develop.Start)
	p.awaitLog("begins; fails; begins")
}

func TestOrdersHoldWhileADeveloperStopsTheCode(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.start(runsForEver)
	p.awaitLog("begins 0")
	v := p.visit()
	v.does(develop.Ready, develop.Stop)
	p.order(1, 1, 1)
	p.awaitReport(1, 0)
	require.Equal(t, "begins 0; told", p.logged())
	v.does(develop.Start)
	p.awaitLog("begins 0; told; begins 1")

	v.does(develop.Ready)
	p.order(2, 1, 2)
	p.awaitReport(2, 0)
	v.does(develop.Stop)
	require.True(t, v.asks(develop.Request{Do: develop.Start}, nil).Waits, "for the others")
	require.Equal(t, "begins 0; told; begins 1; told", p.logged())
	p.order(2, 2, 2)
	p.awaitLog("begins 0; told; begins 1; told; begins 2")
}

// A pod that does not restart in place has one order, which never changes.
func TestAWrapperWithOneOrderServesDevelopers(t *testing.T) {
	p := newPod(t)
	c := p.wrap([]string{"-order=attempt=0 go=0 jobAttempt=0"}, "sh", "-c", runsForEver, "$(genericjob/attempt)")
	require.NoError(t, c.Start())
	p.awaitLog("begins 0")
	p.visit().does(develop.Ready, develop.Stop, develop.Start)
	p.awaitLog("begins 0; told; begins 0")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	require.Zero(t, code(t, c))
}

// Steps that new code does anew are no work that was lost, and no lack of progress.
func TestStepsAfterADevelopersRestartAreNotCompared(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.run(p.wrap([]string{"-read-output", `-progress-line=step (?P<step>\d+)`}, "sh", "-c", `echo step 5; echo step 6; `+runsForEver))
	p.until("it tells its step", func() bool { return p.report().Furthest == "6" })
	require.NotNil(t, p.report().Pace)
	p.visit().does(develop.Ready, develop.Stop, develop.Start)
	p.until("it tells its step again", func() bool { return p.report().Step == "6" })
	r := p.report()
	require.Empty(t, r.Furthest)
	require.Nil(t, r.Pace)
}

func TestADeveloperIsToldThatTheCommandCannotBeRun(t *testing.T) {
	p := newPod(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "train")
	require.NoError(t, os.WriteFile(program, []byte("#!/bin/sh\n"+obeys("echo old >> $LOG")), 0o700)) // #nosec G306 -- a program
	p.order(0, 0, 0)
	c := p.wrap(nil, program)
	p.run(c)
	p.awaitLog("old")
	v := p.visit()
	require.Empty(t, v.sends(dir, "train", "#!/bin/sh\necho new >> $LOG").Error) // it may not be executed
	v.does(develop.Ready, develop.Stop, develop.Apply)
	a := v.asks(develop.Request{Do: develop.Start}, nil)
	require.Equal(t, 126, code(t, c))
	require.Regexp(t, "its command cannot be run|the wrapper has left: its container ends", a.Error)
}
