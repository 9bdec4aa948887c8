// One scenario's connection, and the few verbs that scenarios need of it.

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/kurrent-io/KurrentDB-Client-Go/kurrentdb"

	. "daybook/clients/check"
)

type store struct {
	db       *kurrentdb.Client
	ctx      context.Context
	category string
	names    int
	closers  []func()
}

func main() {
	Main(os.Args[1:], scenarios, open)
}

func open(address, name string) *store {
	config := Must(kurrentdb.ParseConnectionString(fmt.Sprintf("kurrentdb://%s?tls=false", address)))
	config.Logger = func(kurrentdb.LogLevel, string, ...any) {}
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	return &store{
		db:       Must(kurrentdb.NewClient(config)),
		ctx:      ctx,
		category: fmt.Sprintf("go%s%x", strings.ReplaceAll(name, "_", ""), time.Now().UnixNano()),
		closers:  []func(){cancel},
	}
}

func (s *store) Lacks(string) string { return "" }

func (s *store) Close() {
	for _, each := range s.closers {
		each()
	}
	_ = s.db.Close()
}

func (s *store) stream() string {
	s.names++
	return fmt.Sprintf("%s-%d", s.category, s.names)
}

func (s *store) filled(count int) (string, []kurrentdb.EventData) {
	stream, events := s.stream(), newEvents(0, count)
	s.append(stream, kurrentdb.NoStream{}, events...)
	return stream, events
}

func (s *store) tryAppend(stream string, state kurrentdb.StreamState, events ...kurrentdb.EventData) (*kurrentdb.WriteResult, error) {
	return s.db.AppendToStream(s.ctx, stream, kurrentdb.AppendToStreamOptions{StreamState: state}, events...)
}

func (s *store) append(stream string, state kurrentdb.StreamState, events ...kurrentdb.EventData) *kurrentdb.WriteResult {
	return Must(s.tryAppend(stream, state, events...))
}

func (s *store) tryRead(stream string, options kurrentdb.ReadStreamOptions, count uint64) ([]*kurrentdb.RecordedEvent, error) {
	reading, err := s.db.ReadStream(s.ctx, stream, options, count)
	if err != nil {
		return nil, err
	}
	return collect(reading)
}

func (s *store) read(stream string) []*kurrentdb.RecordedEvent {
	return Must(s.tryRead(stream, kurrentdb.ReadStreamOptions{}, 100_000))
}

func (s *store) readAll(options kurrentdb.ReadAllOptions, count uint64) []*kurrentdb.RecordedEvent {
	return Must(collect(Must(s.db.ReadAll(s.ctx, options, count))))
}

func collect(reading *kurrentdb.ReadStream) ([]*kurrentdb.RecordedEvent, error) {
	defer reading.Close()
	var got []*kurrentdb.RecordedEvent
	for {
		each, err := reading.Recv()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, each.Event)
	}
}

// follow ends the subscription with the scenario.
func (s *store) follow(subscription *kurrentdb.Subscription, err error) *kurrentdb.Subscription {
	OK(err)
	s.closers = append(s.closers, func() { _ = subscription.Close() })
	return subscription
}

func take(subscription *kurrentdb.Subscription, count int) []*kurrentdb.RecordedEvent {
	var got []*kurrentdb.RecordedEvent
	for len(got) < count {
		each := subscription.Recv()
		if each.SubscriptionDropped != nil {
			Fail("dropped after %d of %d: %v", len(got), count, each.SubscriptionDropped.Error)
		}
		if each.EventAppeared != nil {
			got = append(got, each.EventAppeared.Event)
		}
	}
	return got
}

func takePersistent(subscription *kurrentdb.PersistentSubscription, count int) []*kurrentdb.EventAppeared {
	var got []*kurrentdb.EventAppeared
	for len(got) < count {
		each := subscription.Recv()
		if each.SubscriptionDropped != nil {
			Fail("dropped after %d of %d: %v", len(got), count, each.SubscriptionDropped.Error)
		}
		got = append(got, each.EventAppeared)
	}
	return got
}

// refused wants an error of this code.
func refused(code kurrentdb.ErrorCode, what string, err error) *kurrentdb.Error {
	That(err != nil, what+": want an error, but it succeeded")
	var got *kurrentdb.Error
	That(errors.As(err, &got), fmt.Sprintf("%s: want an error of the client, got %v", what, err))
	if got.Code() != code {
		Fail("%s: want code %d, got %d: %v", what, code, got.Code(), err)
	}
	return got
}

func newEvent(number int, eventType string) kurrentdb.EventData {
	return kurrentdb.EventData{
		EventID: uuid.New(), EventType: eventType, ContentType: kurrentdb.ContentTypeJson,
		Data: fmt.Appendf(nil, `{"number":%d}`, number), Metadata: []byte(`{"by":"test"}`),
	}
}

func newEvents(from, to int) (events []kurrentdb.EventData) {
	for number := from; number < to; number++ {
		events = append(events, newEvent(number, "Happened"))
	}
	return events
}

func idsOf(events []kurrentdb.EventData) (ids []uuid.UUID) {
	for _, each := range events {
		ids = append(ids, each.EventID)
	}
	return ids
}

func ids(events []*kurrentdb.RecordedEvent) (ids []uuid.UUID) {
	for _, each := range events {
		ids = append(ids, each.EventID)
	}
	return ids
}

func numbers(events []*kurrentdb.RecordedEvent) (numbers []int) {
	for _, each := range events {
		data := struct{ Number *int }{}
		OK(json.Unmarshal(each.Data, &data))
		if data.Number == nil {
			data.Number = new(int)
			*data.Number = -1
		}
		numbers = append(numbers, *data.Number)
	}
	return numbers
}

func versions(events []*kurrentdb.RecordedEvent) (versions []uint64) {
	for _, each := range events {
		versions = append(versions, each.EventNumber)
	}
	return versions
}
