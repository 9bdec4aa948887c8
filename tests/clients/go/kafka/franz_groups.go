// franz-go's groups and transactions.

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	. "daybook/clients/check"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func (f *franz) join(options joining, seen *tally) *member {
	m := newMember()
	m.patient = options.patient
	balancers := map[string]kgo.GroupBalancer{
		"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "sticky": kgo.StickyBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer(),
	}
	opts := append(franzMember(m, options.topic, options.group, func(ctx context.Context, cl *kgo.Client) error {
		return cl.CommitUncommittedOffsets(ctx)
	}), kgo.Balancers(balancers[options.assignor]))
	if options.instance != "" {
		opts = append(opts, kgo.InstanceID(options.instance))
	}
	if options.consumerProtocol {
		opts = append(opts, kgo.ServerSideBalancer())
	}
	cl := f.open(opts...)
	m.run(f.ctx, func(ctx context.Context) error {
		fetches := cl.PollRecords(ctx, 100)
		defer cl.AllowRebalance()
		fetches.EachRecord(func(each *kgo.Record) { seen.note(each.Partition, each.Offset) })
		return fetches.Err()
	}, cl.CloseAllowingRebalance)
	f.closers = append(f.closers, func() { m.once.Do(m.end) })
	return m
}

// franzMember makes the options of a member that notes what it owns.
func franzMember(m *member, topic, group string, commit func(context.Context, *kgo.Client) error) []kgo.Opt {
	given := func(partitions map[string][]int32) { m.give(partitions[topic]...) }
	return []kgo.Opt{
		kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(50 * time.Millisecond),
		kgo.HeartbeatInterval(100 * time.Millisecond), kgo.SessionTimeout(10 * time.Second),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, taken map[string][]int32) { m.take(taken[topic]...) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) { given(lost) }),
		kgo.OnPartitionsRevoked(func(ctx context.Context, cl *kgo.Client, revoked map[string][]int32) {
			if err := commit(ctx, cl); err != nil {
				m.failed(err)
			}
			given(revoked)
		}),
	}
}

// run works until the member is to leave, then lets it.
func (m *member) run(ctx context.Context, work func(context.Context) error, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	m.end = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := work(ctx); err != nil && ctx.Err() == nil {
				m.failed(err)
				if !m.patient {
					break
				}
				time.Sleep(50 * time.Millisecond)
			}
		}
		leave()
	}()
}

func (f *franz) groups() map[string]bool {
	names := map[string]bool{}
	for name := range Must(f.admin.ListGroups(f.ctx)) {
		names[name] = true
	}
	return names
}

func (f *franz) describeGroup(group string) (string, []int) {
	described := Must(f.admin.DescribeGroups(f.ctx, group))[group]
	state, shares := described.State, []int{}
	for _, each := range described.Members {
		assigned, _ := each.Assigned.AsConsumer()
		shares = append(shares, len(assigned.Topics[0].Partitions))
	}
	// A group of KIP-848 has a call of its own, and is dead to the old one.
	if errors.Is(described.Err, kerr.GroupIDNotFound) || state == "Dead" {
		described := Must(f.admin.DescribeConsumerGroups(f.ctx, group))[group]
		state = described.State
		for _, each := range described.Members {
			partitions := 0
			each.Assignment.Each(func(string, int32) { partitions++ })
			shares = append(shares, partitions)
		}
	}
	slices.Sort(shares)
	return state, shares
}

func (f *franz) committed(group, topic string) map[int32]int64 {
	committed := map[int32]int64{}
	Must(f.admin.FetchOffsets(f.ctx, group)).Each(func(each kadm.OffsetResponse) {
		if each.Topic == topic && each.At >= 0 {
			committed[each.Partition] = each.At
		}
	})
	return committed
}

func (f *franz) commit(group, topic string, by map[int32]int64) error {
	return f.admin.CommitAllOffsets(f.ctx, group, offsets(topic, by))
}

func (f *franz) deleteGroup(group string) error {
	response, err := f.admin.DeleteGroup(f.ctx, group)
	return errors.Join(err, response.Err)
}

func (f *franz) deleteOffsets(group, topic string, partition int32) error {
	var set kadm.TopicsSet
	set.Add(topic, partition)
	responses, err := f.admin.DeleteOffsets(f.ctx, group, set)
	if err != nil {
		return err
	}
	return responses.Error()
}

type franzTransactor struct {
	franzProducer
}

func (f *franz) transactor(id string) (transactor, error) {
	cl := f.open(kgo.TransactionalID(id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	_, _, err := cl.ProducerID(f.ctx)
	return &franzTransactor{franzProducer{f.ctx, cl}}, err
}

func (t *franzTransactor) begin() error { return t.cl.BeginTransaction() }

func (t *franzTransactor) commit() error { return t.cl.EndTransaction(t.ctx, kgo.TryCommit) }
func (t *franzTransactor) abort() error  { return t.cl.EndTransaction(t.ctx, kgo.TryAbort) }

func (f *franz) copier(from, to, group, id string) *member {
	m := newMember()
	// The session commits what it has to before it gives partitions up.
	opts := append(franzMember(m, from, group, func(context.Context, *kgo.Client) error { return nil }),
		kgo.SeedBrokers(f.address), kgo.TransactionalID(id), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.RequireStableFetchOffsets(), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.Balancers(kgo.CooperativeStickyBalancer()))
	session := Must(kgo.NewGroupTransactSession(opts...))
	m.run(f.ctx, func(ctx context.Context) error {
		fetches := session.PollRecords(ctx, 50)
		defer session.AllowRebalance()
		if fetches.Empty() || fetches.Err() != nil {
			return fetches.Err()
		}
		if err := session.Begin(); err != nil {
			return err
		}
		produced := kgo.AbortingFirstErrPromise(session.Client())
		fetches.EachRecord(func(each *kgo.Record) {
			session.Produce(f.ctx, &kgo.Record{Topic: to, Partition: each.Partition, Value: each.Value}, produced.Promise())
		})
		// What is under way is ended even if the member is told to leave meanwhile.
		_, err := session.End(f.ctx, produced.Err() == nil)
		return err
	}, session.CloseAllowingRebalance)
	f.closers = append(f.closers, func() { m.once.Do(m.end) })
	return m
}
