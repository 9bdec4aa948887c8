// Package check names scenarios, compares, waits with an end, and reports, as ../../python/scenario.py does it.
package check

import (
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// Patience is how long anything may take that has no limit of its own.
const Patience = 30 * time.Second

// Scenario takes one scenario's view of the server; it passes by returning.
type Scenario[T any] struct {
	Name string
	Run  func(T)
}

// Wrong is what a scenario fails with.
type Wrong string

// View is one scenario's connections.
type View interface {
	// Lacks says why the client cannot do this scenario, or nothing.
	Lacks(scenario string) string
	Close()
}

func Fail(format string, values ...any) {
	panic(Wrong(fmt.Sprintf(format, values...)))
}

func Equal(want, got any, what string) {
	if !reflect.DeepEqual(want, got) {
		Fail("%s: want %s, got %s", what, short(want), short(got))
	}
}

func That(holds bool, what string) {
	if !holds {
		Fail("%s", what)
	}
}

// Must hands on what came without an error.
func Must[T any](value T, err error) T {
	OK(err)
	return value
}

func OK(err error) {
	if err != nil {
		Fail("want success, got %v", err)
	}
}

func Eventually(what string, holds func() bool) {
	EventuallySaying(func() string { return what }, holds)
}

// EventuallySaying is for what can only be told once it went wrong.
func EventuallySaying(what func() string, holds func() bool) {
	end := time.Now().Add(Patience)
	for !holds() {
		if time.Now().After(end) {
			Fail("not in time: %s", what())
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Names of what needs the server restarted, and where that is to be had.
const (
	restartSuffix   = "_restart"
	restartVariable = "CLIENTS_RESTART"
)

// RestartServer has it killed and started again, and returns when it is ready.
func RestartServer() {
	connection := Must(net.DialTimeout("tcp", os.Getenv(restartVariable), Patience))
	defer connection.Close()
	OK(connection.SetDeadline(time.Now().Add(3 * Patience)))
	Equal("ready\n", string(Must(io.ReadAll(connection))), "after a restart")
}

// Main runs `--list`, or an address and then the scenarios that are wanted, none meaning all.
func Main[T View](arguments []string, scenarios []Scenario[T], open func(address, name string) T) {
	if len(arguments) == 0 {
		fmt.Fprintln(os.Stderr, "usage: --list | ADDRESS [SCENARIO…]")
		os.Exit(2)
	}
	if arguments[0] == "--list" {
		for _, each := range scenarios {
			fmt.Println(each.Name)
		}
		return
	}
	failed := false
	for _, each := range scenarios {
		if len(arguments) == 1 || slices.Contains(arguments[1:], each.Name) {
			failed = !passes(arguments[0], each, open) || failed
		}
	}
	if failed {
		os.Exit(1)
	}
}

func passes[T View](address string, each Scenario[T], open func(address, name string) T) (passed bool) {
	start := time.Now()
	verdict, reason := "pass", ""
	defer func() {
		if cause := recover(); cause != nil {
			verdict, passed = "fail", false
			for _, line := range strings.Split(fmt.Sprintf("%v\n%s", cause, debug.Stack()), "\n") {
				fmt.Println("|", line)
			}
		}
		fmt.Printf("RESULT %s %s %.2f %s\n", each.Name, verdict, time.Since(start).Seconds(), reason)
	}()
	if strings.HasSuffix(each.Name, restartSuffix) && os.Getenv(restartVariable) == "" {
		verdict, reason = "skip", "there is nobody to restart the server"
		return true
	}
	view := open(address, each.Name)
	defer view.Close()
	if reason = view.Lacks(each.Name); reason != "" {
		verdict = "skip"
		return true
	}
	each.Run(view)
	return true
}

func short(value any) string {
	text := fmt.Sprintf("%v", value)
	if bytes, is := value.([]byte); is {
		text = fmt.Sprintf("%q", bytes)
	}
	if len(text) > 600 {
		text = text[:600] + "…"
	}
	return text
}
