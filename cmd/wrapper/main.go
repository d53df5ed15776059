// Command wrapper runs the command of a replica's container, and runs it again without a new container when the operator says so.
// The wrapper needs nothing of the image: it is static, and an init container copies it into the pod.
//
//	wrapper install DIR             copies itself into DIR
//	wrapper run [flags] -- COMMAND  runs COMMAND by the orders that the operator gives; see package run
//	wrapper develop                 replaces the code that runs, for a developer; see package develop
package main

import (
	"fmt"
	"os"

	"github.com/genericjob/genericjob/apis/inplace"
	"github.com/genericjob/genericjob/cmd/wrapper/develop"
	"github.com/genericjob/genericjob/cmd/wrapper/run"
)

func main() { os.Exit(start(os.Args[1:])) }

func start(args []string) int {
	switch {
	case len(args) == 2 && args[0] == "install":
		if err := install(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "wrapper:", err)
			return 1
		}
		return 0
	case len(args) > 0 && args[0] == "run":
		return run.Main(args[1:])
	case len(args) == 1 && args[0] == develop.Command:
		return develop.Serve(inplace.Dir, os.Stdin, os.Stdout)
	default:
		fmt.Fprintln(os.Stderr, "usage: wrapper install DIR | wrapper run [flags] -- COMMAND | wrapper "+develop.Command)
		return 2
	}
}
