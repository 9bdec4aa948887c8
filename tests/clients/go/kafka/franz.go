// franz-go: kgo to produce and consume, kadm to administer.

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	. "daybook/clients/check"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type franz struct {
	address string
	prefix  string
	names   int
	admin   *kadm.Client
	ctx     context.Context
	closers []func()
}

func openFranz(address, scenario string) client {
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	f := &franz{
		address: address,
		prefix:  fmt.Sprintf("franz-%s-%x", strings.ReplaceAll(scenario, "_", "-"), time.Now().UnixNano()),
		ctx:     ctx,
		closers: []func(){cancel},
	}
	f.admin = kadm.NewClient(f.open())
	return f
}

func (f *franz) Lacks(string) string { return "" }

func (f *franz) Close() {
	for _, each := range slices.Backward(f.closers) {
		each()
	}
}

func (f *franz) again() client {
	other := openFranz(f.address, "again")
	f.closers = append(f.closers, other.Close)
	return other
}

func (f *franz) fresh() string {
	f.names++
	return fmt.Sprintf("%s-%d", f.prefix, f.names)
}

// open makes a client that lives as long as the scenario at most.
func (f *franz) open(options ...kgo.Opt) *kgo.Client {
	cl := Must(kgo.NewClient(append(options, kgo.SeedBrokers(f.address), kgo.MetadataMinAge(10*time.Millisecond))...))
	f.closers = append(f.closers, cl.CloseAllowingRebalance)
	return cl
}

func (f *franz) code(err error) string {
	var known *kerr.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

func (f *franz) cluster() (string, []string) {
	metadata := Must(f.admin.BrokerMetadata(f.ctx))
	var addresses []string
	for _, each := range metadata.Brokers {
		addresses = append(addresses, fmt.Sprintf("%s:%d", each.Host, each.Port))
	}
	return metadata.Cluster, addresses
}

func (f *franz) create(topic string, partitions int32, replicas int16, configs map[string]string) error {
	given := map[string]*string{}
	for name, value := range configs {
		given[name] = &value
	}
	_, err := f.admin.CreateTopic(f.ctx, partitions, replicas, given, topic)
	return err
}

func (f *franz) remove(topic string) error {
	_, err := f.admin.DeleteTopic(f.ctx, topic)
	return err
}

func (f *franz) topics() map[string]bool {
	names := map[string]bool{}
	for name := range Must(f.admin.ListTopics(f.ctx)) {
		names[name] = true
	}
	return names
}

func (f *franz) partitions(topic string) (int, error) {
	detail := Must(f.admin.ListTopics(f.ctx, topic))[topic]
	return len(detail.Partitions), detail.Err
}

func (f *franz) configs(topic string) map[string]config {
	described := Must(Must(f.admin.DescribeTopicConfigs(f.ctx, topic)).On(topic, nil))
	OK(described.Err)
	configs := map[string]config{}
	for _, each := range described.Configs {
		configs[each.Key] = config{each.MaybeValue(), each.Source != kmsg.ConfigSourceDynamicTopicConfig}
	}
	return configs
}

func (f *franz) alter(topic string, configs map[string]*string) error {
	var alter []kadm.AlterConfig
	for name, value := range configs {
		op := kadm.SetConfig
		if value == nil {
			op = kadm.DeleteConfig
		}
		alter = append(alter, kadm.AlterConfig{Op: op, Name: name, Value: value})
	}
	responses, err := f.admin.AlterTopicConfigs(f.ctx, alter, topic)
	if err != nil {
		return err
	}
	return responses[0].Err
}

func (f *franz) grow(topic string, partitions int32) error {
	responses, err := f.admin.UpdatePartitions(f.ctx, int(partitions), topic)
	if err != nil {
		return err
	}
	return responses[topic].Err
}

func (f *franz) deleteRecords(topic string, before map[int32]int64) error {
	responses, err := f.admin.DeleteRecords(f.ctx, offsets(topic, before))
	if err != nil {
		return err
	}
	return responses.Error()
}

func (f *franz) bounds(topic string) map[int32][2]int64 {
	bounds := map[int32][2]int64{}
	begins, ends := Must(f.admin.ListStartOffsets(f.ctx, topic)), Must(f.admin.ListEndOffsets(f.ctx, topic))
	OK(begins.Error())
	OK(ends.Error())
	begins.Each(func(begin kadm.ListedOffset) {
		end, _ := ends.Lookup(topic, begin.Partition)
		bounds[begin.Partition] = [2]int64{begin.Offset, end.Offset}
	})
	return bounds
}

func (f *franz) at(topic string, milliseconds int64) map[int32]int64 {
	found := map[int32]int64{}
	listed := Must(f.admin.ListOffsetsAfterMilli(f.ctx, milliseconds, topic))
	OK(listed.Error())
	listed.Each(func(each kadm.ListedOffset) {
		found[each.Partition] = each.Offset
		// kadm puts the end in the place of nothing, and says so by this.
		if each.Timestamp < 0 {
			found[each.Partition] = -1
		}
	})
	return found
}

func (f *franz) stable(topic string) map[int32]int64 {
	stable := map[int32]int64{}
	Must(f.admin.ListCommittedOffsets(f.ctx, topic)).Each(func(each kadm.ListedOffset) { stable[each.Partition] = each.Offset })
	return stable
}

func (f *franz) producer(options sending) producer {
	opts := []kgo.Opt{kgo.ProducerBatchCompression(franzCodec(options.codec)), kgo.ProducerLinger(options.linger),
		kgo.AllowAutoTopicCreation(), kgo.UnknownTopicRetries(10)}
	if !options.byKey {
		opts = append(opts, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	switch options.acks {
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()), kgo.DisableIdempotentWrite())
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()), kgo.DisableIdempotentWrite())
	default:
		if !options.idempotent {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
	}
	if !options.idempotent {
		opts = append(opts, kgo.MaxProduceRequestsInflightPerBroker(5))
	}
	if options.batchBytes > 0 {
		opts = append(opts, kgo.ProducerBatchMaxBytes(options.batchBytes))
	}
	if options.requestBytes > 0 {
		opts = append(opts, kgo.ProducerBatchMaxBytes(options.requestBytes))
	}
	return &franzProducer{f.ctx, f.open(opts...)}
}

type franzProducer struct {
	ctx context.Context
	cl  *kgo.Client
}

func (p *franzProducer) close() { p.cl.Close() }

func (p *franzProducer) send(records []record) ([]place, error) {
	places, failures := make([]place, len(records)), make([]error, len(records))
	for n, each := range records {
		p.cl.Produce(p.ctx, toFranz(each), func(sent *kgo.Record, err error) {
			places[n], failures[n] = place{sent.Partition, sent.Offset}, err
		})
	}
	err := p.cl.Flush(p.ctx)
	return places, errors.Join(append(failures, err)...)
}

func (f *franz) read(topic string, from map[int32]int64, count int, committed bool) []record {
	at := map[int32]kgo.Offset{}
	for partition, offset := range from {
		at[partition] = kgo.NewOffset().At(offset)
	}
	level := kgo.ReadUncommitted()
	if committed {
		level = kgo.ReadCommitted()
	}
	cl := f.open(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}), kgo.FetchIsolationLevel(level),
		kgo.FetchMaxWait(50*time.Millisecond))
	defer cl.Close()
	ctx, cancel := context.WithTimeout(f.ctx, Patience)
	defer cancel()
	var got []record
	for len(got) < count {
		fetches := cl.PollRecords(ctx, count-len(got))
		if err := fetches.Err(); err != nil {
			Fail("read %d records of %d, then %v", len(got), count, err)
		}
		fetches.EachRecord(func(each *kgo.Record) { got = append(got, fromFranz(each)) })
	}
	slices.SortStableFunc(got, func(a, b record) int { return int(a.partition - b.partition) })
	return got
}

func franzCodec(name string) kgo.CompressionCodec {
	switch name {
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	}
	return kgo.NoCompression()
}

func toFranz(each record) *kgo.Record {
	made := &kgo.Record{Topic: each.topic, Partition: each.partition, Key: each.key, Value: each.value}
	if each.timestamp != 0 {
		made.Timestamp = time.UnixMilli(each.timestamp)
	}
	for _, header := range each.headers {
		made.Headers = append(made.Headers, kgo.RecordHeader{Key: header.key, Value: header.value})
	}
	return made
}

func fromFranz(got *kgo.Record) record {
	each := record{topic: got.Topic, partition: got.Partition, key: got.Key, value: got.Value, offset: got.Offset,
		timestamp: got.Timestamp.UnixMilli(), appended: got.Attrs.TimestampType() == 1}
	for _, h := range got.Headers {
		each.headers = append(each.headers, header{h.Key, h.Value})
	}
	return each
}

func offsets(topic string, by map[int32]int64) kadm.Offsets {
	var offsets kadm.Offsets
	for partition, offset := range by {
		offsets.AddOffset(topic, partition, offset, -1)
	}
	return offsets
}
