// Command franz is franz-go as a client under compat/run: it writes the common records, reads them back, compares.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	partitions  = 64
	recordsEach = 10
	sequence    = 5000
	timeout     = 60 * time.Second
)

type codec struct {
	name  string
	codec kgo.CompressionCodec
}

var codecs = []codec{
	{"none", kgo.NoCompression()}, {"gzip", kgo.GzipCompression()}, {"snappy", kgo.SnappyCompression()},
	{"lz4", kgo.Lz4Compression()}, {"zstd", kgo.ZstdCompression()},
}

type run struct{ bootstrap, prefix string }

func main() {
	switch os.Args[1] {
	case "group":
		group(os.Args[2:])
		return
	case "transactions":
		transactions(os.Args[2:])
		return
	}
	r := run{os.Args[2], os.Args[3]}
	if os.Args[1] == "write" {
		r.write()
	} else {
		r.check()
	}
}

func report(name string, err error) {
	if err == nil {
		fmt.Printf("%s\tok\t\n", name)
	} else {
		fmt.Printf("%s\tFAIL\t%s\n", name, strings.Join(strings.Fields(err.Error()), " "))
	}
}

// records are the common ones, for partition 0.
func records() []*kgo.Record {
	big := make([]byte, 1_000_000)
	for i := range big {
		big[i] = byte('a' + i%26)
	}
	headers := []kgo.RecordHeader{
		{Key: "h", Value: []byte("a")}, {Key: "h", Value: []byte("b")}, {Key: "empty", Value: []byte{}}, {Key: "none"},
	}
	return []*kgo.Record{
		{Key: []byte("key-0"), Value: []byte("value-0"), Headers: headers},
		{Value: []byte("no key")},
		{Key: []byte("no value")},
		{},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte("big"), Value: big},
		{Key: []byte("ünïcode"), Value: []byte("日本 Ω")},
	}
}

func texts(partition int32, before string, count int) []*kgo.Record {
	var texts []*kgo.Record
	for i := range count {
		texts = append(texts, &kgo.Record{Partition: partition, Value: []byte(before + strconv.Itoa(i))})
	}
	return texts
}

func (r run) client(options ...kgo.Opt) (*kgo.Client, context.Context, func(), error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(r.bootstrap), kgo.UnknownTopicRetries(1000))...)
	if err != nil {
		cancel()
		return nil, nil, nil, err
	}
	return client, ctx, func() { client.Close(); cancel() }, nil
}

func (r run) write() {
	report("topics", r.createTopics())
	for _, c := range codecs {
		report(c.name, r.produce(c.name, records(), kgo.ProducerBatchCompression(c.codec)))
	}
	var spread []*kgo.Record
	for p := range int32(partitions) {
		spread = append(spread, texts(p, fmt.Sprintf("%d-", p), recordsEach)...)
	}
	report("partitions", r.produce("partitions", spread, kgo.DisableIdempotentWrite()))
	report("idempotent", r.produce("idempotent", texts(0, "", sequence)))
}

func (r run) createTopics() error {
	client, ctx, done, err := r.client()
	if err != nil {
		return err
	}
	defer done()
	admin := kadm.NewClient(client)
	counts := map[string]int32{"partitions": partitions, "idempotent": 1}
	for _, c := range codecs {
		counts[c.name] = 1
	}
	for name, count := range counts {
		if _, err := admin.CreateTopic(ctx, count, 1, nil, r.prefix+"-"+name); err != nil {
			return err
		}
	}
	listed, err := admin.ListTopics(ctx, r.prefix+"-partitions")
	if err != nil {
		return err
	}
	if have := len(listed[r.prefix+"-partitions"].Partitions); have != partitions {
		return fmt.Errorf("%d partitions", have)
	}
	return nil
}

func (r run) produce(topic string, records []*kgo.Record, options ...kgo.Opt) error {
	options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.RequiredAcks(kgo.AllISRAcks()), kgo.ProducerBatchMaxBytes(1_048_576))
	client, ctx, done, err := r.client(options...)
	if err != nil {
		return err
	}
	defer done()
	for _, record := range records {
		record.Topic = r.prefix + "-" + topic
	}
	return client.ProduceSync(ctx, records...).FirstErr()
}

func (r run) check() {
	for _, c := range codecs {
		report(c.name, r.checkTopic(c.name, records()))
	}
	var spread []*kgo.Record
	for p := range int32(partitions) {
		spread = append(spread, texts(p, fmt.Sprintf("%d-", p), recordsEach)...)
	}
	report("partitions", r.checkTopic("partitions", spread))
	report("idempotent", r.checkTopic("idempotent", texts(0, "", sequence)))
}

// checkTopic reads every partition, by direct assignment, and compares with what was written.
func (r run) checkTopic(topic string, expected []*kgo.Record) error {
	name := r.prefix + "-" + topic
	want := map[int32][]*kgo.Record{}
	assigned := map[int32]kgo.Offset{}
	for _, record := range expected {
		want[record.Partition] = append(want[record.Partition], record)
		assigned[record.Partition] = kgo.NewOffset().AtStart()
	}
	client, ctx, done, err := r.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{name: assigned}))
	if err != nil {
		return err
	}
	defer done()
	read := map[int32][]*kgo.Record{}
	for count := 0; count < len(expected); {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return fmt.Errorf("after %d of %d records: %w", count, len(expected), err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			read[record.Partition] = append(read[record.Partition], record)
			count++
		})
	}
	for partition, records := range want {
		if err := compare(read[partition], records); err != nil {
			return fmt.Errorf("partition %d: %w", partition, err)
		}
	}
	return nil
}

func compare(read, want []*kgo.Record) error {
	if len(read) != len(want) {
		return fmt.Errorf("%d records instead of %d", len(read), len(want))
	}
	for i, have := range read {
		switch {
		case have.Offset != int64(i):
			return fmt.Errorf("record %d is at offset %d", i, have.Offset)
		case have.Timestamp.UnixMilli() <= 0:
			return fmt.Errorf("record %d has no timestamp", i)
		case !same(have.Key, want[i].Key) || !same(have.Value, want[i].Value):
			return fmt.Errorf("record %d: key or value differ", i)
		case len(have.Headers) != len(want[i].Headers):
			return fmt.Errorf("record %d has %d headers", i, len(have.Headers))
		}
		for h, header := range have.Headers {
			if header.Key != want[i].Headers[h].Key || !same(header.Value, want[i].Headers[h].Value) {
				return fmt.Errorf("record %d: header %d differs", i, h)
			}
		}
	}
	return nil
}

// same tells null from empty.
func same(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }
