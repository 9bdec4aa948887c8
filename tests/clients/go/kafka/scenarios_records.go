// Scenarios about records: they come back as they were sent, from wherever reading starts.

package main

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"strconv"
	"strings"
	"time"

	. "daybook/clients/check"
)

// noise makes bytes that no codec makes smaller, the same for the same seed.
func noise(size int, seed int64) []byte {
	made := make([]byte, size)
	rand.New(rand.NewSource(seed)).Read(made)
	return made
}

func codecs(c client) {
	name := topic(c, 2, nil)
	var all []record
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		var records []record
		for n := range 300 {
			// Every third value is incompressible, the others are all but empty of information.
			value := bytes.Repeat([]byte(codec+strconv.Itoa(n)), n%50)
			if n%3 == 0 {
				value = noise(700, int64(n))
			}
			records = append(records, record{topic: name, partition: int32(n % 2), key: []byte(fmt.Sprint(codec, n)),
				value: value, timestamp: 1_700_000_000_000 + int64(n), headers: []header{{"codec", []byte(codec)}}})
		}
		sent(c, sending{codec: codec, linger: 20 * time.Millisecond}, records)
		all = append(all, records...)
	}
	got := everything(c, name)
	for n := range int32(2) {
		same(of(n, all), of(n, got), "each codec")
	}
}

func nullAndEmpty(c client) {
	name := topic(c, 1, nil)
	var records []record
	for _, key := range [][]byte{nil, {}, []byte("key")} {
		for _, value := range [][]byte{nil, {}, []byte("value")} {
			records = append(records, record{topic: name, key: key, value: value, timestamp: 1})
		}
	}
	sent(c, sending{}, records)
	sent(c, sending{codec: "gzip"}, records)
	same(append(records, records...), everything(c, name), "null and empty")
}

func headers(c client) {
	name := topic(c, 1, nil)
	rich := []header{{"twice", []byte("first")}, {"other", nil}, {"twice", []byte("second")}, {"empty", []byte{}},
		{"twice", []byte("first")}, {"bytes", []byte{0, 255, 128, 127}}, {"ключ", []byte("not ascii")}}
	var many []header
	for n := range 500 {
		many = append(many, header{fmt.Sprint("h", n%7), []byte(strconv.Itoa(n))})
	}
	records := []record{
		{topic: name, value: []byte("rich"), timestamp: 1, headers: rich},
		{topic: name, value: []byte("many"), timestamp: 1, headers: many},
		{topic: name, value: []byte("none"), timestamp: 1},
	}
	sent(c, sending{}, records)
	same(records, everything(c, name), "headers")
}

func timestamps(c client) {
	name := topic(c, 1, nil)
	var records []record
	for _, at := range []int64{1, 1_700_000_000_123, 5, time.Now().UnixMilli()} {
		records = append(records, record{topic: name, value: []byte("v"), timestamp: at})
	}
	sent(c, sending{}, records)
	same(records, everything(c, name), "timestamps")
}

func logAppendTime(c client) {
	name := topic(c, 1, map[string]string{"message.timestamp.type": "LogAppendTime"})
	for _, codec := range []string{"none", "lz4"} {
		records := fill(name, 0, 10)
		for n := range records {
			records[n].timestamp = 1000 + int64(n)
		}
		sent(c, sending{codec: codec}, records)
	}
	got, last := everything(c, name), int64(0)
	Equal(20, len(got), "records")
	for _, each := range got {
		That(time.Since(time.UnixMilli(each.timestamp)).Abs() < time.Minute, fmt.Sprint("the server's time, not ", each.timestamp))
		That(each.timestamp >= last, "times don't run backwards")
		last = each.timestamp
	}
}

func sizeLimit(c client) {
	name := topic(c, 1, nil)
	// The limit is on the batch: 61 bytes of head, then for one keyless record of about a mebibyte 11 bytes around the
	// value (length 3, attributes, two deltas, key length, value length 3, header count).
	const largest = 1_048_588 - 61 - 11
	roomy := sending{requestBytes: 4_000_000}
	records := []record{{topic: name, value: noise(largest, 1), timestamp: 1}, {topic: name, value: []byte("small"), timestamp: 1}}
	sent(c, roomy, records[:1])
	for _, size := range []int{largest + 1, 2_500_000} {
		_, err := send(c, roomy, []record{{topic: name, value: noise(size, 2), timestamp: 1}})
		refused(c, "MESSAGE_TOO_LARGE", fmt.Sprintf("a value of %d bytes", size), err)
	}
	sent(c, sending{}, records[1:])
	same(records, everything(c, name), "at the limit")

	wide := topic(c, 1, map[string]string{"max.message.bytes": "5000000"})
	big := []record{{topic: wide, value: noise(2_500_000, 3), timestamp: 1}}
	sent(c, roomy, big)
	same(big, everything(c, wide), "a big message")
}

func acks(c client) {
	for _, level := range []string{"0", "1", "all"} {
		name := topic(c, 1, nil)
		records := fill(name, 0, 200)
		// Without an answer nothing says that a partition was not ready yet, so one record goes ahead.
		sent(c, sending{}, records[:1])
		places := sent(c, sending{acks: level}, records[1:])
		if level != "0" {
			for n, each := range places {
				Equal(place{0, int64(n) + 1}, each, "place in the answer, acks="+level)
			}
		}
		same(records, c.read(name, map[int32]int64{0: 0}, 200, false), "acks="+level)
	}
}

// stream sends many batches at once: their order must be kept.
func stream(c client, options sending) {
	name := topic(c, 3, nil)
	var records []record
	for n := range 6000 {
		records = append(records, record{topic: name, partition: int32(n % 3), value: []byte(strconv.Itoa(n)), timestamp: 1 + int64(n)})
	}
	options.batchBytes, options.linger = 1000, time.Millisecond
	for n, each := range sent(c, options, records) {
		Equal(place{int32(n % 3), int64(n / 3)}, each, fmt.Sprintf("place of record %d in the answer", n))
	}
	got := everything(c, name)
	for n := range int32(3) {
		same(of(n, records), of(n, got), "in order")
	}
}

func pipelined(c client)  { stream(c, sending{}) }
func idempotent(c client) { stream(c, sending{idempotent: true}) }

func keyPartition(c client) {
	name := topic(c, 7, nil)
	want, got := map[string]int32{}, map[string]int32{}
	var records []record
	for _, line := range strings.Split(strings.TrimSpace(string(Must(os.ReadFile(os.Getenv("CLIENTS_KEYS"))))), "\n") {
		key, partition, _ := strings.Cut(line, "\t")
		want[key] = int32(Must(strconv.Atoi(partition)))
		records = append(records, record{topic: name, key: []byte(key), value: []byte("v" + key)})
	}
	sent(c, sending{byKey: true}, records)
	for _, each := range everything(c, name) {
		got[string(each.key)] = each.partition
		Equal("v"+string(each.key), string(each.value), "value")
	}
	Equal(want, got, "partition of each key")
}

func positions(c client) {
	name := topic(c, 2, nil)
	sent(c, sending{}, fill(name, 0, 100))
	sent(c, sending{}, fill(name, 1, 10))
	Equal(map[int32][2]int64{0: {0, 100}, 1: {0, 10}}, c.bounds(name), "beginnings and ends")
	got := c.read(name, map[int32]int64{0: 97, 1: 8}, 5, false)
	Equal([]string{"97", "98", "99"}, values(of(0, got)), "from an offset")
	Equal([]string{"8", "9"}, values(of(1, got)), "from an offset of the other")
	// A reader at the end gets what comes after it.
	late, writer := make(chan string), c.producer(sending{})
	go func() {
		time.Sleep(200 * time.Millisecond)
		_, err := writer.send([]record{{topic: name, value: []byte("new")}})
		late <- fmt.Sprint(err)
	}()
	got = c.read(name, map[int32]int64{0: 100}, 1, false)
	Equal("<nil>", <-late, "writing meanwhile")
	Equal([]string{"new"}, values(got), "what came after the end")
}

// midBatch: the server answers with the whole batch that holds the asked offset; the client drops what is before it.
func midBatch(c client) {
	for _, codec := range []string{"none", "zstd"} {
		name := topic(c, 1, nil)
		for n := range 3 {
			sent(c, sending{codec: codec, linger: 50 * time.Millisecond}, fill(name, 0, 150)[n*50:n*50+50])
		}
		for _, offset := range []int{0, 1, 49, 50, 51, 149} {
			got := c.read(name, map[int32]int64{0: int64(offset)}, 150-offset, false)
			Equal(values(fill(name, 0, 150))[offset:], values(got), "values")
			Equal(int64(offset), got[0].offset, "the first offset")
		}
	}
}

func times(c client) {
	name := topic(c, 2, nil)
	var alone, together []record
	for _, at := range []int64{100, 300, 200, 300, 500} {
		value := []byte(fmt.Sprint("at ", at))
		alone = append(alone, record{topic: name, value: value, timestamp: at})
		together = append(together, record{topic: name, partition: 1, value: value, timestamp: at})
	}
	// Batches of their own first, then all in one batch, where the search goes on inside it.
	for _, each := range alone {
		sent(c, sending{}, []record{each})
	}
	sent(c, sending{linger: 200 * time.Millisecond}, together)
	for asked, offset := range map[int64]int64{1: 0, 100: 0, 101: 1, 200: 1, 300: 1, 301: 4, 500: 4, 501: -1} {
		Equal(map[int32]int64{0: offset, 1: offset}, c.at(name, asked), fmt.Sprint("first at or after ", asked))
	}
	Equal([]string{"at 500"}, values(c.read(name, map[int32]int64{1: c.at(name, 301)[1]}, 1, false)), "read from a time")
}

// expectedVersion is a conditional produce to an event topic.
func expectedVersion(c client) {
	name := topic(c, 3, map[string]string{"daybook.streams": "true"})
	key := []byte(name + "-1")
	try := func(value, expected string) (place, error) {
		each := record{topic: name, key: key, value: []byte(value)}
		if expected != "" {
			each.headers = []header{{"daybook-expected-version", []byte(expected)}}
		}
		places, err := send(c, sending{byKey: true}, []record{each})
		return places[0], err
	}
	conflict := func(expected, what string) {
		_, err := try("no", expected)
		refused(c, "INVALID_RECORD", what, err)
	}
	conflict("0", "version 0 of no stream")
	first := Must(try("first", "-1"))
	Equal(int64(0), first.offset, "offset: what is refused takes none")
	conflict("-1", "no stream, at 0")
	conflict("1", "version 1, at 0")
	for n, each := range []struct{ value, expected string }{{"second", "0"}, {"third", "any"}, {"fourth", ""}, {"fifth", "3"}} {
		Equal(place{first.partition, int64(n) + 1}, Must(try(each.value, each.expected)), each.value)
	}
	conflict("soon", "what is no version")
	Equal([]string{"first", "second", "third", "fourth", "fifth"}, values(everything(c, name)), "what was appended")
}
