// Command kafka-go is a segmentio/kafka-go consumer for the suite groups: BOOTSTRAP TOPIC GROUP PROTOCOL.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/segmentio/kafka-go"
)

const commitEvery = 50

var balancers = map[string]kafka.GroupBalancer{"range": kafka.RangeGroupBalancer{}, "roundrobin": kafka.RoundRobinGroupBalancer{}}

func main() {
	arguments := os.Args[1:]
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers: arguments[:1], Topic: arguments[1], GroupID: arguments[2],
		GroupBalancers: []kafka.GroupBalancer{balancers[arguments[3]]}, StartOffset: kafka.FirstOffset,
		SessionTimeout: session(), HeartbeatInterval: 500 * time.Millisecond,
		JoinGroupBackoff: 200 * time.Millisecond, MaxAttempts: 100, MaxWait: 100 * time.Millisecond,
	})
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	newest := map[int]kafka.Message{}
	uncommitted := 0
	for ctx.Err() == nil {
		message, err := reader.FetchMessage(ctx)
		if err != nil {
			continue
		}
		fmt.Printf("processed %d %d\n", message.Partition, message.Offset)
		newest[message.Partition] = message
		uncommitted++
		if uncommitted >= commitEvery {
			uncommitted = 0
			commit(ctx, reader, newest)
		}
	}
	reader.Close()
}

// session is how long the group waits for a member that is silent.
func session() time.Duration {
	ms, err := strconv.Atoi(os.Getenv("SESSION_MS"))
	if err != nil {
		panic(err)
	}
	return time.Duration(ms) * time.Millisecond
}

// commit commits what was read, and says so if it was acknowledged. The reader does not tell what it still owns, so each commit
// names what came since the last one.
func commit(ctx context.Context, reader *kafka.Reader, newest map[int]kafka.Message) {
	limited, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var messages []kafka.Message
	for _, message := range newest {
		messages = append(messages, message)
	}
	clear(newest)
	if reader.CommitMessages(limited, messages...) != nil {
		return
	}
	for _, message := range messages {
		fmt.Printf("committed %d %d\n", message.Partition, message.Offset+1)
	}
}
