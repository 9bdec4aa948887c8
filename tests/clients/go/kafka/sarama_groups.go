// Sarama's groups and transactions.

package main

import (
	"context"
	"errors"
	"slices"

	. "daybook/clients/check"

	"github.com/IBM/sarama"
)

// claims reads what a group gives this member, partition by partition.
type claims struct {
	member *member
	// Works on what one partition brings until it is taken away.
	work func(sarama.ConsumerGroupSession, sarama.ConsumerGroupClaim) error
}

func (c *claims) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (c *claims) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (c *claims) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	c.member.take(claim.Partition())
	defer c.member.give(claim.Partition())
	err := c.work(session, claim)
	if err != nil {
		c.member.failed(err)
	}
	return err
}

func (s *saramaClient) join(options joining, seen *tally) *member {
	config := saramaConfig()
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{map[string]func() sarama.BalanceStrategy{
		"range": sarama.NewBalanceStrategyRange, "roundrobin": sarama.NewBalanceStrategyRoundRobin,
		"sticky": sarama.NewBalanceStrategySticky, "cooperative-sticky": sarama.NewBalanceStrategyCooperativeSticky,
	}[options.assignor]()}
	config.Consumer.Group.InstanceId = options.instance
	return s.consume(config, options, func(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
		for message := range claim.Messages() {
			seen.note(message.Partition, message.Offset)
			session.MarkMessage(message, "")
		}
		session.Commit()
		return nil
	})
}

func (s *saramaClient) consume(config *sarama.Config, options joining, work func(sarama.ConsumerGroupSession, sarama.ConsumerGroupClaim) error) *member {
	m := newMember()
	m.patient = options.patient
	consumer := Must(sarama.NewConsumerGroup([]string{s.address}, options.group, config))
	m.run(context.Background(), func(ctx context.Context) error {
		return consumer.Consume(ctx, []string{options.topic}, &claims{m, work})
	}, func() {
		if err := consumer.Close(); err != nil {
			m.failed(err)
		}
	})
	s.closers = append(s.closers, func() { m.once.Do(m.end) })
	return m
}

func (s *saramaClient) groups() map[string]bool {
	names := map[string]bool{}
	for name := range Must(s.admin.ListConsumerGroups()) {
		names[name] = true
	}
	return names
}

func (s *saramaClient) describeGroup(group string) (string, []int) {
	described := Must(s.admin.DescribeConsumerGroups([]string{group}))[0]
	shares := []int{}
	for _, each := range described.Members {
		assigned := Must(each.GetMemberAssignment())
		count := 0
		if assigned != nil {
			for _, partitions := range assigned.Topics {
				count += len(partitions)
			}
		}
		shares = append(shares, count)
	}
	slices.Sort(shares)
	return described.State, shares
}

func (s *saramaClient) committed(group, topic string) map[int32]int64 {
	committed := map[int32]int64{}
	answer := Must(s.admin.ListConsumerGroupOffsets(group, nil))
	for partition, block := range answer.Blocks[topic] {
		if block.Offset >= 0 {
			committed[partition] = block.Offset
		}
	}
	return committed
}

func (s *saramaClient) commit(group, topic string, by map[int32]int64) error {
	offsets := map[int32]sarama.OffsetAndMetadata{}
	for partition, offset := range by {
		offsets[partition] = sarama.OffsetAndMetadata{Offset: offset, LeaderEpoch: -1}
	}
	answer, err := s.admin.AlterConsumerGroupOffsets(group, map[string]map[int32]sarama.OffsetAndMetadata{topic: offsets}, nil)
	if err != nil {
		return err
	}
	for _, each := range answer.Errors[topic] {
		if each != sarama.ErrNoError {
			err = errors.Join(err, each)
		}
	}
	return err
}

func (s *saramaClient) deleteGroup(group string) error { return s.admin.DeleteConsumerGroup(group) }

func (s *saramaClient) deleteOffsets(group, topic string, partition int32) error {
	return s.admin.DeleteConsumerGroupOffset(group, topic, partition)
}

type saramaTransactor struct {
	*saramaProducer
}

func (s *saramaClient) transactor(id string) (transactor, error) {
	producer, err := s.transactional(id)
	if err != nil {
		return nil, err
	}
	return &saramaTransactor{s.keep(&saramaProducer{SyncProducer: producer})}, nil
}

func (s *saramaClient) transactional(id string) (sarama.SyncProducer, error) {
	config := saramaConfig()
	config.Producer.Transaction.ID = id
	config.Producer.Idempotent, config.Net.MaxOpenRequests = true, 1
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	return sarama.NewSyncProducer([]string{s.address}, config)
}

func (t *saramaTransactor) begin() error { return t.BeginTxn() }

func (t *saramaTransactor) commit() error { return t.CommitTxn() }
func (t *saramaTransactor) abort() error  { return t.AbortTxn() }

// Each claim has a producer of its own, since claims work side by side.
func (s *saramaClient) copier(from, to, group, id string) *member {
	config := saramaConfig()
	config.Consumer.IsolationLevel = sarama.ReadCommitted
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	return s.consume(config, joining{topic: from, group: group}, func(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
		var producer sarama.SyncProducer
		for message := range claim.Messages() {
			if producer == nil {
				var err error
				if producer, err = s.transactional(id + "-" + string('a'+claim.Partition())); err != nil {
					return err
				}
				defer producer.Close()
			}
			if err := copyOne(producer, message, to, sarama.NewConsumerGroupMetadataFromSession(session, group, nil)); err != nil {
				return err
			}
		}
		return nil
	})
}

func copyOne(producer sarama.SyncProducer, message *sarama.ConsumerMessage, to string, group *sarama.ConsumerGroupMetadata) error {
	if err := producer.BeginTxn(); err != nil {
		return err
	}
	if _, _, err := producer.SendMessage(&sarama.ProducerMessage{
		Topic: to, Partition: message.Partition, Value: sarama.ByteEncoder(message.Value)}); err != nil {
		return errors.Join(err, producer.AbortTxn())
	}
	if err := producer.AddMessageToTxnWithGroupMetadata(message, group, nil); err != nil {
		return errors.Join(err, producer.AbortTxn())
	}
	return producer.CommitTxn()
}
