package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// runs takes a step in a process of its own and waits for it, as a shell does. It does not hand on signals, and dies of SIGTERM at once.
func runs(args []string) int {
	child := exec.Command("/worker", args...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	err := child.Run()
	var exited *exec.ExitError
	switch {
	case err == nil:
		return -1
	case errors.As(err, &exited) && exited.ExitCode() > 0:
		return exited.ExitCode()
	default:
		return codeOf(err)
	}
}

// slip exits in one attempt of one rank.
func slip(args []string) int {
	attempt := number([]string{os.Getenv("ATTEMPT")}, 0, 0)
	if attempt == number(args, 0, 0) && args[2] == os.Getenv("RANK") {
		return number(args, 1, 1)
	}
	return -1
}

// fault exits on a bad node.
func fault(args []string) int {
	if _, err := os.Stat(filepath.Join(args[0], os.Getenv("NODE"))); err == nil {
		return number(args, 1, 1)
	}
	return -1
}

// checkpointLines is what a complete checkpoint has.
const checkpointLines = 10

// checkpoint prints what there is of a file, and obeys. On SIGTERM it takes its time to write the file.
func checkpoint(seconds int, file string) int {
	signals := catch()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return codeOf(err)
	}
	fmt.Printf("checkpoint %d of %d\n", bytes.Count(text, []byte("\n")), checkpointLines)
	return await(signals, func() int {
		_ = os.Remove(file)
		for line := range checkpointLines {
			time.Sleep(time.Duration(seconds) * time.Second / checkpointLines)
			if err := note(file, fmt.Sprint("line ", line)); err != nil {
				return codeOf(err)
			}
		}
		return 143
	})
}

// diary notes in a file that an attempt begins and that it ends, and obeys between. On SIGTERM it takes two seconds to end.
func diary(file, attempt, name string) int {
	signals := catch()
	if err := note(file, "begin "+attempt+" "+name); err != nil {
		return codeOf(err)
	}
	code := await(signals, func() int {
		time.Sleep(2 * time.Second)
		return 143
	})
	if err := note(file, "end "+attempt+" "+name); err != nil {
		return codeOf(err)
	}
	return code
}

// clock notes in a file when its code begins, each second that it works, and when it ends, all by the node's clock. Between, it obeys. On SIGTERM it
// works so many seconds longer, as code does that saves its state.
func clock(seconds int, file, name string) int {
	signals, stop, stopped := catch(), make(chan struct{}), make(chan error, 1)
	go func() { stopped <- work(file, name, stop) }()
	code := await(signals, func() int {
		time.Sleep(time.Duration(seconds) * time.Second)
		return 143
	})
	close(stop)
	if err := <-stopped; err != nil {
		return codeOf(err)
	}
	return code
}

// work notes the time of each step until it is to stop.
func work(file, name string, stop <-chan struct{}) error {
	note := func(what string) error {
		return note(file, fmt.Sprintf("%s %s %.3f", what, name, float64(time.Now().UnixMilli())/1000))
	}
	every := time.NewTicker(time.Second)
	defer every.Stop()
	for err := note("begin"); ; err = note("step") {
		if err != nil {
			return err
		}
		select {
		case <-stop:
			return note("end")
		case <-every.C:
		}
	}
}

// note appends a line by one call: lines of several processes stand in the order in which they were written.
func note(file, line string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}
