// Scenarios about groups.

package main

import (
	"fmt"
	"strconv"
	"time"

	. "daybook/clients/check"
)

// feed writes to all partitions in turn until it is stopped.
type feed struct {
	ends    map[int32]int64
	failure error
	stop    chan struct{}
	done    chan struct{}
}

func startFeed(c client, topic string, partitions int32, options sending) *feed {
	f := &feed{ends: map[int32]int64{}, stop: make(chan struct{}), done: make(chan struct{})}
	writer := c.producer(options)
	go func() {
		defer close(f.done)
		defer writer.close()
		for round := 0; f.failure == nil; round++ {
			select {
			case <-f.stop:
				return
			case <-time.After(10 * time.Millisecond):
			}
			var records []record
			for n := range partitions {
				records = append(records, record{topic: topic, partition: n, value: []byte(strconv.Itoa(round))})
			}
			places, err := writer.send(records)
			f.failure = err
			for _, each := range places {
				f.ends[each.partition] = each.offset + 1
			}
		}
	}()
	return f
}

// end returns of each partition the next offset.
func (f *feed) end() map[int32]int64 {
	close(f.stop)
	<-f.done
	OK(f.failure)
	return f.ends
}

// comeAndGo: members come and go while records flow: each is read once, positions are right.
func comeAndGo(assignor string) func(client) {
	return func(c client) { comeAndGoAs(c, joining{assignor: assignor}) }
}

func comeAndGoAs(c client, options joining) {
	options.topic, options.group = topic(c, 6, nil), c.fresh()
	seen, flow := newTally(), startFeed(c, options.topic, 6, sending{})
	first := c.join(options, seen)
	share([]int{6}, first)
	second, third := c.join(options, seen), c.join(options, seen)
	share([]int{2, 2, 2}, first, second, third)
	stable(c, options.group, 2, 2, 2)
	first.leave()
	share([]int{3, 3}, second, third)
	fourth := c.join(options, seen)
	share([]int{2, 2, 2}, second, third, fourth)
	third.leave()
	share([]int{3, 3}, second, fourth)

	ends, total := flow.end(), 0
	for _, end := range ends {
		total += int(end)
	}
	Eventually(fmt.Sprintf("all %d records are read", total), func() bool { return seen.count() >= total })
	second.leave()
	fourth.leave()
	for partition, end := range ends {
		for offset := range end {
			Equal(1, seen.times[place{partition, offset}], fmt.Sprintf("times that record %d of %d was read", offset, partition))
		}
	}
	Equal(ends, c.committed(options.group, options.topic), "committed positions")
	state, members := c.describeGroup(options.group)
	Equal("Empty", state, "state when all have left")
	Equal([]int{}, members, "members when all have left")
}

// stable waits for a group to be described with these shares.
func stable(c client, group string, shares ...int) {
	Eventually(fmt.Sprintf("stable with shares %v", shares), func() bool {
		state, got := c.describeGroup(group)
		return state == "Stable" && fmt.Sprint(got) == fmt.Sprint(shares)
	})
}

// staticMembership: a member that comes back within its session timeout finds its partitions; the other keeps its own.
func staticMembership(c client) {
	name, group, seen := topic(c, 4, nil), c.fresh(), newTally()
	join := func(instance string) *member {
		return c.join(joining{topic: name, group: group, assignor: "range", instance: instance}, seen)
	}
	a := join("a")
	share([]int{4}, a)
	b := join("b")
	share([]int{2, 2}, a, b)
	ofA, ofB := a.holds(), b.holds()
	a.leave()
	stable(c, group, 2, 2)
	for n := range int32(4) {
		sent(c, sending{}, fill(name, n, 10))
	}
	back := join("a")
	share([]int{2, 2}, back, b)
	Equal([][]int32{ofA, ofB}, [][]int32{back.holds(), b.holds()}, "partitions after coming back")
	Eventually("all is read", func() bool { return seen.count() == 40 })
	back.leave()
	b.leave()
}

func commits(c client) {
	name, group := topic(c, 3, nil), c.fresh()
	sent(c, sending{}, fill(name, 0, 10))
	Equal(map[int32]int64{}, c.committed(group, name), "nothing is committed yet")
	OK(c.commit(group, name, map[int32]int64{0: 4, 1: 0}))
	Equal(map[int32]int64{0: 4, 1: 0}, c.committed(group, name), "offset 0 is a position too")
	seen := newTally()
	options := joining{topic: name, group: group, assignor: "range"}
	heir := c.join(options, seen)
	Eventually("the rest is read", func() bool { return seen.count() == 6 })
	heir.leave()
	for offset := int64(4); offset < 10; offset++ {
		Equal(1, seen.times[place{0, offset}], fmt.Sprintf("times that record %d was read", offset))
	}
	// After a restart of the client it goes on where it was.
	sent(c, sending{}, fill(name, 0, 5))
	again := newTally()
	heir = c.join(options, again)
	Eventually("what is new is read", func() bool { return again.count() == 5 })
	heir.leave()
	That(again.times[place{0, 10}] == 1 && again.times[place{0, 14}] == 1, "only what is new is read")
	OK(c.commit(group, name, map[int32]int64{0: 1, 1: 5_000_000_000}))
	committed := c.committed(group, name)
	Equal([]int64{1, 5_000_000_000}, []int64{committed[0], committed[1]}, "back and beyond the end, it is the group's affair")
}

func groupAdmin(c client) {
	name, group, seen := topic(c, 2, nil), c.fresh(), newTally()
	sent(c, sending{}, fill(name, 0, 30))
	sent(c, sending{}, fill(name, 1, 30))
	worker := c.join(joining{topic: name, group: group, assignor: "range"}, seen)
	Eventually("all is read", func() bool { return seen.count() == 60 })
	That(c.groups()[group], "listed")
	stable(c, group, 2)
	refused(c, "NON_EMPTY_GROUP", "delete a group with members", c.deleteGroup(group))
	worker.leave()
	Equal(map[int32]int64{0: 30, 1: 30}, c.committed(group, name), "positions")
	OK(c.deleteGroup(group))
	That(!c.groups()[group], "not listed after deletion")
	Equal(map[int32]int64{}, c.committed(group, name), "positions after deletion")
	refused(c, "GROUP_ID_NOT_FOUND", "delete it again", c.deleteGroup(group))
}

func deleteOffsets(c client) {
	name, group, seen := topic(c, 2, nil), c.fresh(), newTally()
	sent(c, sending{}, fill(name, 0, 3))
	OK(c.commit(group, name, map[int32]int64{0: 1, 1: 2}))
	OK(c.deleteOffsets(group, name, 1))
	Equal(map[int32]int64{0: 1}, c.committed(group, name), "positions that are left")
	worker := c.join(joining{topic: name, group: group, assignor: "range"}, seen)
	Eventually("the rest is read", func() bool { return seen.count() == 2 })
	refused(c, "GROUP_SUBSCRIBED_TO_TOPIC", "an offset that is in use", c.deleteOffsets(group, name, 0))
	worker.leave()
	refused(c, "GROUP_ID_NOT_FOUND", "an offset of no group", c.deleteOffsets(c.fresh(), name, 0))
}

// serverRestart: it is killed while an idempotent producer writes and a group reads. Nothing that was acknowledged is
// lost, nothing is written twice, and the group goes on.
func serverRestart(c client) {
	name, group, seen := topic(c, 3, nil), c.fresh(), newTally()
	flow := startFeed(c, name, 3, sending{idempotent: true})
	worker := c.join(joining{topic: name, group: group, assignor: "range", patient: true}, seen)
	Eventually("it flows", func() bool { return seen.count() > 60 })
	RestartServer()
	before := seen.count()
	Eventually("it flows again", func() bool { return seen.count() > before+60 })
	ends := flow.end()
	Eventually("all is read", func() bool { return seen.count() >= int(ends[0]+ends[1]+ends[2]) })
	worker.leave()
	c = c.again()
	Equal(ends, c.committed(group, name), "committed positions")
	got := everything(c, name)
	for n := range int32(3) {
		Equal(values(fill(name, n, int(ends[n]))), values(of(n, got)), "each value once, in order")
	}
}
