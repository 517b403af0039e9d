// Command sarama is a Sarama consumer for the suite groups: BOOTSTRAP TOPIC GROUP PROTOCOL [INSTANCE].
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
	"sync"
	"syscall"
	"time"

	"github.com/IBM/sarama"
)

const commitEvery = 50

var strategies = map[string]sarama.BalanceStrategy{
	"range": sarama.NewBalanceStrategyRange(), "roundrobin": sarama.NewBalanceStrategyRoundRobin(),
	"sticky": sarama.NewBalanceStrategySticky(),
}

func main() {
	arguments := os.Args[1:]
	config := sarama.NewConfig()
	config.Version = sarama.V4_1_0_0
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = true
	config.Consumer.Group.Session.Timeout = session()
	config.Consumer.Group.Heartbeat.Interval = 500 * time.Millisecond
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{strategies[arguments[3]]}
	config.Metadata.Retry.Max, config.Metadata.Retry.Backoff = 100, 100*time.Millisecond
	if len(arguments) > 4 {
		config.Consumer.Group.InstanceId = arguments[4]
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	for ctx.Err() == nil {
		group, err := sarama.NewConsumerGroup(arguments[:1], arguments[2], config)
		if err != nil {
			// The broker is away.
			pause(ctx)
			continue
		}
		consume(ctx, group, arguments[1])
		group.Close()
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

func consume(ctx context.Context, group sarama.ConsumerGroup, topic string) {
	go func() {
		for err := range group.Errors() {
			endIfFenced(err)
		}
	}()
	for ctx.Err() == nil {
		err := group.Consume(ctx, []string{topic}, &handler{})
		endIfFenced(err)
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return
		}
		if err != nil {
			pause(ctx)
		}
	}
}

func pause(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(100 * time.Millisecond):
	}
}

func endIfFenced(err error) {
	if errors.Is(err, sarama.ErrFencedInstancedId) {
		fmt.Println("fenced")
		os.Exit(0)
	}
}

// handler is one generation of the group.
type handler struct {
	mutex       sync.Mutex
	positions   map[int32]int64
	uncommitted int
}

func (h *handler) Setup(session sarama.ConsumerGroupSession) error {
	h.positions = map[int32]int64{}
	var owned []int32
	for _, partitions := range session.Claims() {
		owned = append(owned, partitions...)
	}
	slices.Sort(owned)
	fmt.Println("assigned", strings.Trim(strings.ReplaceAll(fmt.Sprint(owned), " ", ","), "[]"))
	return nil
}

func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			h.processed(session, message)
		case <-session.Context().Done():
			return nil
		}
	}
}

func (h *handler) processed(session sarama.ConsumerGroupSession, message *sarama.ConsumerMessage) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	fmt.Printf("processed %d %d\n", message.Partition, message.Offset)
	session.MarkMessage(message, "")
	h.positions[message.Partition] = message.Offset + 1
	h.uncommitted++
	if h.uncommitted >= commitEvery {
		h.uncommitted = 0
		// It does not say whether the commit was acknowledged, so none is claimed to be.
		session.Commit()
	}
}
