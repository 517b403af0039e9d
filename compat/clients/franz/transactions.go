package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	txnPartitions = 3
	txnRecords    = 10
	lateTimeout   = 4 * time.Second
	late          = 15 * time.Second
)

// transactions is franz-go under the suite transactions, see compat/clients/python/txn_spec.py: `write BOOTSTRAP TOPIC` and
// `read BOOTSTRAP TOPIC LEVEL`.
func transactions(arguments []string) {
	if arguments[0] == "read" {
		readTopic(arguments[1], arguments[2], arguments[3])
		return
	}
	w := &writer{bootstrap: arguments[1], topic: arguments[2]}
	var err error
	if w.client, err = w.instance(); err != nil {
		panic(err)
	}
	report("two in a row", w.commit("first", "second"))
	report("abort", w.abort())
	report("offsets", w.offsets())
	refusal("fencing", w.fence)
	refusal("timeout", w.outlive)
}

// refusal reports the error that a client was rightly refused with.
func refusal(name string, step func() (refused, err error)) {
	if refused, err := step(); err != nil {
		report(name, err)
	} else {
		fmt.Printf("%s\tok\t%v\n", name, refused)
	}
}

type writer struct {
	bootstrap, topic string
	client           *kgo.Client
}

func (w *writer) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.SeedBrokers(w.bootstrap), kgo.TransactionalID(w.topic + "-id"), kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}
}

func (w *writer) instance() (*kgo.Client, error) {
	return kgo.NewClient(w.options()...)
}

func bounded() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), timeout)
}

func (w *writer) phase(phase string) []*kgo.Record {
	var records []*kgo.Record
	for n := range txnRecords {
		value := fmt.Appendf(nil, "%s-%d", phase, n)
		records = append(records, &kgo.Record{Topic: w.topic, Partition: int32(n % txnPartitions), Value: value})
	}
	return records
}

func (w *writer) transaction(phase string, how kgo.TransactionEndTry) error {
	ctx, cancel := bounded()
	defer cancel()
	if err := w.client.BeginTransaction(); err != nil {
		return err
	}
	if err := w.client.ProduceSync(ctx, w.phase(phase)...).FirstErr(); err != nil {
		return err
	}
	return w.client.EndTransaction(ctx, how)
}

func (w *writer) commit(phases ...string) error {
	for _, phase := range phases {
		if err := w.transaction(phase, kgo.TryCommit); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) abort() error {
	if err := w.transaction("aborted", kgo.TryAbort); err != nil {
		return err
	}
	return w.commit("after")
}

// offsets takes five records of the input in the group. The session sends offsets at a commit only: what is aborted has read
// three more and commits none.
func (w *writer) offsets() error {
	w.client.Close()
	session, err := kgo.NewGroupTransactSession(append(w.options(), kgo.ConsumerGroup(w.topic+"-group"),
		kgo.ConsumeTopics(w.topic+"-in"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))...)
	if err != nil {
		return err
	}
	for _, step := range []struct {
		phase string
		reads int
		how   kgo.TransactionEndTry
	}{{"offsets", 5, kgo.TryCommit}, {"no-offsets", 3, kgo.TryAbort}} {
		if err := w.step(session, step.phase, step.reads, step.how); err != nil {
			return err
		}
	}
	session.Close()
	w.client, err = w.instance()
	return err
}

func (w *writer) step(session *kgo.GroupTransactSession, phase string, reads int, how kgo.TransactionEndTry) error {
	ctx, cancel := bounded()
	defer cancel()
	if err := session.Begin(); err != nil {
		return err
	}
	for reads > 0 {
		fetches := session.PollRecords(ctx, reads)
		if err := fetches.Err(); err != nil {
			return err
		}
		reads -= fetches.NumRecords()
	}
	if err := session.ProduceSync(ctx, w.phase(phase)...).FirstErr(); err != nil {
		return err
	}
	if committed, err := session.End(ctx, how); err != nil || committed != bool(how) {
		return fmt.Errorf("%s: committed %v, %w", phase, committed, err)
	}
	return nil
}

func (w *writer) fence() (refused, err error) {
	ctx, cancel := bounded()
	defer cancel()
	if err := w.client.BeginTransaction(); err != nil {
		return nil, err
	}
	if err := w.client.ProduceSync(ctx, w.phase("zombie")...).FirstErr(); err != nil {
		return nil, err
	}
	first := w.client
	if w.client, err = w.instance(); err != nil {
		return nil, err
	}
	if err := w.commit("heir"); err != nil {
		return nil, err
	}
	if refused = first.EndTransaction(ctx, kgo.TryCommit); refused == nil {
		return nil, errors.New("the first instance committed")
	}
	return refused, nil
}

func (w *writer) outlive() (refused, err error) {
	ctx, cancel := bounded()
	defer cancel()
	if w.client, err = w.lateInstance(); err != nil {
		return nil, err
	}
	if err := w.client.BeginTransaction(); err != nil {
		return nil, err
	}
	if err := w.client.ProduceSync(ctx, w.phase("late")...).FirstErr(); err != nil {
		return nil, err
	}
	time.Sleep(late)
	if refused = w.client.EndTransaction(ctx, kgo.TryCommit); refused == nil {
		return nil, errors.New("it committed after its time")
	}
	if w.client, err = w.lateInstance(); err != nil {
		return nil, err
	}
	return refused, w.commit("in-time")
}

func (w *writer) lateInstance() (*kgo.Client, error) {
	return kgo.NewClient(append(w.options(), kgo.TransactionalID(w.topic+"-late"), kgo.TransactionTimeout(lateTimeout))...)
}

// readTopic prints what a consumer of that isolation level sees.
func readTopic(bootstrap, topic, level string) {
	isolation := kgo.ReadUncommitted()
	if level == "read_committed" {
		isolation = kgo.ReadCommitted()
	}
	at := make(map[int32]kgo.Offset)
	for p := range int32(txnPartitions) {
		at[p] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.FetchIsolationLevel(isolation), kgo.KeepControlRecords(),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: at}))
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		panic(err)
	}
	// Markers are kept so that a partition which ends with one is seen to end; the last record of each is one.
	left := txnPartitions
	for left > 0 {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			panic(err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			if !record.Attrs.IsControl() {
				fmt.Println(string(record.Value))
			}
			if end, _ := ends.Lookup(topic, record.Partition); record.Offset+1 >= end.Offset {
				left--
			}
		})
	}
}
