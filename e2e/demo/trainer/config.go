package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

const (
	roleMaster = "master"
	roleWorker = "worker"
)

// config is the trainer's environment.
type config struct {
	role    string        // TRAINER_ROLE: $(type), master or worker
	rank    int           // TRAINER_RANK: $(rank)
	workers int           // TRAINER_WORKERS: $(replicas[worker])
	master  string        // TRAINER_MASTER: $(service.master[0].host):$(service.port[train])
	port    string        // the port in TRAINER_MASTER
	pause   time.Duration // TRAINER_STEP_TIME, optional: what a worker waits in each step so that a person can follow
}

func configFromEnv(getenv func(string) string) (config, error) {
	c := config{role: getenv("TRAINER_ROLE"), master: getenv("TRAINER_MASTER")}
	var errRank, errWorkers, errMaster, errPause, errRole error
	if c.role != roleMaster && c.role != roleWorker {
		errRole = fmt.Errorf("TRAINER_ROLE is %q: set it to master or worker", c.role)
	}
	c.rank, errRank = intFrom(getenv, "TRAINER_RANK", 0)
	c.workers, errWorkers = intFrom(getenv, "TRAINER_WORKERS", 1)
	if errRank == nil && errWorkers == nil && c.role == roleWorker && c.rank >= c.workers {
		errRank = fmt.Errorf("TRAINER_RANK is %d: with %d workers the highest is %d", c.rank, c.workers, c.workers-1)
	}
	if _, c.port, errMaster = net.SplitHostPort(c.master); errMaster != nil {
		errMaster = fmt.Errorf("TRAINER_MASTER is %q: set it to host:port", c.master)
	}
	if text := getenv("TRAINER_STEP_TIME"); text != "" {
		if c.pause, errPause = time.ParseDuration(text); errPause != nil {
			errPause = fmt.Errorf("TRAINER_STEP_TIME is %q: set it to a duration such as 300ms", text)
		}
	}
	return c, errors.Join(errRole, errRank, errWorkers, errMaster, errPause)
}

func intFrom(getenv func(string) string, name string, least int) (int, error) {
	value, err := strconv.Atoi(getenv(name))
	if err != nil || value < least {
		return 0, fmt.Errorf("%s is %q: set it to a number from %d on", name, getenv(name), least)
	}
	return value, nil
}
