// What the Go clients are tried with, and the scenarios about topics and what an administrator does to them.

package main

import (
	"fmt"
	"slices"
	"strings"

	. "daybook/clients/check"
)

var scenarios = []Scenario[client]{
	{Name: "cluster", Run: cluster},
	{Name: "topics", Run: topics},
	{Name: "topics_refused", Run: topicsRefused},
	{Name: "auto_create", Run: autoCreate},
	{Name: "many_topics", Run: manyTopics},
	{Name: "configs", Run: configs},
	{Name: "configs_altered", Run: alterConfigs},
	{Name: "more_partitions", Run: morePartitions},
	{Name: "delete_records", Run: deleteRecords},
	{Name: "codecs", Run: codecs},
	{Name: "null_and_empty", Run: nullAndEmpty},
	{Name: "headers", Run: headers},
	{Name: "timestamps", Run: timestamps},
	{Name: "log_append_time", Run: logAppendTime},
	{Name: "size_limit", Run: sizeLimit},
	{Name: "acks", Run: acks},
	{Name: "pipelined", Run: pipelined},
	{Name: "idempotent", Run: idempotent},
	{Name: "key_partition", Run: keyPartition},
	{Name: "positions", Run: positions},
	{Name: "mid_batch", Run: midBatch},
	{Name: "times", Run: times},
	{Name: "group_range", Run: comeAndGo("range")},
	{Name: "group_roundrobin", Run: comeAndGo("roundrobin")},
	{Name: "group_sticky", Run: comeAndGo("sticky")},
	{Name: "group_cooperative", Run: comeAndGo("cooperative-sticky")},
	{Name: "consumer_uniform", Run: func(c client) { comeAndGoAs(c, joining{assignor: "sticky", consumerProtocol: true}) }},
	{Name: "consumer_range", Run: func(c client) { comeAndGoAs(c, joining{assignor: "range", consumerProtocol: true}) }},
	{Name: "static_membership", Run: staticMembership},
	{Name: "commits", Run: commits},
	{Name: "group_admin", Run: groupAdmin},
	{Name: "delete_offsets", Run: deleteOffsets},
	{Name: "share_group", Run: shareGroup},
	{Name: "transactions", Run: transactions},
	{Name: "transactions_fenced", Run: transactionsFenced},
	{Name: "transactions_group", Run: transactionsGroup},
	{Name: "transactions_restart", Run: transactionsRestart},
	{Name: "expected_version", Run: expectedVersion},
	{Name: "server_restart", Run: serverRestart},
}

func cluster(c client) {
	id, addresses := c.cluster()
	That(id != "", "the cluster has an id")
	Equal(1, len(addresses), "nodes")
	again, _ := c.cluster()
	Equal(id, again, "cluster id, asked again")
}

func topics(c client) {
	first, second := topic(c, 3, nil), topic(c, 1, nil)
	listed := c.topics()
	That(listed[first] && listed[second], "both are listed")
	sent(c, sending{}, fill(first, 2, 5))
	OK(c.remove(first))
	Eventually(first+" is gone", func() bool { return !c.topics()[first] })
	That(c.topics()[second], "the other topic is still there")
	refused(c, "UNKNOWN_TOPIC_OR_PARTITION", "delete it again", c.remove(first))
	_, err := c.partitions(first)
	refused(c, "UNKNOWN_TOPIC_OR_PARTITION", "describe it", err)

	OK(c.create(first, 1, 1, nil))
	Eventually(first+" is back", func() bool {
		count, err := c.partitions(first)
		return err == nil && count == 1
	})
	Equal(map[int32][2]int64{0: {0, 0}}, c.bounds(first), "the new topic of that name is empty")
	sent(c, sending{}, fill(first, 0, 2))
	Equal([]string{"0", "1"}, values(everything(c, first)), "records written since")
}

func topicsRefused(c client) {
	taken := topic(c, 1, nil)
	refused(c, "TOPIC_ALREADY_EXISTS", "a name that is taken", c.create(taken, 1, 1, nil))
	for _, bad := range []string{".", "..", "a b", "a/b", strings.Repeat("x", 250)} {
		refused(c, "INVALID_TOPIC_EXCEPTION", "the name "+bad, c.create(bad, 1, 1, nil))
	}
	refused(c, "INVALID_PARTITIONS", "no partitions", c.create(c.fresh(), 0, 1, nil))
	refused(c, "INVALID_REPLICATION_FACTOR", "more replicas than nodes", c.create(c.fresh(), 1, 3, nil))
	for name, value := range map[string]string{"no.such.config": "1", "retention.ms": "long"} {
		refused(c, "INVALID_CONFIG", name, c.create(c.fresh(), 1, 1, map[string]string{name: value}))
	}
}

func autoCreate(c client) {
	name := c.fresh()
	sent(c, sending{byKey: true}, []record{{topic: name, value: []byte("first")}})
	Equal([]string{"first"}, values(everything(c, name)), "records")
	Equal(1, Must(c.partitions(name)), "partitions by default")
}

func manyTopics(c client) {
	var names []string
	var records []record
	for range 100 {
		names = append(names, c.fresh())
		OK(c.create(names[len(names)-1], 1, 1, nil))
		records = append(records, record{topic: names[len(names)-1], value: []byte(names[len(names)-1])})
	}
	missing := func() []string {
		listed := c.topics()
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return listed[name] })
	}
	Eventually("all are listed", func() bool { return len(missing()) == 0 })
	sent(c, sending{}, records)
	for _, name := range names[:10] {
		Equal([]string{name}, values(everything(c, name)), "records of "+name)
	}
	for _, name := range names {
		OK(c.remove(name))
	}
	Eventually("all are gone", func() bool { return len(missing()) == len(names) })
}

func configs(c client) {
	described := c.configs(topic(c, 1, map[string]string{"max.message.bytes": "2000"}))
	Equal(config{"2000", false}, described["max.message.bytes"], "max.message.bytes")
	for name, value := range map[string]string{"cleanup.policy": "delete", "retention.ms": "604800000",
		"retention.bytes": "-1", "segment.bytes": "1073741824", "message.timestamp.type": "CreateTime",
		"compression.type": "producer"} {
		Equal(config{value, true}, described[name], name+" and whether it is the default")
	}
}

func alterConfigs(c client) {
	name := topic(c, 1, map[string]string{"retention.ms": "1000000"})
	small, long, bad := "2000", "7200000", "-7"
	OK(c.alter(name, map[string]*string{"max.message.bytes": &small, "retention.ms": &long}))
	// What is altered may take a moment to be described.
	is := func(key string, want config) {
		Eventually(fmt.Sprintf("%s is %v", key, want), func() bool { return c.configs(name)[key] == want })
	}
	is("max.message.bytes", config{"2000", false})
	is("retention.ms", config{"7200000", false})
	large := record{topic: name, value: noise(3000, 1)}
	_, err := send(c, sending{}, []record{large})
	refused(c, "MESSAGE_TOO_LARGE", "what is larger than the topic allows now", err)
	refused(c, "INVALID_CONFIG", "a number out of range", c.alter(name, map[string]*string{"max.message.bytes": &bad}))
	OK(c.alter(name, map[string]*string{"max.message.bytes": nil}))
	is("max.message.bytes", config{"1048588", true})
	is("retention.ms", config{"7200000", false})
	sent(c, sending{}, []record{large})
	same([]record{large}, everything(c, name), "what is allowed again")
}

func morePartitions(c client) {
	name := topic(c, 2, nil)
	sent(c, sending{}, fill(name, 1, 3))
	OK(c.grow(name, 4))
	Eventually("there are four", func() bool { return Must(c.partitions(name)) == 4 })
	sent(c, sending{}, fill(name, 3, 2))
	got := everything(c, name)
	Equal([]string{"0", "1", "2"}, values(of(1, got)), "what was there before")
	Equal([]string{"0", "1"}, values(of(3, got)), "records of a new partition")
	refused(c, "INVALID_PARTITIONS", "fewer partitions", c.grow(name, 3))
	refused(c, "UNKNOWN_TOPIC_OR_PARTITION", "partitions of no topic", c.grow(c.fresh(), 3))
}

func deleteRecords(c client) {
	name := topic(c, 2, nil)
	for n := range 2 {
		sent(c, sending{}, fill(name, int32(n), 20))
	}
	OK(c.deleteRecords(name, map[int32]int64{0: 7}))
	Equal(map[int32][2]int64{0: {7, 20}, 1: {0, 20}}, c.bounds(name), "beginnings and ends")
	got := everything(c, name)
	Equal(33, len(got), "records that are left")
	Equal(values(fill(name, 0, 20))[7:], values(of(0, got)), "what is left of the partition")
	Equal(int64(7), of(0, got)[0].offset, "offsets stay")
	refused(c, "OFFSET_OUT_OF_RANGE", "more than there is", c.deleteRecords(name, map[int32]int64{0: 21}))
	// -1 is all there is.
	OK(c.deleteRecords(name, map[int32]int64{0: -1}))
	Equal(map[int32][2]int64{0: {20, 20}, 1: {0, 20}}, c.bounds(name), "nothing is left")
	sent(c, sending{}, fill(name, 0, 1))
	Equal(int64(20), of(0, everything(c, name))[0].offset, "the next offset")
}
