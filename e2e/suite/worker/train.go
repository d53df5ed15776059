package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const (
	trainPort = "29500"
	stepTime  = 20 * time.Millisecond
)

// train steps together with all others, as a collective does: rank 0 waits for a word from each and answers all. It prints when it was
// started and when it has made its first step, in nanoseconds. If another is gone it exits with 1, as gloo has it. If it is patient it
// waits to be ended, as code does that hangs in a collective.
func train(patient bool) int {
	fmt.Println("started", time.Now().UnixNano())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	failed := make(chan error, 1)
	go func() { failed <- trainOn(os.Getenv("RANK"), number([]string{os.Getenv("WORLD_SIZE")}, 0, 1)) }()
	for {
		select {
		case err := <-failed:
			fmt.Fprintln(os.Stderr, "worker:", err)
			if !patient {
				return 1
			}
		case <-signals:
			return 143
		}
	}
}

// trainOn trains until another is gone.
func trainOn(rank string, world int) error {
	others, err := join(rank, world)
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		if err := exchange(others, rank == "0"); err != nil {
			return err
		}
		if first {
			fmt.Println("stepped", time.Now().UnixNano())
		}
		time.Sleep(stepTime)
	}
}

// join connects rank 0 with all others.
func join(rank string, world int) (others []net.Conn, err error) {
	if rank != "0" {
		for end := time.Now().Add(dnsPatience); ; time.Sleep(20 * time.Millisecond) {
			conn, err := net.DialTimeout("tcp", net.JoinHostPort(os.Getenv("MASTER_ADDR"), trainPort), time.Second) //nolint:gosec // the host is the test's own
			if err == nil || time.Now().After(end) {
				return []net.Conn{conn}, err
			}
		}
	}
	door, err := net.Listen("tcp", ":"+trainPort)
	if err != nil {
		return nil, err
	}
	defer door.Close()
	for len(others) < world-1 {
		conn, err := door.Accept()
		if err != nil {
			return nil, err
		}
		others = append(others, conn)
	}
	return others, nil
}

// exchange is one step.
func exchange(others []net.Conn, first bool) error {
	word := make([]byte, 1)
	hear := func() (err error) {
		for _, conn := range others {
			_, failure := conn.Read(word)
			err = errors.Join(err, failure)
		}
		return err
	}
	if first {
		if err := hear(); err != nil {
			return err
		}
	}
	for _, conn := range others {
		if _, err := conn.Write(word); err != nil {
			return err
		}
	}
	if first {
		return nil
	}
	return hear()
}
