package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// where prints as whom it runs, and in which folder.
func where() error {
	folder, err := os.Getwd()
	if err != nil {
		return err
	}
	fmt.Println("user", os.Getuid(), "group", os.Getgid(), "in", folder)
	return nil
}

// echo prints the next line of standard input.
func echo() error {
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err == nil {
		fmt.Print("read: ", line)
	}
	return err
}

// orphan starts a process whose parent ends at once. It ends a little later itself.
func orphan(depth int) error {
	args := []string{"bear"}
	if depth > 0 {
		args = []string{"pause", "0"}
	}
	run := exec.Command("/worker", args...)
	if err := run.Start(); err != nil {
		return err
	}
	if depth > 0 {
		return nil // and nobody waits for it
	}
	return run.Wait()
}

// zombies prints how many processes of the container have ended, and were not collected.
func zombies() error {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return err
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has gone
		}
		if _, state, _ := strings.Cut(string(text), ") "); strings.HasPrefix(state, "Z") {
			n++
		}
	}
	fmt.Println("zombies", n)
	return nil
}
