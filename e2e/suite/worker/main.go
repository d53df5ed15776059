// Command worker is what the pods of the end-to-end tests run. Its arguments are steps, separated by "then":
//
//	print WORD...        prints its words
//	env NAME...          prints environment variables, as NAME=value
//	resolve HOST...      prints the host's own name, and the address of each HOST once DNS knows it
//	pause SECONDS        sleeps
//	fail N CODE [RANK]   exits with CODE in the first N attempts of the replica, or of that RANK alone
//	fault FOLDER CODE    exits with CODE if the folder has a file of the name of this node, $NODE
//	eat                  takes memory until it is killed
//	write MIB FOLDER     writes so many MiB into a file there
//	exit CODE            exits
//	obey [CODE]          waits for `worker end CODE` in the same pod; on SIGTERM it exits with 143, or, if CODE is given, with
//	                     that after 1.5 s, as code does that saves its state
//	end CODE             makes the worker of this pod that obeys exit with CODE
//	where                prints as whom it runs, and in which folder
//	say FILE WORD...     writes its words into a file
//	echo                 prints the next line of standard input
//	orphan               leaves a process that nobody waits for, and that ends
//	zombies              prints how many processes have ended that nobody has collected
//	run STEP...          takes one step in a process of its own, as a shell does a command
//	slip N CODE RANK     exits with CODE in attempt N of that RANK
//	checkpoint S FILE    prints how many lines FILE has; then obeys, and on SIGTERM takes S seconds to write it
//	diary FILE N NAME    writes into FILE when attempt N of NAME begins and when it ends; between, it obeys
//	clock S FILE NAME    writes into FILE when NAME begins, each second that it works, and when it ends; it obeys, and on SIGTERM works S seconds longer
//	script FILE          takes the steps that FILE has, if there is one: code that can be replaced
//	train [patient]      steps together with the other ranks, by RANK, WORLD_SIZE and MASTER_ADDR
//
// Installed as sleep it does what the default command of debug mode asks for. With -c STEPS it takes them as a shell does a script.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// socket is an abstract one: it needs no file, and only this pod can reach it.
const socket = "@worker"

// dnsPatience is how long a name may take to become known.
const dnsPatience = 2 * time.Minute

func main() {
	if filepath.Base(os.Args[0]) == "sleep" {
		os.Exit(obey(nil))
	}
	args := os.Args[1:]
	if len(args) == 2 && args[0] == "-c" {
		args = strings.Fields(args[1])
	}
	for step := range steps(withScript(args)) {
		if code := take(step[0], step[1:]); code >= 0 {
			os.Exit(code)
		}
	}
}

// withScript has the steps of a file in place of the words "script FILE", with which arguments may begin.
func withScript(args []string) []string {
	if len(args) < 2 || args[0] != "script" {
		return args
	}
	text, err := os.ReadFile(args[1])
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		os.Exit(codeOf(err))
	}
	return append(strings.Fields(string(text)), args[2:]...)
}

// steps cuts the arguments at every "then".
func steps(args []string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for len(args) > 0 {
			n := slices.Index(args, "then")
			step := args
			if n < 0 {
				args = nil
			} else {
				step, args = args[:n], args[n+1:]
			}
			if len(step) > 0 && !yield(step) {
				return
			}
		}
	}
}

// further steps are told of containers, and of what runs together in many.
var further = map[string]func(args []string) int{
	"train": func(args []string) int { return train(len(args) > 0) },
	"where": func([]string) int { return codeOf(where()) },
	"say": func(args []string) int {
		return codeOf(os.WriteFile(args[0], []byte(strings.Join(args[1:], " ")), 0o600))
	},
	"echo":       func([]string) int { return codeOf(echo()) },
	"orphan":     func([]string) int { return codeOf(orphan(0)) },
	"bear":       func([]string) int { return codeOf(orphan(1)) },
	"write":      func(args []string) int { return codeOf(write(number(args, 0, 0), args[1])) },
	"zombies":    func([]string) int { return codeOf(zombies()) },
	"run":        runs,
	"slip":       slip,
	"fault":      fault,
	"checkpoint": func(args []string) int { return checkpoint(number(args, 0, 0), args[1]) },
	"diary":      func(args []string) int { return diary(args[0], args[1], args[2]) },
	"clock":      func(args []string) int { return clock(number(args, 0, 0), args[1], args[2]) },
}

// take takes one step. It returns the code to exit with, or -1 to go on.
func take(step string, args []string) int {
	switch step {
	case "print":
		fmt.Println(strings.Join(args, " "))
	case "env":
		for _, name := range args {
			fmt.Printf("%s=%s\n", name, os.Getenv(name))
		}
	case "resolve":
		return codeOf(resolve(args))
	case "pause":
		time.Sleep(time.Duration(number(args, 0, 0)) * time.Second)
	case "fail":
		return fail(args)
	case "eat":
		eat()
	case "exit":
		return number(args, 0, 0)
	case "obey":
		return obey(args)
	case "end":
		return codeOf(end(strconv.Itoa(number(args, 0, 0))))
	default:
		if more, is := further[step]; is {
			return more(args)
		}
		return codeOf(fmt.Errorf("there is no step %q", step))
	}
	return -1
}

// codeOf is the exit code of an end by an error, which it prints.
func codeOf(err error) int {
	if err == nil {
		return -1
	}
	fmt.Fprintln(os.Stderr, "worker:", err)
	return 99
}

// number reads an argument; anything else than a number is a mistake in a test.
func number(args []string, i, otherwise int) int {
	if i >= len(args) {
		return otherwise
	}
	n, err := strconv.Atoi(args[i])
	if err != nil {
		os.Exit(codeOf(err))
	}
	return n
}

// fail looks at the attempt that the operator wrote on the pod: nothing else of a replica outlives its pod.
func fail(args []string) int {
	attempt := number([]string{os.Getenv("ATTEMPT")}, 0, 0)
	concerned := len(args) < 3 || args[2] == os.Getenv("RANK")
	if concerned && attempt < number(args, 0, 0) {
		return number(args, 1, 1)
	}
	return -1
}

func resolve(hosts []string) error {
	self, err := os.Hostname()
	if err != nil {
		return err
	}
	fmt.Println("hostname", self)
	for _, host := range hosts {
		addresses, err := lookUp(host)
		if err != nil {
			return err
		}
		fmt.Println("address", host, strings.Join(addresses, " "))
	}
	return nil
}

func lookUp(host string) ([]string, error) {
	for end := time.Now().Add(dnsPatience); ; time.Sleep(200 * time.Millisecond) {
		addresses, err := net.LookupHost(host) //nolint:gosec // the host is the test's own
		if err == nil || time.Now().After(end) {
			return addresses, err
		}
	}
}

func eat() {
	var eaten [][]byte
	for {
		piece := make([]byte, 4<<20)
		for i := 0; i < len(piece); i += 4096 {
			piece[i] = 1
		}
		eaten = append(eaten, piece)
		if len(eaten) > 1<<20 {
			return
		}
	}
}

func write(mib int, folder string) error {
	return os.WriteFile(filepath.Join(folder, "file"), make([]byte, mib<<20), 0o600)
}

// obey waits to be told how to end.
func obey(args []string) int {
	return await(catch(), func() int {
		if len(args) > 0 {
			time.Sleep(1500 * time.Millisecond)
		}
		return number(args, 0, 143)
	})
}

// catch has signals come. A process that is number 1 of its pod gets none that it does not ask for, and others die of them.
func catch() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	return signals
}

// await waits for a word from `end`, or for a signal, and returns the code to exit with.
func await(signals <-chan os.Signal, signalled func() int) int {
	codes := make(chan int, 1)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return codeOf(err)
	}
	go listen(listener, codes)
	select {
	case code := <-codes:
		time.Sleep(500 * time.Millisecond) // lets the one who told it go first: it dies with this process
		return code
	case <-signals:
		return signalled()
	}
}

func listen(listener net.Listener, codes chan<- int) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		word, err := bufio.NewReader(conn).ReadString('\n')
		if code, wrong := strconv.Atoi(strings.TrimSpace(word)); err == nil && wrong == nil {
			_, _ = fmt.Fprintln(conn, "told")
			codes <- code
		}
		_ = conn.Close()
	}
}

func end(code string) error {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := fmt.Fprintln(conn, code); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return errors.Join(errors.New("the worker did not answer"), err)
	}
	fmt.Print(answer)
	return nil
}
