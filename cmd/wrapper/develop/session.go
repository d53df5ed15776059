package develop

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"
)

// Socket is where the wrapper that runs in a container listens.
func Socket(dir string) string { return filepath.Join(dir, "state", "develop") }

// session serves one developer.
type session struct {
	store       *store
	in          *bufio.Reader
	wrapper     net.Conn
	answers     *json.Decoder
	awaitsStart bool // no code is to run
}

// Serve obeys the requests of a developer, to their end. Dir is the folder of the wrapper that runs. It returns the exit code.
func Serve(dir string, in io.Reader, out io.Writer) int {
	s := &session{store: newStore(dir), in: bufio.NewReader(in)}
	answers := json.NewEncoder(out)
	if a := s.open(dir); a.Error != "" {
		_ = answers.Encode(a) // who has gone does not want to know; nor does he below
		return 1
	}
	defer s.close()
	for {
		request, err := s.next()
		if errors.Is(err, io.EOF) {
			return 0
		}
		var a Answer
		if err == nil {
			a, err = s.obey(request)
		}
		if err != nil {
			a.Error = err.Error()
		}
		if answers.Encode(a) != nil || a.Error != "" {
			return 1
		}
	}
}

// open asks the wrapper to be served. Nobody else is then.
func (s *session) open(dir string) Answer {
	var err error
	if s.wrapper, err = net.Dial("unix", Socket(dir)); err != nil {
		return Answer{Error: fmt.Sprintf("the wrapper of this container does not answer: %v", err)}
	}
	s.answers = json.NewDecoder(s.wrapper)
	a, err := s.ask(Request{Do: Open})
	switch {
	case err != nil:
		a.Error = err.Error()
	case a.Busy:
		a.Error = "somebody else synchronizes or restarts this replica at this moment: try again"
	}
	if a.Error != "" {
		_ = s.wrapper.Close()
	}
	return a
}

func (s *session) close() {
	s.store.discard()
	_ = s.wrapper.Close()
}

// next reads a request.
func (s *session) next() (request Request, err error) {
	var line []byte
	for {
		part, more, err := s.in.ReadLine()
		if err != nil {
			return request, err
		}
		if line = append(line, part...); len(line) > maxRequest {
			return request, fmt.Errorf("a request has more than %d bytes", maxRequest)
		}
		if !more {
			break
		}
	}
	if err := json.Unmarshal(line, &request); err != nil {
		return request, fmt.Errorf("read a request: %w", err)
	}
	return request, nil
}

func (s *session) obey(request Request) (Answer, error) {
	switch request.Do {
	case Files:
		if request.Bytes < 0 || request.Bytes > MaxStream {
			return Answer{}, fmt.Errorf("the stream of files has %d bytes: at most %d", request.Bytes, int64(MaxStream))
		}
		return Answer{}, s.store.stage(io.LimitReader(s.in, request.Bytes), request.Dir, request.Delete)
	case Apply:
		if a, err := s.stillRests(); err != nil || a.Error != "" {
			return a, err
		}
		return Answer{}, s.store.apply()
	case Ready, Stop, Start:
		s.awaitsStart = request.Do != Start
		return s.ask(request)
	default:
		return Answer{}, fmt.Errorf("request %q is not known: want %s, %s, %s, %s or %s", request.Do, Files, Ready, Stop, Apply, Start)
	}
}

// stillRests has the wrapper go on waiting, if it does. Code that it has begun again for want of a word gets no other files while it runs.
func (s *session) stillRests() (Answer, error) {
	if !s.awaitsStart {
		return Answer{}, nil
	}
	return s.ask(Request{Do: Ready})
}

// ask asks the wrapper.
func (s *session) ask(request Request) (a Answer, err error) {
	_ = s.wrapper.SetDeadline(time.Now().Add(LongestVisit))
	if err := json.NewEncoder(s.wrapper).Encode(request); err != nil {
		return a, fmt.Errorf("ask the wrapper: %w", err)
	}
	if err := s.answers.Decode(&a); err != nil {
		return a, fmt.Errorf("the wrapper has left: its container ends, or it has begun the code again because it heard nothing for %s", Patience)
	}
	return a, nil
}
