package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

const commitEvery = 50

var balancers = map[string]kgo.GroupBalancer{
	"range": kgo.RangeBalancer(), "roundrobin": kgo.RoundRobinBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer(),
}

// group is a consumer for the suite groups: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE].
func group(arguments []string) {
	options := []kgo.Opt{
		kgo.SeedBrokers(arguments[0]), kgo.ConsumeTopics(arguments[1]), kgo.ConsumerGroup(arguments[2]),
		kgo.Balancers(balancers[arguments[3]]), kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(session()), kgo.HeartbeatInterval(500 * time.Millisecond),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.OnPartitionsAssigned(assigned),
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
		if errors.Is(fetches.Err0(), kerr.FencedInstanceID) {
			fmt.Println("fenced")
			os.Exit(0)
		}
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

// session is how long the group waits for a member that is silent.
func session() time.Duration {
	ms, err := strconv.Atoi(os.Getenv("SESSION_MS"))
	if err != nil {
		panic(err)
	}
	return time.Duration(ms) * time.Millisecond
}

// assigned says what it is given.
func assigned(_ context.Context, _ *kgo.Client, topics map[string][]int32) {
	var owned []int32
	for _, partitions := range topics {
		owned = append(owned, partitions...)
	}
	slices.Sort(owned)
	fmt.Println("assigned", strings.Trim(strings.ReplaceAll(fmt.Sprint(owned), " ", ","), "[]"))
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
