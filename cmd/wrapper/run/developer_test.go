package run_test

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
)

// visit is a developer's exec in a container: the real program, in a process of its own.
type visit struct {
	*pod
	in  io.WriteCloser
	out *bufio.Reader
	cmd *exec.Cmd
}

func (p *pod) visit() *visit {
	v := &visit{pod: p, cmd: exec.Command(os.Args[0], p.dir)}
	v.cmd.Env = append(os.Environ(), asDeveloper+"=1")
	var err error
	v.in, err = v.cmd.StdinPipe()
	require.NoError(p, err)
	out, err := v.cmd.StdoutPipe()
	require.NoError(p, err)
	v.out, v.cmd.Stderr = bufio.NewReader(out), os.Stderr
	require.NoError(p, v.cmd.Start())
	p.Cleanup(v.leave)
	return v
}

// leave is the end of the developer's connection.
func (v *visit) leave() {
	_ = v.in.Close()
	_ = v.cmd.Wait()
}

func (v *visit) asks(r develop.Request, stream []byte) (a develop.Answer) {
	v.Helper()
	r.Bytes = int64(len(stream))
	line, err := json.Marshal(r)
	require.NoError(v, err)
	_, _ = v.in.Write(append(append(line, '\n'), stream...)) // it may have left already
	return v.hears()
}

func (v *visit) hears() (a develop.Answer) {
	v.Helper()
	line, err := v.out.ReadBytes('\n')
	require.NoError(v, err)
	require.NoError(v, json.Unmarshal(line, &a))
	return a
}

// does asks for steps, all of which must be done.
func (v *visit) does(steps ...string) {
	v.Helper()
	for _, step := range steps {
		require.Empty(v, v.asks(develop.Request{Do: step}, nil).Error, step)
	}
}

// sends sends files, by name and content, for a folder.
func (v *visit) sends(dir string, files ...string) develop.Answer {
	v.Helper()
	var stream bytes.Buffer
	out := tar.NewWriter(&stream)
	for i := 0; i < len(files); i += 2 {
		require.NoError(v, out.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))}))
		_, err := io.WriteString(out, files[i+1])
		require.NoError(v, err)
	}
	require.NoError(v, out.Close())
	return v.asks(develop.Request{Do: develop.Files, Dir: dir}, stream.Bytes())
}

// app is a folder with code, which a shell runs.
func (p *pod) app() (dir, script string) {
	dir = p.TempDir()
	require.NoError(p, os.WriteFile(filepath.Join(dir, "train.sh"), []byte(obeys("echo old $1 >> $LOG")), 0o600))
	return dir, `exec sh ` + dir + `/train.sh $0`
}

// obeys is code that runs on until it is told to end, and says that it begins once it can be told.
func obeys(begins string) string {
	return `trap 'exit 3' TERM; ` + begins + `; while :; do sleep 0.05; done`
}

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

func TestADeveloperWhoLeavesHoldsUpNobody(t *testing.T) {
	p := newPod(t)
	dir, script := p.app()
	p.order(0, 0, 0)
	p.start(script)
	p.awaitLog("old 0")
	v := p.visit()
	require.Empty(t, v.sends(dir, "train.sh", "never").Error)
	v.does(develop.Ready, develop.Stop)
	v.leave()
	p.awaitLog("old 0; old 0")
	require.NoFileExists(t, filepath.Join(p.dir, "state", "synced", "next", "train.sh"), "what was not applied is gone")
}

func TestOneDeveloperIsServedAtATime(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.start(runsForEver)
	p.awaitLog("begins 0")
	first := p.visit()
	first.does(develop.Ready)
	second := p.visit()
	require.Contains(t, second.hears().Error, "somebody else synchronizes or restarts this replica")
	first.does(develop.Stop, develop.Start)
	p.awaitLog("begins 0; told; begins 0")
	first.leave()
	p.until("the next is served", func() bool { return p.visit().asks(develop.Request{Do: develop.Ready}, nil).Error == "" })
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

func TestWhoeverWaitsForNothingIsNotBegunAgain(t *testing.T) {
	p, wait, signal := secondLife(t, "1h")
	p.awaitHeld()
	require.Contains(t, p.visit().asks(develop.Request{Do: develop.Ready}, nil).Error, "the code has failed, and waits for the operator")
	signal(syscall.SIGTERM)
	require.Equal(t, 7, wait())

	p = newPod(t)
	p.order(0, 0, 0)
	c := p.start(`trap 'while [ ! -e $LOG.go ]; do sleep 0.05; done; exit 0' TERM; echo begins >> $LOG; while :; do sleep 0.05; done`)
	p.awaitLog("begins")
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	p.until("it says so", func() bool {
		return strings.Contains(p.visit().asks(develop.Request{Do: develop.Ready}, nil).Error, "the pod is being ended")
	})
	p.letGo()
	require.Zero(t, code(t, c))
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

func TestADeveloperWhoIsSilentHoldsUpNobodyForLong(t *testing.T) {
	p := newPod(t)
	p.order(0, 0, 0)
	p.run(p.wrap([]string{"-patience=300ms"}, "sh", "-c", runsForEver, "$(genericjob/attempt)"))
	p.awaitLog("begins 0")
	v := p.visit()
	v.does(develop.Ready, develop.Stop)
	p.awaitLog("begins 0; told; begins 0")
	require.Contains(t, v.asks(develop.Request{Do: develop.Start}, nil).Error, "the wrapper cannot start now")
}

// Code that the wrapper has begun again for want of a word gets no other files while it runs.
func TestNothingIsAppliedBesideCodeThatRunsAgain(t *testing.T) {
	p := newPod(t)
	dir, script := p.app()
	p.order(0, 0, 0)
	p.run(p.wrap([]string{"-patience=300ms"}, "sh", "-c", script, "$(genericjob/attempt)"))
	p.awaitLog("old 0")
	v := p.visit()
	require.Empty(t, v.sends(dir, "train.sh", "never").Error)
	v.does(develop.Ready, develop.Stop)
	p.awaitLog("old 0; old 0")
	require.Contains(t, v.asks(develop.Request{Do: develop.Apply}, nil).Error, "it goes on by itself if it hears nothing for")
	text, err := os.ReadFile(filepath.Join(dir, "train.sh"))
	require.NoError(t, err)
	require.Contains(t, string(text), "old")
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
