package simulator

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// keeper keeps the parts of an exploration that are done, one a line.
type keeper struct {
	file   *os.File // nil to keep nothing
	err    error
	before []Part        // what earlier runs have done
	took   time.Duration // how long they took
	began  time.Time
}

// kept is a line of the file.
type kept struct {
	Program string        `json:",omitempty"` // of the first line
	Took    time.Duration // since the run began
	Part    *Part         `json:",omitempty"`
}

// openKeeper goes on with the file of an earlier run, if the program is the same: else its lives may be others.
func openKeeper(folder string, s *Miniature, most int) (*keeper, error) {
	k := &keeper{began: time.Now()}
	if folder == "" {
		return k, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	code, err := os.ReadFile(self)
	if err != nil {
		return nil, err
	}
	program := fmt.Sprintf("%x", sha256.Sum256(code))
	name := filepath.Join(folder, strings.NewReplacer(" ", "-", ",", "").Replace(s.Name)+fmt.Sprintf("-%d.jsonl", most))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	good := k.read(name, program)
	if k.file, err = os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err == nil {
		err = k.file.Truncate(good)
	}
	k.write(kept{Program: program})
	return k, err
}

// read reads what earlier runs of the same program have done, and returns how many bytes of the file tell of that. A line that was cut off
// does not.
func (k *keeper) read(name, program string) (good int64) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0
	}
	last := time.Duration(0) // of one run
	for raw := range bytes.Lines(text) {
		var line kept
		if json.Unmarshal(raw, &line) != nil || raw[len(raw)-1] != '\n' {
			break
		}
		switch {
		case line.Part != nil:
			k.before = append(k.before, *line.Part)
			last = line.Took
		case line.Program != program:
			return 0
		default:
			k.took, last = k.took+last, 0
		}
		good += int64(len(raw))
	}
	k.took += last
	return good
}

func (k *keeper) keep(p *Part) { k.write(kept{Took: time.Since(k.began), Part: p}) }

func (k *keeper) write(line kept) {
	if k.file == nil || k.err != nil {
		return
	}
	var raw []byte
	if raw, k.err = json.Marshal(line); k.err == nil {
		_, k.err = k.file.Write(append(raw, '\n'))
	}
}

func (k *keeper) close() error {
	if k.file == nil {
		return nil
	}
	if err := k.file.Close(); err != nil {
		return err
	}
	return k.err
}
