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

	"github.com/stretchr/testify/require"

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
