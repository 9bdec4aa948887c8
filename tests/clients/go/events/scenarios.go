// KurrentDB's Go client on the event door.

package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/kurrent-io/KurrentDB-Client-Go/kurrentdb"

	. "daybook/clients/check"
)

var scenarios = []Scenario[*store]{
	{Name: "append_expected", Run: appendExpected},
	{Name: "event_contents", Run: eventContents},
	{Name: "append_idempotent", Run: appendIdempotent},
	{Name: "read_stream", Run: readStream},
	{Name: "read_all", Run: readAll},
	{Name: "filters", Run: filters},
	{Name: "stream_metadata", Run: streamMetadata},
	{Name: "subscribe_stream", Run: subscribeStream},
	{Name: "subscribe_all", Run: subscribeAll},
	{Name: "subscribe_filtered", Run: subscribeFiltered},
	{Name: "persistent_stream", Run: persistentStream},
	{Name: "persistent_nack", Run: persistentNack},
	{Name: "persistent_all", Run: persistentAll},
	{Name: "soft_delete", Run: softDelete},
	{Name: "tombstone", Run: tombstone},
	{Name: "multi_append", Run: multiAppend},
	{Name: "append_records", Run: appendRecords},
}

func appendExpected(s *store) {
	stream := s.stream()
	conflict := func(state kurrentdb.StreamState, what string) {
		_, err := s.tryAppend(stream, state, newEvent(0, "Happened"))
		refused(kurrentdb.ErrorCodeWrongExpectedVersion, what, err)
	}
	conflict(kurrentdb.StreamExists{}, "exists at none")
	conflict(kurrentdb.Revision(0), "0 at none")
	for number, state := range []kurrentdb.StreamState{kurrentdb.NoStream{}, kurrentdb.StreamExists{}, kurrentdb.Revision(1), kurrentdb.Any{}} {
		done := s.append(stream, state, newEvent(number, "Happened"))
		Equal(uint64(number), done.NextExpectedVersion, "version")
	}
	conflict(kurrentdb.NoStream{}, "none at 3")
	conflict(kurrentdb.Revision(2), "2 at 3")
	conflict(kurrentdb.Revision(4), "4 at 3")
	Equal([]int{0, 1, 2, 3}, numbers(s.read(stream)), "numbers")
}

func eventContents(s *store) {
	stream := s.stream()
	sent := []kurrentdb.EventData{
		{EventID: uuid.New(), EventType: "Json", ContentType: kurrentdb.ContentTypeJson, Data: []byte(`{"a":"é"}`), Metadata: []byte(`{"m":1}`)},
		{EventID: uuid.New(), EventType: "Binary", ContentType: kurrentdb.ContentTypeBinary, Data: []byte{0, 255, 10}},
	}
	s.append(stream, kurrentdb.NoStream{}, sent...)
	for n, got := range s.read(stream) {
		want := sent[n]
		Equal(want.EventID, got.EventID, "id")
		Equal(want.EventType, got.EventType, "type")
		Equal(string(want.Data), string(got.Data), "data")
		Equal(string(want.Metadata), string(got.UserMetadata), "metadata")
		Equal([]string{"application/octet-stream", "application/json"}[want.ContentType], got.ContentType, "content type")
		Equal(stream, got.StreamID, "stream")
		That(time.Since(got.CreatedDate).Abs() < 10*time.Second, fmt.Sprintf("recorded now, not %v", got.CreatedDate))
	}
}

func appendIdempotent(s *store) {
	stream, events := s.filled(3)
	for _, state := range []kurrentdb.StreamState{kurrentdb.NoStream{}, kurrentdb.Any{}} {
		Equal(uint64(2), s.append(stream, state, events...).NextExpectedVersion, "version of a retry")
	}
	Equal(idsOf(events), ids(s.read(stream)), "a retry adds nothing")
}

func readStream(s *store) {
	stream, events := s.filled(25)
	want := idsOf(events)
	backwards := slices.Clone(want)
	slices.Reverse(backwards)
	read := func(direction kurrentdb.Direction, from kurrentdb.StreamPosition, count uint64) []uuid.UUID {
		return ids(Must(s.tryRead(stream, kurrentdb.ReadStreamOptions{Direction: direction, From: from}, count)))
	}
	Equal(want, read(kurrentdb.Forwards, kurrentdb.Start{}, 100), "forwards")
	Equal(backwards, read(kurrentdb.Backwards, kurrentdb.End{}, 100), "backwards")
	Equal(want[7:10], read(kurrentdb.Forwards, kurrentdb.Revision(7), 3), "from a version, limited")
	Equal(backwards[17:19], read(kurrentdb.Backwards, kurrentdb.Revision(7), 2), "backwards from a version, limited")
	Equal(want[24:], read(kurrentdb.Backwards, kurrentdb.End{}, 1), "the last event")
	_, err := s.tryRead(s.stream(), kurrentdb.ReadStreamOptions{}, 1)
	refused(kurrentdb.ErrorCodeResourceNotFound, "a stream that isn't there", err)
}

func readAll(s *store) {
	stream, events := s.filled(5)
	other, others := s.filled(5)
	begin := s.read(stream)[0].Position
	mine := func(got []*kurrentdb.RecordedEvent) []uuid.UUID {
		return ids(slices.DeleteFunc(got, func(each *kurrentdb.RecordedEvent) bool {
			return each.StreamID != stream && each.StreamID != other
		}))
	}
	want := append(idsOf(events), idsOf(others)...)
	Equal(want, mine(s.readAll(kurrentdb.ReadAllOptions{From: begin}, 100_000)), "forwards, from a position")
	slices.Reverse(want)
	backwards := kurrentdb.ReadAllOptions{Direction: kurrentdb.Backwards, From: kurrentdb.End{}}
	Equal(want, mine(s.readAll(backwards, 5_000)), "backwards")
	Equal(3, len(s.readAll(kurrentdb.ReadAllOptions{From: begin}, 3)), "limited")
}

// This client filters subscriptions alone.
func filters(s *store) {
	stream, other := s.stream(), s.stream()
	for number, eventType := range []string{"OrderPlaced", "OrderPaid", "InvoiceSent", "Order"} {
		s.append(stream, kurrentdb.Any{}, newEvent(number, eventType))
	}
	s.append(other, kurrentdb.Any{}, newEvent(4, "OrderPlaced"))
	begin := s.read(stream)[0].Position
	follow := func(filter kurrentdb.SubscriptionFilter, want ...int) {
		options := kurrentdb.SubscribeToAllOptions{From: begin, Filter: &filter}
		subscription := Must(s.db.SubscribeToAll(s.ctx, options))
		defer subscription.Close()
		var got []int
		for len(got) < len(want) {
			if each := take(subscription, 1)[0]; strings.HasPrefix(each.StreamID, s.category) {
				got = append(got, numbers([]*kurrentdb.RecordedEvent{each})...)
			}
		}
		Equal(want, got, fmt.Sprintf("%+v", filter))
	}
	follow(*kurrentdb.ExcludeSystemEventsFilter(), 1, 2, 3, 4)
	follow(kurrentdb.SubscriptionFilter{Type: kurrentdb.EventFilterType, Prefixes: []string{"OrderP", "Inv"}}, 1, 2, 4)
	follow(kurrentdb.SubscriptionFilter{Type: kurrentdb.EventFilterType, Regex: "^Order$|^OrderPl"}, 3, 4)
	follow(kurrentdb.SubscriptionFilter{Type: kurrentdb.StreamFilterType, Prefixes: []string{other}}, 4)
	follow(kurrentdb.SubscriptionFilter{Type: kurrentdb.StreamFilterType, Regex: "^" + stream + "$"}, 1, 2, 3)
}

func streamMetadata(s *store) {
	stream, _ := s.filled(10)
	metadata := kurrentdb.StreamMetadata{}
	metadata.SetMaxCount(3)
	metadata.AddCustomProperty("owner", "ann")
	Must(s.db.SetStreamMetadata(s.ctx, stream, kurrentdb.AppendToStreamOptions{StreamState: kurrentdb.NoStream{}}, metadata))
	got := Must(s.db.GetStreamMetadata(s.ctx, stream, kurrentdb.ReadStreamOptions{}))
	Equal(uint64(3), *got.MaxCount(), "at most")
	Equal("ann", got.CustomProperty("owner"), "a property of one's own")
	Equal([]uint64{7, 8, 9}, versions(s.read(stream)), "at most three events")
	metadata = kurrentdb.StreamMetadata{}
	metadata.SetTruncateBefore(9)
	Must(s.db.SetStreamMetadata(s.ctx, stream, kurrentdb.AppendToStreamOptions{StreamState: kurrentdb.Any{}}, metadata))
	Equal([]uint64{9}, versions(s.read(stream)), "truncated")
}

func subscribeStream(s *store) {
	stream, events := s.filled(50)
	subscription := s.follow(s.db.SubscribeToStream(s.ctx, stream, kurrentdb.SubscribeToStreamOptions{From: kurrentdb.Start{}}))
	Equal(idsOf(events), ids(take(subscription, 50)), "history")
	caughtUp := subscription.Recv()
	That(caughtUp.CaughtUp != nil, fmt.Sprintf("caught up after history, not %+v", caughtUp))
	live := newEvents(50, 60)
	for _, each := range live {
		s.append(stream, kurrentdb.Any{}, each)
	}
	Equal(idsOf(live), ids(take(subscription, 10)), "live")
	after := s.follow(s.db.SubscribeToStream(s.ctx, stream, kurrentdb.SubscribeToStreamOptions{From: kurrentdb.Revision(56)}))
	Equal(idsOf(live[7:]), ids(take(after, 3)), "after a version")
}

func subscribeAll(s *store) {
	stream, events := s.filled(20)
	options := kurrentdb.SubscribeToAllOptions{
		From:   s.read(stream)[0].Position,
		Filter: &kurrentdb.SubscriptionFilter{Type: kurrentdb.StreamFilterType, Prefixes: []string{s.category + "-"}},
	}
	subscription := s.follow(s.db.SubscribeToAll(s.ctx, options))
	Equal(idsOf(events[1:]), ids(take(subscription, 19)), "history, after a position")
	_, others := s.filled(5)
	Equal(idsOf(others), ids(take(subscription, 5)), "live, of another stream")
}

func subscribeFiltered(s *store) {
	stream, _ := s.filled(1)
	eventType := "Rare" + s.category
	options := kurrentdb.SubscribeToAllOptions{
		From: s.read(stream)[0].Position, MaxSearchWindow: 10, CheckpointInterval: 1,
		Filter: &kurrentdb.SubscriptionFilter{Type: kurrentdb.EventFilterType, Prefixes: []string{eventType}},
	}
	subscription := s.follow(s.db.SubscribeToAll(s.ctx, options))
	for range 3 {
		s.append(stream, kurrentdb.Any{}, newEvents(0, 20)...)
	}
	var checkpoint *kurrentdb.Position
	for checkpoint == nil {
		each := subscription.Recv()
		That(each.SubscriptionDropped == nil && each.EventAppeared == nil, "only checkpoints yet")
		checkpoint = each.CheckPointReached
	}
	wanted := newEvent(60, eventType)
	s.append(stream, kurrentdb.Any{}, wanted)
	got := take(subscription, 1)[0]
	Equal(wanted.EventID, got.EventID, "the event that passes")
	That(checkpoint.Commit < got.Position.Commit, "the checkpoint lies before it")
	options.From = *checkpoint
	Equal([]uuid.UUID{wanted.EventID}, ids(take(s.follow(s.db.SubscribeToAll(s.ctx, options)), 1)), "from the checkpoint")
}

func persistentStream(s *store) {
	stream, events := s.filled(10)
	options := kurrentdb.PersistentStreamSubscriptionOptions{StartFrom: kurrentdb.Start{}}
	OK(s.db.CreatePersistentSubscription(s.ctx, stream, "readers", options))
	refused(kurrentdb.ErrorCodeResourceAlreadyExists, "the same again", s.db.CreatePersistentSubscription(s.ctx, stream, "readers", options))
	subscribe := func() *kurrentdb.PersistentSubscription {
		return Must(s.db.SubscribeToPersistentSubscription(s.ctx, stream, "readers", kurrentdb.SubscribeToPersistentSubscriptionOptions{BufferSize: 20}))
	}
	flying := func(count int64) func() bool {
		return func() bool {
			return Must(s.db.GetPersistentSubscriptionInfo(s.ctx, stream, "readers", kurrentdb.GetPersistentSubscriptionOptions{})).Stats.TotalInFlightMessages == count
		}
	}
	consumer := subscribe()
	got := takePersistent(consumer, 10)
	for n, each := range got {
		Equal(events[n].EventID, each.Event.Event.EventID, "history")
		if n < 6 {
			OK(consumer.Ack(each.Event))
		}
	}
	Eventually("acknowledged", flying(4))
	OK(consumer.Close())
	again := subscribe()
	defer again.Close()
	rest := map[uuid.UUID]bool{}
	for _, each := range takePersistent(again, 4) {
		rest[each.Event.Event.EventID] = true
		OK(again.Ack(each.Event))
	}
	for _, each := range events[6:] {
		That(rest[each.EventID], "after a restart of the consumer the rest comes again")
	}
	Eventually("all acknowledged", flying(0))
	OK(s.db.DeletePersistentSubscription(s.ctx, stream, "readers", kurrentdb.DeletePersistentSubscriptionOptions{}))
	_, err := s.db.GetPersistentSubscriptionInfo(s.ctx, stream, "readers", kurrentdb.GetPersistentSubscriptionOptions{})
	refused(kurrentdb.ErrorCodeResourceNotFound, "a group that isn't there", err)
}

func persistentNack(s *store) {
	stream, events := s.filled(4)
	OK(s.db.CreatePersistentSubscription(s.ctx, stream, "readers", kurrentdb.PersistentStreamSubscriptionOptions{StartFrom: kurrentdb.Start{}}))
	consumer := Must(s.db.SubscribeToPersistentSubscription(s.ctx, stream, "readers", kurrentdb.SubscribeToPersistentSubscriptionOptions{BufferSize: 20}))
	defer consumer.Close()
	got := takePersistent(consumer, 4)
	OK(consumer.Ack(got[0].Event))
	OK(consumer.Nack("not wanted", kurrentdb.NackActionSkip, got[1].Event))
	OK(consumer.Nack("broken", kurrentdb.NackActionPark, got[2].Event))
	OK(consumer.Nack("later", kurrentdb.NackActionRetry, got[3].Event))
	retried := takePersistent(consumer, 1)[0]
	Equal(events[3].EventID, retried.Event.Event.EventID, "retried")
	Equal(1, retried.RetryCount, "its retries")
	OK(consumer.Ack(retried.Event))
	parked := func(count int64) func() bool {
		return func() bool {
			return Must(s.db.GetPersistentSubscriptionInfo(s.ctx, stream, "readers", kurrentdb.GetPersistentSubscriptionOptions{})).Stats.ParkedMessagesCount == count
		}
	}
	Eventually("one parked", parked(1))
	OK(s.db.ReplayParkedMessages(s.ctx, stream, "readers", kurrentdb.ReplayParkedMessagesOptions{}))
	replayed := takePersistent(consumer, 1)[0]
	Equal(events[2].EventID, replayed.Event.Event.EventID, "replayed")
	OK(consumer.Ack(replayed.Event))
	Eventually("none parked", parked(0))
}

func persistentAll(s *store) {
	stream, events := s.filled(5)
	OK(s.db.CreatePersistentSubscriptionToAll(s.ctx, s.category, kurrentdb.PersistentAllSubscriptionOptions{
		StartFrom: s.read(stream)[0].Position,
		Filter:    &kurrentdb.SubscriptionFilter{Type: kurrentdb.StreamFilterType, Prefixes: []string{s.category + "-"}},
	}))
	consumer := Must(s.db.SubscribeToPersistentSubscriptionToAll(s.ctx, s.category, kurrentdb.SubscribeToPersistentSubscriptionOptions{BufferSize: 20}))
	defer consumer.Close()
	for _, each := range takePersistent(consumer, 4) {
		That(slices.Contains(idsOf(events), each.Event.Event.EventID), "only what passes")
		OK(consumer.Ack(each.Event))
	}
	OK(s.db.DeletePersistentSubscriptionToAll(s.ctx, s.category, kurrentdb.DeletePersistentSubscriptionOptions{}))
}

func softDelete(s *store) {
	stream, events := s.filled(3)
	_, err := s.db.DeleteStream(s.ctx, stream, kurrentdb.DeleteStreamOptions{StreamState: kurrentdb.Revision(1)})
	// For this call the client has no code of its own.
	conflict := refused(kurrentdb.ErrorCodeUnknown, "delete at another version", err)
	That(strings.Contains(conflict.Error(), "WrongExpectedVersion"), fmt.Sprintf("the error says what it is: %v", conflict))
	Must(s.db.DeleteStream(s.ctx, stream, kurrentdb.DeleteStreamOptions{StreamState: kurrentdb.Revision(2)}))
	_, err = s.tryRead(stream, kurrentdb.ReadStreamOptions{}, 1)
	refused(kurrentdb.ErrorCodeResourceNotFound, "read of a deleted stream", err)
	s.append(stream, kurrentdb.NoStream{}, events...)
	got := s.read(stream)
	Equal(idsOf(events), ids(got), "recreated with the same ids")
	Equal([]uint64{3, 4, 5}, versions(got), "versions go on")
}

func tombstone(s *store) {
	stream, _ := s.filled(3)
	Must(s.db.TombstoneStream(s.ctx, stream, kurrentdb.TombstoneStreamOptions{StreamState: kurrentdb.Revision(2)}))
	_, err := s.tryRead(stream, kurrentdb.ReadStreamOptions{}, 1)
	refused(kurrentdb.ErrorCodeStreamDeleted, "read", err)
	_, err = s.tryAppend(stream, kurrentdb.Any{}, newEvent(4, "Happened"))
	refused(kurrentdb.ErrorCodeStreamDeleted, "append", err)
}

func multiAppend(s *store) {
	one, two, gone := s.stream(), s.stream(), s.stream()
	request := func(stream string, state kurrentdb.StreamState, events ...kurrentdb.EventData) kurrentdb.AppendStreamRequest {
		return kurrentdb.AppendStreamRequest{StreamName: stream, Events: slices.Values(events), ExpectedStreamState: state}
	}
	events := newEvents(0, 3)
	done := Must(s.db.MultiStreamAppend(s.ctx, slices.Values([]kurrentdb.AppendStreamRequest{
		request(one, kurrentdb.NoStream{}, events[:2]...), request(two, kurrentdb.Any{}, events[2]),
	})))
	Equal([]kurrentdb.AppendResponse{{Stream: one, StreamRevision: 1}, {Stream: two, StreamRevision: 0}}, done.Responses, "versions")
	Equal(idsOf(events[:2]), ids(s.read(one)), "the first stream")
	Equal(uint64(done.Position), s.read(two)[0].Position.Commit, "position")
	_, err := s.db.MultiStreamAppend(s.ctx, slices.Values([]kurrentdb.AppendStreamRequest{
		request(one, kurrentdb.Revision(1), newEvent(3, "Happened")), request(two, kurrentdb.NoStream{}, newEvent(4, "Happened")),
	}))
	var conflict *kurrentdb.StreamRevisionConflictError
	That(errors.As(refused(kurrentdb.ErrorCodeStreamRevisionConflict, "one of two expectations fails", err), &conflict), "its detail")
	Equal(kurrentdb.StreamRevisionConflictError{Stream: two, ExpectedRevision: kurrentdb.NoStream{}, ActualRevision: kurrentdb.Revision(0)}, *conflict, "the conflict")
	Equal(2, len(s.read(one)), "nothing was appended")
	Must(s.db.TombstoneStream(s.ctx, gone, kurrentdb.TombstoneStreamOptions{StreamState: kurrentdb.Any{}}))
	_, err = s.db.MultiStreamAppend(s.ctx, slices.Values([]kurrentdb.AppendStreamRequest{
		request(one, kurrentdb.Revision(1), newEvent(3, "Happened")), request(gone, kurrentdb.Any{}, newEvent(4, "Happened")),
	}))
	refused(kurrentdb.ErrorCodeStreamTombstoned, "one of two is ended", err)
}

func appendRecords(s *store) {
	one, two, guard := s.stream(), s.stream(), s.stream()
	record := func(stream string, number int) kurrentdb.AppendRecord {
		return kurrentdb.AppendRecord{Stream: stream, Record: newEvent(number, "Happened")}
	}
	check := func(stream string, state kurrentdb.StreamState) kurrentdb.ConsistencyCheck {
		return kurrentdb.StreamStateCheck{Stream: stream, ExpectedState: state}
	}
	done := Must(s.db.AppendRecords(s.ctx, []kurrentdb.AppendRecord{record(one, 0), record(two, 1), record(one, 2)},
		check(guard, kurrentdb.NoStream{}), check(one, kurrentdb.NoStream{})))
	Equal(2, len(done.Responses), "streams")
	Equal([]int{0, 2}, numbers(s.read(one)), "records of the first")
	_, err := s.db.AppendRecords(s.ctx, []kurrentdb.AppendRecord{record(two, 3)},
		check(two, kurrentdb.Revision(0)), check(one, kurrentdb.Revision(0)))
	var violation *kurrentdb.AppendConsistencyViolationError
	That(errors.As(refused(kurrentdb.ErrorCodeAppendConsistencyViolation, "a check fails", err), &violation), "its detail")
	want := []kurrentdb.ConsistencyViolation{{CheckIndex: 1, Stream: one, ExpectedState: kurrentdb.Revision(0), ActualState: kurrentdb.Revision(1)}}
	Equal(want, violation.Violations, "which check")
	Equal(1, len(s.read(two)), "nothing was appended")
}
