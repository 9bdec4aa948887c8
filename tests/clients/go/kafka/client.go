// The few verbs that the scenarios need of a client library, so that each scenario is written once for both.

package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	. "daybook/clients/check"
)

type header struct {
	key   string
	value []byte
}

type record struct {
	topic string
	// Chosen by the key if negative.
	partition int32
	key       []byte
	value     []byte
	headers   []header
	// Milliseconds; 0 is now.
	timestamp int64
	offset    int64
	// The timestamp is the server's.
	appended bool
}

type place struct {
	partition int32
	offset    int64
}

type config struct {
	value     string
	isDefault bool
}

type sending struct {
	codec string
	// "0", "1" or "all", which is also what the empty string means.
	acks         string
	idempotent   bool
	batchBytes   int32
	requestBytes int32
	linger       time.Duration
	// Records go where their keys say, not where they say themselves.
	byKey bool
}

type joining struct {
	topic, group string
	assignor     string
	instance     string
	// A group of KIP-848.
	consumerProtocol bool
	// It goes on after errors.
	patient bool
}

// client is one scenario's view of the server through one library.
type client interface {
	View
	fresh() string
	// The same with connections of its own: an administrator's old one ends with the server.
	again() client
	// The protocol's name of an error.
	code(err error) string
	cluster() (id string, addresses []string)

	create(topic string, partitions int32, replicas int16, configs map[string]string) error
	remove(topic string) error
	topics() map[string]bool
	partitions(topic string) (int, error)
	configs(topic string) map[string]config
	// A nil value deletes the config.
	alter(topic string, configs map[string]*string) error
	grow(topic string, partitions int32) error
	deleteRecords(topic string, before map[int32]int64) error
	bounds(topic string) map[int32][2]int64
	// The first offset at or after a time, or -1.
	at(topic string, milliseconds int64) map[int32]int64
	// Last stable offsets.
	stable(topic string) map[int32]int64

	// A producer that lives until it is closed, or the scenario ends.
	producer(options sending) producer
	// Exactly so many records from these offsets on, each partition in order; too long a wait is a failure.
	read(topic string, from map[int32]int64, count int, committed bool) []record

	join(options joining, seen *tally) *member
	groups() map[string]bool
	// State, and how many partitions each member has.
	describeGroup(group string) (string, []int)
	committed(group, topic string) map[int32]int64
	commit(group, topic string, offsets map[int32]int64) error
	deleteGroup(group string) error
	deleteOffsets(group, topic string, partition int32) error

	transactor(id string) (transactor, error)
	// Copies a topic to another, each record once, in transactions that hold the group's offsets as well.
	copier(from, to, group, id string) *member
}

type producer interface {
	// Sends all, waits for all, fails with the first error.
	send(records []record) ([]place, error)
	close()
}

type transactor interface {
	producer
	begin() error
	commit() error
	abort() error
}

// tally counts how often each record was read; members share it.
type tally struct {
	sync.Mutex
	times map[place]int
}

func newTally() *tally {
	return &tally{times: map[place]int{}}
}

func (t *tally) note(partition int32, offset int64) {
	t.Lock()
	defer t.Unlock()
	t.times[place{partition, offset}]++
}

func (t *tally) count() int {
	t.Lock()
	defer t.Unlock()
	return len(t.times)
}

// member is a group's member at work elsewhere. It commits what it has read whenever partitions are taken from it and
// when it leaves, so between members that all take their leave every record is read once.
type member struct {
	sync.Mutex
	owned   map[int32]bool
	failure error
	patient bool
	// Leaves and waits for the end of it.
	end  func()
	once sync.Once
}

func newMember() *member {
	return &member{owned: map[int32]bool{}}
}

func (m *member) take(partitions ...int32) {
	m.Lock()
	defer m.Unlock()
	for _, each := range partitions {
		m.owned[each] = true
	}
}

func (m *member) give(partitions ...int32) {
	m.Lock()
	defer m.Unlock()
	for _, each := range partitions {
		delete(m.owned, each)
	}
}

func (m *member) failed(err error) {
	m.Lock()
	defer m.Unlock()
	if m.failure == nil && !m.patient {
		m.failure = err
	}
}

func (m *member) holds() []int32 {
	m.Lock()
	defer m.Unlock()
	holds := []int32{}
	for each := range m.owned {
		holds = append(holds, each)
	}
	slices.Sort(holds)
	return holds
}

func (m *member) leave() {
	m.once.Do(m.end)
	m.Lock()
	defer m.Unlock()
	if m.failure != nil {
		Fail("the member failed: %v", m.failure)
	}
}

// share waits until the members own so many partitions each, in any order, and no partition twice.
func share(sizes []int, members ...*member) {
	total := 0
	for _, size := range sizes {
		total += size
	}
	EventuallySaying(func() string {
		text := fmt.Sprintf("want shares %v, got", sizes)
		for _, each := range members {
			text += fmt.Sprintf(" %v (%v)", each.holds(), each.failure)
		}
		return text
	}, func() bool {
		var got []int
		all := map[int32]bool{}
		for _, each := range members {
			holds := each.holds()
			got = append(got, len(holds))
			for _, partition := range holds {
				all[partition] = true
			}
		}
		slices.Sort(got)
		return slices.Equal(got, sizes) && len(all) == total
	})
}

// topic makes a new topic and returns once it can be described.
func topic(c client, partitions int32, configs map[string]string) string {
	name := c.fresh()
	OK(c.create(name, partitions, 1, configs))
	Eventually(name+" can be described", func() bool {
		count, err := c.partitions(name)
		return err == nil && count == int(partitions)
	})
	return name
}

func refused(c client, name, what string, err error) {
	if err == nil {
		Fail("%s: want %s, but it succeeded", what, name)
	}
	if got := c.code(err); got != name {
		Fail("%s: want %s, got %s (%v)", what, name, got, err)
	}
}

// fill makes records 0..count as text, without keys.
func fill(topic string, partition int32, count int) []record {
	records := make([]record, count)
	for n := range records {
		records[n] = record{topic: topic, partition: partition, value: []byte(fmt.Sprint(n))}
	}
	return records
}

// send is for a producer of this one use.
func send(c client, options sending, records []record) ([]place, error) {
	p := c.producer(options)
	defer p.close()
	return p.send(records)
}

func sent(c client, options sending, records []record) []place {
	return Must(send(c, options, records))
}

// everything reads each partition from its beginning to its end; partition by partition, each in order.
func everything(c client, topic string) []record {
	from, count := map[int32]int64{}, 0
	for partition, bounds := range c.bounds(topic) {
		from[partition] = bounds[0]
		count += int(bounds[1] - bounds[0])
	}
	if count == 0 {
		return nil
	}
	return c.read(topic, from, count, false)
}

func of(partition int32, records []record) []record {
	var some []record
	for _, each := range records {
		if each.partition == partition {
			some = append(some, each)
		}
	}
	return some
}

func values(records []record) []string {
	texts := []string{}
	for _, each := range records {
		texts = append(texts, string(each.value))
	}
	return texts
}

// same compares keys, values, headers in order, timestamps, and offsets without a gap.
func same(sent, got []record, what string) {
	Equal(len(sent), len(got), what+": number of records")
	for n, want := range sent {
		have, what := got[n], fmt.Sprintf("%s: record %d of partition %d", what, n, got[n].partition)
		sameBytes(want.key, have.key, what+": key")
		sameBytes(want.value, have.value, what+": value")
		Equal(len(want.headers), len(have.headers), what+": number of headers")
		for h, header := range want.headers {
			Equal(header.key, have.headers[h].key, what+": header")
			sameBytes(header.value, have.headers[h].value, what+": value of header "+header.key)
		}
		Equal(int64(n), have.offset, what+": offset")
		if want.timestamp != 0 {
			Equal(want.timestamp, have.timestamp, what+": timestamp")
		}
	}
}

// Nothing and emptiness are two things.
func sameBytes(want, got []byte, what string) {
	Equal(want == nil, got == nil, what+": is null")
	Equal(string(want), string(got), what)
}
