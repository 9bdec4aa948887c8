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
)

var scenarios = []scenario{
	{"append_expected", appendExpected},
	{"event_contents", eventContents},
	{"append_idempotent", appendIdempotent},
	{"read_stream", readStream},
	{"read_all", readAll},
	{"filters", filters},
	{"stream_metadata", streamMetadata},
	{"subscribe_stream", subscribeStream},
	{"subscribe_all", subscribeAll},
	{"subscribe_filtered", subscribeFiltered},
	{"persistent_stream", persistentStream},
	{"persistent_nack", persistentNack},
	{"persistent_all", persistentAll},
	{"soft_delete", softDelete},
	{"tombstone", tombstone},
	{"multi_append", multiAppend},
	{"append_records", appendRecords},
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
		equal(uint64(number), done.NextExpectedVersion, "version")
	}
	conflict(kurrentdb.NoStream{}, "none at 3")
	conflict(kurrentdb.Revision(2), "2 at 3")
	conflict(kurrentdb.Revision(4), "4 at 3")
	equal([]int{0, 1, 2, 3}, numbers(s.read(stream)), "numbers")
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
		equal(want.EventID, got.EventID, "id")
		equal(want.EventType, got.EventType, "type")
		equal(string(want.Data), string(got.Data), "data")
		equal(string(want.Metadata), string(got.UserMetadata), "metadata")
		equal([]string{"application/octet-stream", "application/json"}[want.ContentType], got.ContentType, "content type")
		equal(stream, got.StreamID, "stream")
		that(time.Since(got.CreatedDate).Abs() < 10*time.Second, fmt.Sprintf("recorded now, not %v", got.CreatedDate))
	}
}

func appendIdempotent(s *store) {
	stream, events := s.filled(3)
	for _, state := range []kurrentdb.StreamState{kurrentdb.NoStream{}, kurrentdb.Any{}} {
		equal(uint64(2), s.append(stream, state, events...).NextExpectedVersion, "version of a retry")
	}
	equal(idsOf(events), ids(s.read(stream)), "a retry adds nothing")
}

func readStream(s *store) {
	stream, events := s.filled(25)
	want := idsOf(events)
	backwards := slices.Clone(want)
	slices.Reverse(backwards)
	read := func(direction kurrentdb.Direction, from kurrentdb.StreamPosition, count uint64) []uuid.UUID {
		return ids(must(s.tryRead(stream, kurrentdb.ReadStreamOptions{Direction: direction, From: from}, count)))
	}
	equal(want, read(kurrentdb.Forwards, kurrentdb.Start{}, 100), "forwards")
	equal(backwards, read(kurrentdb.Backwards, kurrentdb.End{}, 100), "backwards")
	equal(want[7:10], read(kurrentdb.Forwards, kurrentdb.Revision(7), 3), "from a version, limited")
	equal(backwards[17:19], read(kurrentdb.Backwards, kurrentdb.Revision(7), 2), "backwards from a version, limited")
	equal(want[24:], read(kurrentdb.Backwards, kurrentdb.End{}, 1), "the last event")
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
	equal(want, mine(s.readAll(kurrentdb.ReadAllOptions{From: begin}, 100_000)), "forwards, from a position")
	slices.Reverse(want)
	backwards := kurrentdb.ReadAllOptions{Direction: kurrentdb.Backwards, From: kurrentdb.End{}}
	equal(want, mine(s.readAll(backwards, 5_000)), "backwards")
	equal(3, len(s.readAll(kurrentdb.ReadAllOptions{From: begin}, 3)), "limited")
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
		subscription := must(s.db.SubscribeToAll(s.ctx, options))
		defer subscription.Close()
		var got []int
		for len(got) < len(want) {
			if each := take(subscription, 1)[0]; strings.HasPrefix(each.StreamID, s.category) {
				got = append(got, numbers([]*kurrentdb.RecordedEvent{each})...)
			}
		}
		equal(want, got, fmt.Sprintf("%+v", filter))
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
	must(s.db.SetStreamMetadata(s.ctx, stream, kurrentdb.AppendToStreamOptions{StreamState: kurrentdb.NoStream{}}, metadata))
	got := must(s.db.GetStreamMetadata(s.ctx, stream, kurrentdb.ReadStreamOptions{}))
	equal(uint64(3), *got.MaxCount(), "at most")
	equal("ann", got.CustomProperty("owner"), "a property of one's own")
	equal([]uint64{7, 8, 9}, versions(s.read(stream)), "at most three events")
	metadata = kurrentdb.StreamMetadata{}
	metadata.SetTruncateBefore(9)
	must(s.db.SetStreamMetadata(s.ctx, stream, kurrentdb.AppendToStreamOptions{StreamState: kurrentdb.Any{}}, metadata))
	equal([]uint64{9}, versions(s.read(stream)), "truncated")
}

func subscribeStream(s *store) {
	stream, events := s.filled(50)
	subscription := s.follow(s.db.SubscribeToStream(s.ctx, stream, kurrentdb.SubscribeToStreamOptions{From: kurrentdb.Start{}}))
	equal(idsOf(events), ids(take(subscription, 50)), "history")
	caughtUp := subscription.Recv()
	that(caughtUp.CaughtUp != nil, fmt.Sprintf("caught up after history, not %+v", caughtUp))
	live := newEvents(50, 60)
	for _, each := range live {
		s.append(stream, kurrentdb.Any{}, each)
	}
	equal(idsOf(live), ids(take(subscription, 10)), "live")
	after := s.follow(s.db.SubscribeToStream(s.ctx, stream, kurrentdb.SubscribeToStreamOptions{From: kurrentdb.Revision(56)}))
	equal(idsOf(live[7:]), ids(take(after, 3)), "after a version")
}

func subscribeAll(s *store) {
	stream, events := s.filled(20)
	options := kurrentdb.SubscribeToAllOptions{
		From:   s.read(stream)[0].Position,
		Filter: &kurrentdb.SubscriptionFilter{Type: kurrentdb.StreamFilterType, Prefixes: []string{s.category + "-"}},
	}
	subscription := s.follow(s.db.SubscribeToAll(s.ctx, options))
	equal(idsOf(events[1:]), ids(take(subscription, 19)), "history, after a position")
	_, others := s.filled(5)
	equal(idsOf(others), ids(take(subscription, 5)), "live, of another stream")
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
		that(each.SubscriptionDropped == nil && each.EventAppeared == nil, "only checkpoints yet")
		checkpoint = each.CheckPointReached
	}
	wanted := newEvent(60, eventType)
	s.append(stream, kurrentdb.Any{}, wanted)
	got := take(subscription, 1)[0]
	equal(wanted.EventID, got.EventID, "the event that passes")
	that(checkpoint.Commit < got.Position.Commit, "the checkpoint lies before it")
	options.From = *checkpoint
	equal([]uuid.UUID{wanted.EventID}, ids(take(s.follow(s.db.SubscribeToAll(s.ctx, options)), 1)), "from the checkpoint")
}

func persistentStream(s *store) {
	stream, events := s.filled(10)
	options := kurrentdb.PersistentStreamSubscriptionOptions{StartFrom: kurrentdb.Start{}}
	ok(s.db.CreatePersistentSubscription(s.ctx, stream, "readers", options))
	refused(kurrentdb.ErrorCodeResourceAlreadyExists, "the same again", s.db.CreatePersistentSubscription(s.ctx, stream, "readers", options))
	subscribe := func() *kurrentdb.PersistentSubscription {
		return must(s.db.SubscribeToPersistentSubscription(s.ctx, stream, "readers", kurrentdb.SubscribeToPersistentSubscriptionOptions{BufferSize: 20}))
	}
	flying := func(count int64) func() bool {
		return func() bool {
			return must(s.db.GetPersistentSubscriptionInfo(s.ctx, stream, "readers", kurrentdb.GetPersistentSubscriptionOptions{})).Stats.TotalInFlightMessages == count
		}
	}
	consumer := subscribe()
	got := takePersistent(consumer, 10)
	for n, each := range got {
		equal(events[n].EventID, each.Event.Event.EventID, "history")
		if n < 6 {
			ok(consumer.Ack(each.Event))
		}
	}
	eventually("acknowledged", flying(4))
	ok(consumer.Close())
	again := subscribe()
	defer again.Close()
	rest := map[uuid.UUID]bool{}
	for _, each := range takePersistent(again, 4) {
		rest[each.Event.Event.EventID] = true
		ok(again.Ack(each.Event))
	}
	for _, each := range events[6:] {
		that(rest[each.EventID], "after a restart of the consumer the rest comes again")
	}
	eventually("all acknowledged", flying(0))
	ok(s.db.DeletePersistentSubscription(s.ctx, stream, "readers", kurrentdb.DeletePersistentSubscriptionOptions{}))
	_, err := s.db.GetPersistentSubscriptionInfo(s.ctx, stream, "readers", kurrentdb.GetPersistentSubscriptionOptions{})
	refused(kurrentdb.ErrorCodeResourceNotFound, "a group that isn't there", err)
}

func persistentNack(s *store) {
	stream, events := s.filled(4)
	ok(s.db.CreatePersistentSubscription(s.ctx, stream, "readers", kurrentdb.PersistentStreamSubscriptionOptions{StartFrom: kurrentdb.Start{}}))
	consumer := must(s.db.SubscribeToPersistentSubscription(s.ctx, stream, "readers", kurrentdb.SubscribeToPersistentSubscriptionOptions{BufferSize: 20}))
	defer consumer.Close()
	got := takePersistent(consumer, 4)
	ok(consumer.Ack(got[0].Event))
	ok(consumer.Nack("not wanted", kurrentdb.NackActionSkip, got[1].Event))
	ok(consumer.Nack("broken", kurrentdb.NackActionPark, got[2].Event))
	ok(consumer.Nack("later", kurrentdb.NackActionRetry, got[3].Event))
	retried := takePersistent(consumer, 1)[0]
	equal(events[3].EventID, retried.Event.Event.EventID, "retried")
	equal(1, retried.RetryCount, "its retries")
	ok(consumer.Ack(retried.Event))
	parked := func(count int64) func() bool {
		return func() bool {
			return must(s.db.GetPersistentSubscriptionInfo(s.ctx, stream, "readers", kurrentdb.GetPersistentSubscriptionOptions{})).Stats.ParkedMessagesCount == count
		}
	}
	eventually("one parked", parked(1))
	ok(s.db.ReplayParkedMessages(s.ctx, stream, "readers", kurrentdb.ReplayParkedMessagesOptions{}))
	replayed := takePersistent(consumer, 1)[0]
	equal(events[2].EventID, replayed.Event.Event.EventID, "replayed")
	ok(consumer.Ack(replayed.Event))
	eventually("none parked", parked(0))
}

func persistentAll(s *store) {
	stream, events := s.filled(5)
	ok(s.db.CreatePersistentSubscriptionToAll(s.ctx, s.category, kurrentdb.PersistentAllSubscriptionOptions{
		StartFrom: s.read(stream)[0].Position,
		Filter:    &kurrentdb.SubscriptionFilter{Type: kurrentdb.StreamFilterType, Prefixes: []string{s.category + "-"}},
	}))
	consumer := must(s.db.SubscribeToPersistentSubscriptionToAll(s.ctx, s.category, kurrentdb.SubscribeToPersistentSubscriptionOptions{BufferSize: 20}))
	defer consumer.Close()
	for _, each := range takePersistent(consumer, 4) {
		that(slices.Contains(idsOf(events), each.Event.Event.EventID), "only what passes")
		ok(consumer.Ack(each.Event))
	}
	ok(s.db.DeletePersistentSubscriptionToAll(s.ctx, s.category, kurrentdb.DeletePersistentSubscriptionOptions{}))
}

func softDelete(s *store) {
	stream, events := s.filled(3)
	_, err := s.db.DeleteStream(s.ctx, stream, kurrentdb.DeleteStreamOptions{StreamState: kurrentdb.Revision(1)})
	// For this call the client has no code of its own.
	conflict := refused(kurrentdb.ErrorCodeUnknown, "delete at another version", err)
	that(strings.Contains(conflict.Error(), "WrongExpectedVersion"), fmt.Sprintf("the error says what it is: %v", conflict))
	must(s.db.DeleteStream(s.ctx, stream, kurrentdb.DeleteStreamOptions{StreamState: kurrentdb.Revision(2)}))
	_, err = s.tryRead(stream, kurrentdb.ReadStreamOptions{}, 1)
	refused(kurrentdb.ErrorCodeResourceNotFound, "read of a deleted stream", err)
	s.append(stream, kurrentdb.NoStream{}, events...)
	got := s.read(stream)
	equal(idsOf(events), ids(got), "recreated with the same ids")
	equal([]uint64{3, 4, 5}, versions(got), "versions go on")
}

func tombstone(s *store) {
	stream, _ := s.filled(3)
	must(s.db.TombstoneStream(s.ctx, stream, kurrentdb.TombstoneStreamOptions{StreamState: kurrentdb.Revision(2)}))
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
	done := must(s.db.MultiStreamAppend(s.ctx, slices.Values([]kurrentdb.AppendStreamRequest{
		request(one, kurrentdb.NoStream{}, events[:2]...), request(two, kurrentdb.Any{}, events[2]),
	})))
	equal([]kurrentdb.AppendResponse{{Stream: one, StreamRevision: 1}, {Stream: two, StreamRevision: 0}}, done.Responses, "versions")
	equal(idsOf(events[:2]), ids(s.read(one)), "the first stream")
	equal(uint64(done.Position), s.read(two)[0].Position.Commit, "position")
	_, err := s.db.MultiStreamAppend(s.ctx, slices.Values([]kurrentdb.AppendStreamRequest{
		request(one, kurrentdb.Revision(1), newEvent(3, "Happened")), request(two, kurrentdb.NoStream{}, newEvent(4, "Happened")),
	}))
	var conflict *kurrentdb.StreamRevisionConflictError
	that(errors.As(refused(kurrentdb.ErrorCodeStreamRevisionConflict, "one of two expectations fails", err), &conflict), "its detail")
	equal(kurrentdb.StreamRevisionConflictError{Stream: two, ExpectedRevision: kurrentdb.NoStream{}, ActualRevision: kurrentdb.Revision(0)}, *conflict, "the conflict")
	equal(2, len(s.read(one)), "nothing was appended")
	must(s.db.TombstoneStream(s.ctx, gone, kurrentdb.TombstoneStreamOptions{StreamState: kurrentdb.Any{}}))
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
	done := must(s.db.AppendRecords(s.ctx, []kurrentdb.AppendRecord{record(one, 0), record(two, 1), record(one, 2)},
		check(guard, kurrentdb.NoStream{}), check(one, kurrentdb.NoStream{})))
	equal(2, len(done.Responses), "streams")
	equal([]int{0, 2}, numbers(s.read(one)), "records of the first")
	_, err := s.db.AppendRecords(s.ctx, []kurrentdb.AppendRecord{record(two, 3)},
		check(two, kurrentdb.Revision(0)), check(one, kurrentdb.Revision(0)))
	var violation *kurrentdb.AppendConsistencyViolationError
	that(errors.As(refused(kurrentdb.ErrorCodeAppendConsistencyViolation, "a check fails", err), &violation), "its detail")
	want := []kurrentdb.ConsistencyViolation{{CheckIndex: 1, Stream: one, ExpectedState: kurrentdb.Revision(0), ActualState: kurrentdb.Revision(1)}}
	equal(want, violation.Violations, "which check")
	equal(1, len(s.read(two)), "nothing was appended")
}
