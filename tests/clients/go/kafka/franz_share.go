// Share groups, which franz-go alone has.

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	. "daybook/clients/check"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// shareGroup: two members work off one partition. Most is accepted, some is released and comes again, some is rejected
// and does not.
func shareGroup(c client) {
	f := c.(*franz)
	name, group := topic(c, 1, nil), c.fresh()
	f.shareFromEarliest(group)
	const count = 100
	sent(c, sending{}, fill(name, 0, count))

	var lock sync.Mutex
	deliveries, accepted := map[int][]int32{}, map[int]bool{}
	work := func(each *kgo.Record) {
		lock.Lock()
		defer lock.Unlock()
		n := Must(strconv.Atoi(string(each.Value)))
		deliveries[n] = append(deliveries[n], each.DeliveryCount())
		switch {
		case n%10 == 3 && len(deliveries[n]) == 1:
			each.Ack(kgo.AckRelease)
		case n%10 == 7:
			each.Ack(kgo.AckReject)
		default:
			each.Ack(kgo.AckAccept)
			accepted[n] = true
		}
	}
	members := []*member{f.joinShare(name, group, work), f.joinShare(name, group, work)}
	Eventually("all but what is rejected is accepted", func() bool {
		lock.Lock()
		defer lock.Unlock()
		return len(accepted) == count*9/10
	})
	for _, each := range members {
		each.leave()
	}
	check := func(when string) {
		for n := range count {
			want := []int32{1}
			if n%10 == 3 {
				want = []int32{1, 2}
			}
			Equal(want, deliveries[n], fmt.Sprint("delivery counts of record ", n, when))
		}
	}
	check("")
	// Who comes later gets only what is new.
	sent(c, sending{}, fill(name, 0, count+5)[count:])
	later := f.joinShare(name, group, work)
	Eventually("what is new is delivered", func() bool {
		lock.Lock()
		defer lock.Unlock()
		return len(deliveries) == count+5
	})
	later.leave()
	check(" later")
}

func (f *franz) joinShare(topic, group string, work func(*kgo.Record)) *member {
	m := newMember()
	cl := f.open(kgo.ShareGroup(group), kgo.ConsumeTopics(topic), kgo.ShareMaxRecords(10), kgo.FetchMaxWait(50*time.Millisecond))
	m.run(f.ctx, func(ctx context.Context) error {
		fetches := cl.PollRecords(ctx, 10)
		fetches.EachRecord(work)
		if fetches.Empty() || fetches.Err() != nil {
			return fetches.Err()
		}
		return cl.FlushAcks(f.ctx)
	}, cl.Close)
	f.closers = append(f.closers, func() { m.once.Do(m.end) })
	return m
}

// shareFromEarliest lets a share group begin with what is there already.
func (f *franz) shareFromEarliest(group string) {
	config := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	config.Name, config.Value = "share.auto.offset.reset", kmsg.StringPtr("earliest")
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeGroupConfig, group
	resource.Configs = append(resource.Configs, config)
	request := kmsg.NewPtrIncrementalAlterConfigsRequest()
	request.Resources = append(request.Resources, resource)
	answer := Must(request.RequestWith(f.ctx, f.open()))
	OK(kerr.ErrorForCode(answer.Resources[0].ErrorCode))
}
