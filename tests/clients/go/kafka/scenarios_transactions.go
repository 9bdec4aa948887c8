// Scenarios about transactions.

package main

import (
	"fmt"
	"reflect"
	"slices"

	. "daybook/clients/check"
)

// in makes records of both partitions in turn.
func in(topic, what string, count int) []record {
	records := make([]record, count)
	for n := range records {
		records[n] = record{topic: topic, partition: int32(n % 2), value: []byte(fmt.Sprint(what, n))}
	}
	return records
}

func transactions(c client) {
	name, plain := topic(c, 2, nil), record{value: []byte("plain")}
	plain.topic = name
	t := Must(c.transactor(c.fresh()))
	begun := func(records []record) {
		OK(t.begin())
		Must(t.send(records))
	}
	aborted, kept, open := in(name, "aborted", 10), in(name, "kept", 10), in(name, "open", 4)
	begun(aborted)
	Equal(map[int32]int64{0: 0, 1: 0}, c.stable(name), "stable while the first is open")
	OK(t.abort())
	begun(kept)
	OK(t.commit())
	sent(c, sending{}, []record{plain})
	begun(open)
	// Each end takes an offset of its own; a server may write it a moment later than it answers.
	Eventually("beginnings and ends", func() bool {
		return reflect.DeepEqual(map[int32][2]int64{0: {0, 15}, 1: {0, 14}}, c.bounds(name))
	})
	Equal(map[int32]int64{0: 13, 1: 12}, c.stable(name), "stable while the last is open")
	all := slices.Concat(aborted, kept, []record{plain}, open)
	from := map[int32]int64{0: 0, 1: 0}
	dirty := c.read(name, from, 25, false)
	for n := range int32(2) {
		Equal(values(of(n, all)), values(of(n, dirty)), "everything, uncommitted")
	}
	clean := c.read(name, from, 11, true)
	Equal(append(values(of(0, kept)), "plain"), values(of(0, clean)), "what is committed")
	Equal(int64(6), clean[0].offset, "its first offset")
	Equal(values(of(1, kept)), values(of(1, clean)), "what is committed in the other")
	OK(t.commit())
	Eventually("stable when all are ended", func() bool {
		return reflect.DeepEqual(map[int32]int64{0: 16, 1: 15}, c.stable(name))
	})
	more := c.read(name, from, 15, true)
	Equal(append(values(of(1, kept)), values(of(1, open))...), values(of(1, more)), "committed since")
}

func transactionsFenced(c client) {
	name, id := topic(c, 1, nil), c.fresh()
	one := func(what string) []record { return []record{{topic: name, value: []byte(what)}} }
	first := Must(c.transactor(id))
	OK(first.begin())
	Must(first.send(one("of the first")))
	second := Must(c.transactor(id))
	OK(second.begin())
	Must(second.send(one("of the second")))
	err := first.commit()
	That(err != nil, "a commit of the first is refused")
	// Clients before KIP-588 are told the older of the two.
	That(slices.Contains([]string{"PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH"}, c.code(err)), "it is fenced, not: "+err.Error())
	OK(second.commit())
	from := map[int32]int64{0: 0}
	Equal([]string{"of the second"}, values(c.read(name, from, 1, true)), "what is committed")
	Equal([]string{"of the first", "of the second"}, values(c.read(name, from, 2, false)), "everything")
}

// transactionsGroup: workers of a group copy one topic to another while they come and go: each record is copied once.
func transactionsGroup(c client) {
	const partitions, count = 4, 60
	from, to, group := topic(c, partitions, nil), topic(c, partitions, nil), c.fresh()
	worker := func() *member { return c.copier(from, to, group, c.fresh()) }
	writer := c.producer(sending{})
	write := func(begin int) {
		for n := range int32(partitions) {
			Must(writer.send(fill(from, n, count)[begin : begin+20]))
		}
	}
	write(0)
	first := worker()
	share([]int{4}, first)
	second := worker()
	share([]int{2, 2}, first, second)
	write(20)
	first.leave()
	share([]int{4}, second)
	write(40)
	ends, begins := map[int32]int64{}, map[int32]int64{}
	for n := range int32(partitions) {
		ends[n], begins[n] = count, 0
	}
	got := c.read(to, begins, partitions*count, true)
	second.leave()
	for n := range int32(partitions) {
		Equal(values(fill(to, n, count)), values(of(n, got)), "each record once, in order")
	}
	Equal(ends, c.committed(group, from), "positions")
	// Nothing stays open.
	Eventually("stable", func() bool {
		stable := c.stable(to)
		for n, bounds := range c.bounds(to) {
			if stable[n] != bounds[1] {
				return false
			}
		}
		return true
	})
}

// transactionsRestart: a transaction goes on after the server was killed in the middle of it.
func transactionsRestart(c client) {
	name := topic(c, 2, nil)
	t := Must(c.transactor(c.fresh()))
	records := in(name, "v", 20)
	OK(t.begin())
	Must(t.send(records[:10]))
	RestartServer()
	Must(t.send(records[10:]))
	OK(t.commit())
	got := c.again().read(name, map[int32]int64{0: 0, 1: 0}, 20, true)
	for n := range int32(2) {
		Equal(values(of(n, records)), values(of(n, got)), "all of the transaction")
	}
}
