// Naming scenarios, comparing, waiting with an end, and reporting, as ../python/scenario.py does it.

package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// How long anything may take that has no limit of its own.
const patience = 30 * time.Second

type scenario struct {
	name string
	run  func(*store)
}

// What a scenario fails with.
type wrong string

func fail(format string, values ...any) {
	panic(wrong(fmt.Sprintf(format, values...)))
}

func equal(want, got any, what string) {
	if !reflect.DeepEqual(want, got) {
		fail("%s: want %v, got %v", what, want, got)
	}
}

func that(holds bool, what string) {
	if !holds {
		fail("%s", what)
	}
}

// must hands on what came without an error.
func must[T any](value T, err error) T {
	ok(err)
	return value
}

func ok(err error) {
	if err != nil {
		fail("want success, got %v", err)
	}
}

func eventually(what string, holds func() bool) {
	end := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(end) {
			fail("not in time: %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: clients --list | ADDRESS [SCENARIO…]")
		os.Exit(2)
	}
	if os.Args[1] == "--list" {
		for _, each := range scenarios {
			fmt.Println(each.name)
		}
		return
	}
	failed := false
	for _, each := range scenarios {
		if len(os.Args) == 2 || slices.Contains(os.Args[2:], each.name) {
			failed = !passes(os.Args[1], each) || failed
		}
	}
	if failed {
		os.Exit(1)
	}
}

func passes(address string, each scenario) (passed bool) {
	start := time.Now()
	defer func() {
		verdict := "pass"
		if cause := recover(); cause != nil {
			verdict, passed = "fail", false
			for _, line := range strings.Split(fmt.Sprintf("%v\n%s", cause, debug.Stack()), "\n") {
				fmt.Println("|", line)
			}
		}
		fmt.Printf("RESULT %s %s %.2f\n", each.name, verdict, time.Since(start).Seconds())
	}()
	store := open(address, each.name)
	defer store.close()
	each.run(store)
	return true
}
