// Sarama.

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	. "daybook/clients/check"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kerr"
)

type saramaClient struct {
	address string
	prefix  string
	names   int
	client  sarama.Client
	admin   sarama.ClusterAdmin
	closers []func()
}

func openSarama(address, scenario string) client {
	s := &saramaClient{
		address: address,
		prefix:  fmt.Sprintf("sarama-%s-%x", strings.ReplaceAll(scenario, "_", "-"), time.Now().UnixNano()),
	}
	s.client = Must(sarama.NewClient([]string{address}, saramaConfig()))
	s.admin = Must(sarama.NewClusterAdminFromClient(s.client))
	// The administrator closes the client that it was made from.
	s.closers = append(s.closers, func() { s.admin.Close() })
	return s
}

func saramaConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Producer.Return.Successes = true
	// Enough for a restart of the server.
	config.Producer.Retry.Max, config.Producer.Retry.Backoff = 1000, 100*time.Millisecond
	config.Metadata.Retry.Max, config.Metadata.Retry.Backoff = 1000, 100*time.Millisecond
	config.Consumer.MaxWaitTime = 50 * time.Millisecond
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = 100 * time.Millisecond
	config.Consumer.Group.Rebalance.Retry.Backoff = 50 * time.Millisecond
	return config
}

func (s *saramaClient) Lacks(scenario string) string {
	return map[string]string{
		"cluster":          "sarama does not tell the cluster's id",
		"consumer_uniform": "sarama has no groups of KIP-848",
		"consumer_range":   "sarama has no groups of KIP-848",
		"share_group":      "sarama has no share groups",
	}[scenario]
}

func (s *saramaClient) Close() {
	for _, each := range slices.Backward(s.closers) {
		each()
	}
}

func (s *saramaClient) again() client {
	other := openSarama(s.address, "again")
	s.closers = append(s.closers, other.Close)
	return other
}

func (s *saramaClient) fresh() string {
	s.names++
	return fmt.Sprintf("%s-%d", s.prefix, s.names)
}

func (s *saramaClient) code(err error) string {
	var several sarama.ProducerErrors
	if errors.As(err, &several) {
		err = several[0].Err
	}
	var topic *sarama.TopicError
	if errors.As(err, &topic) {
		err = topic.Err
	}
	var known sarama.KError
	if errors.As(err, &known) {
		return kerr.TypedErrorForCode(int16(known)).Message
	}
	return err.Error()
}

func (s *saramaClient) cluster() (string, []string) { return "", nil }

func (s *saramaClient) create(topic string, partitions int32, replicas int16, configs map[string]string) error {
	detail := &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: replicas, ConfigEntries: map[string]*string{}}
	for name, value := range configs {
		detail.ConfigEntries[name] = &value
	}
	return s.admin.CreateTopic(topic, detail, false)
}

func (s *saramaClient) remove(topic string) error { return s.admin.DeleteTopic(topic) }

func (s *saramaClient) topics() map[string]bool {
	names := map[string]bool{}
	for name := range Must(s.admin.ListTopics()) {
		names[name] = true
	}
	return names
}

func (s *saramaClient) partitions(topic string) (int, error) {
	described, err := s.admin.DescribeTopics([]string{topic})
	if err != nil {
		return 0, err
	}
	if described[0].Err != sarama.ErrNoError {
		return 0, described[0].Err
	}
	return len(described[0].Partitions), nil
}

func (s *saramaClient) configs(topic string) map[string]config {
	configs := map[string]config{}
	for _, each := range Must(s.admin.DescribeConfig(sarama.ConfigResource{Type: sarama.TopicResource, Name: topic})) {
		configs[each.Name] = config{each.Value, each.Source != sarama.SourceTopic}
	}
	return configs
}

func (s *saramaClient) alter(topic string, configs map[string]*string) error {
	alter := map[string]sarama.IncrementalAlterConfigsEntry{}
	for name, value := range configs {
		operation := sarama.IncrementalAlterConfigsOperationSet
		if value == nil {
			operation = sarama.IncrementalAlterConfigsOperationDelete
		}
		alter[name] = sarama.IncrementalAlterConfigsEntry{Operation: operation, Value: value}
	}
	return s.admin.IncrementalAlterConfig(sarama.TopicResource, topic, alter, false)
}

func (s *saramaClient) grow(topic string, partitions int32) error {
	return s.admin.CreatePartitions(topic, partitions, nil, false)
}

func (s *saramaClient) deleteRecords(topic string, before map[int32]int64) error {
	return s.admin.DeleteRecords(topic, before)
}

func (s *saramaClient) bounds(topic string) map[int32][2]int64 {
	bounds := map[int32][2]int64{}
	begins, ends := s.at(topic, sarama.OffsetOldest), s.at(topic, sarama.OffsetNewest)
	for partition, begin := range begins {
		bounds[partition] = [2]int64{begin, ends[partition]}
	}
	return bounds
}

func (s *saramaClient) at(topic string, milliseconds int64) map[int32]int64 {
	OK(s.client.RefreshMetadata(topic))
	found := map[int32]int64{}
	for _, partition := range Must(s.client.Partitions(topic)) {
		found[partition] = Must(s.client.GetOffset(topic, partition, milliseconds))
	}
	return found
}

func (s *saramaClient) stable(topic string) map[int32]int64 {
	asked, stable := map[int32]int64{}, map[int32]int64{}
	for partition := range s.bounds(topic) {
		asked[partition] = sarama.OffsetNewest
	}
	options := &sarama.ListOffsetsOptions{IsolationLevel: sarama.ReadCommitted}
	for partition, found := range Must(s.admin.ListOffsets(map[string]map[int32]int64{topic: asked}, options))[topic] {
		if !errors.Is(found.Err, sarama.ErrNoError) {
			OK(found.Err)
		}
		stable[partition] = found.Offset
	}
	return stable
}

func (s *saramaClient) producer(options sending) producer {
	config := saramaConfig()
	config.Producer.RequiredAcks = map[string]sarama.RequiredAcks{"0": sarama.NoResponse, "1": sarama.WaitForLocal,
		"all": sarama.WaitForAll, "": sarama.WaitForAll}[options.acks]
	config.Producer.Compression = map[string]sarama.CompressionCodec{"none": sarama.CompressionNone, "": sarama.CompressionNone,
		"gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy, "lz4": sarama.CompressionLZ4,
		"zstd": sarama.CompressionZSTD}[options.codec]
	config.Producer.Flush.Frequency = options.linger
	config.Producer.Partitioner = sarama.NewMurmur2Partitioner
	if !options.byKey {
		config.Producer.Partitioner = sarama.NewManualPartitioner
	}
	if options.idempotent {
		config.Producer.Idempotent, config.Net.MaxOpenRequests = true, 1
	}
	if options.batchBytes > 0 {
		// What this many bytes await is sent; a batch may be larger.
		config.Producer.Flush.Bytes = int(options.batchBytes)
	}
	if options.requestBytes > 0 {
		config.Producer.MaxMessageBytes = int(options.requestBytes)
	}
	return s.keep(&saramaProducer{SyncProducer: Must(sarama.NewSyncProducer([]string{s.address}, config))})
}

func (s *saramaClient) keep(p *saramaProducer) *saramaProducer {
	s.closers = append(s.closers, p.close)
	return p
}

type saramaProducer struct {
	sarama.SyncProducer
	once sync.Once
}

func (p *saramaProducer) close() { p.once.Do(func() { p.Close() }) }

func (p *saramaProducer) send(records []record) ([]place, error) {
	var messages []*sarama.ProducerMessage
	for _, each := range records {
		message := &sarama.ProducerMessage{Topic: each.topic, Partition: each.partition}
		if each.key != nil {
			message.Key = sarama.ByteEncoder(each.key)
		}
		if each.value != nil {
			message.Value = sarama.ByteEncoder(each.value)
		}
		if each.timestamp != 0 {
			message.Timestamp = time.UnixMilli(each.timestamp)
		}
		for _, header := range each.headers {
			message.Headers = append(message.Headers, sarama.RecordHeader{Key: []byte(header.key), Value: header.value})
		}
		messages = append(messages, message)
	}
	err := p.SendMessages(messages)
	var places []place
	for _, each := range messages {
		places = append(places, place{each.Partition, each.Offset})
	}
	return places, err
}

func (s *saramaClient) read(topic string, from map[int32]int64, count int, committed bool) []record {
	config := saramaConfig()
	config.Consumer.Return.Errors = true
	if committed {
		config.Consumer.IsolationLevel = sarama.ReadCommitted
	}
	consumer := Must(sarama.NewConsumer([]string{s.address}, config))
	defer consumer.Close()
	arriving, failures, stop := make(chan *sarama.ConsumerMessage), make(chan error), make(chan struct{})
	var reading sync.WaitGroup
	for partition, offset := range from {
		reader := Must(consumer.ConsumePartition(topic, partition, offset))
		reading.Go(func() {
			defer reader.Close()
			for {
				select {
				case message := <-reader.Messages():
					select {
					case arriving <- message:
					case <-stop:
						return
					}
				case err := <-reader.Errors():
					select {
					case failures <- err:
					case <-stop:
						return
					}
				case <-stop:
					return
				}
			}
		})
	}
	defer reading.Wait()
	defer close(stop)
	var got []record
	late := time.After(Patience)
	for len(got) < count {
		select {
		case message := <-arriving:
			got = append(got, fromSarama(message))
		case err := <-failures:
			Fail("read %d records of %d, then %v", len(got), count, err)
		case <-late:
			Fail("read %d records in time, want %d", len(got), count)
		}
	}
	slices.SortStableFunc(got, func(a, b record) int { return int(a.partition - b.partition) })
	return got
}

func fromSarama(got *sarama.ConsumerMessage) record {
	each := record{topic: got.Topic, partition: got.Partition, key: got.Key, value: got.Value, offset: got.Offset,
		timestamp: got.Timestamp.UnixMilli()}
	for _, h := range got.Headers {
		each.headers = append(each.headers, header{string(h.Key), h.Value})
	}
	return each
}
