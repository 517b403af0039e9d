package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const commitEvery = 50

var balancers = map[string]kgo.GroupBalancer{
	"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

// group is a consumer for compat/groups: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE].
func group(arguments []string) {
	options := []kgo.Opt{
		kgo.SeedBrokers(arguments[0]), kgo.ConsumeTopics(arguments[1]), kgo.ConsumerGroup(arguments[2]),
		kgo.Balancers(balancers[arguments[3]]), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(6 * time.Second), kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
	}
	if len(arguments) > 4 {
		options = append(options, kgo.InstanceID(arguments[4]))
	}
	client, err := kgo.NewClient(options...)
	if err != nil {
		panic(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	uncommitted := 0
	for ctx.Err() == nil {
		fetches := client.PollRecords(ctx, commitEvery)
		fetches.EachRecord(func(record *kgo.Record) {
			fmt.Printf("processed %d %d\n", record.Partition, record.Offset)
			uncommitted++
		})
		if uncommitted >= commitEvery {
			uncommitted = 0
			commitPolled(ctx, client)
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	if !errors.Is(ctx.Err(), context.Canceled) {
		os.Exit(1)
	}
}

// commitPolled commits what was polled, and says so if it was acknowledged.
func commitPolled(ctx context.Context, client *kgo.Client) {
	offsets := client.UncommittedOffsets()
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if client.CommitUncommittedOffsets(limited) != nil {
		return
	}
	for _, partitions := range offsets {
		for partition, offset := range partitions {
			fmt.Printf("committed %d %d\n", partition, offset.Offset)
		}
	}
}
