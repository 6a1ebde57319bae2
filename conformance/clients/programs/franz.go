// franz-go: `franz BOOTSTRAP PREFIX STEP ...`
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

var bootstrap, prefix = os.Args[1], os.Args[2]

func client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, kgo.SeedBrokers(bootstrap), kgo.AllowAutoTopicCreation())...)
}

func record(topic, value string) *kgo.Record {
	return &kgo.Record{Topic: topic, Key: []byte("k"), Value: []byte(value)}
}

func same(found, expected []string) error {
	if !reflect.DeepEqual(found, expected) {
		return fmt.Errorf("%v instead of %v", found, expected)
	}
	return nil
}

func consumed(ctx context.Context, topic string, count int) ([]string, error) {
	c, err := client(kgo.ConsumerGroup(topic+"-group"), kgo.ConsumeTopics(topic), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	var values []string
	for len(values) < count && ctx.Err() == nil {
		fetches := c.PollFetches(ctx)
		fetches.EachRecord(func(r *kgo.Record) { values = append(values, string(r.Value)) })
	}
	return values, c.CommitUncommittedOffsets(ctx)
}

func produce(ctx context.Context, codec string) error {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	topic := prefix + "-" + codec
	c, err := client(kgo.ProducerBatchCompression(codecs[codec]))
	if err != nil {
		return err
	}
	defer c.Close()
	var values []string
	for n := 0; n < 10; n++ {
		values = append(values, strings.Repeat(fmt.Sprint(n), 100))
		sent, err := c.ProduceSync(ctx, record(topic, values[n])).First()
		if err != nil {
			return err
		}
		if sent.Offset != int64(n) {
			return fmt.Errorf("offset %d instead of %d", sent.Offset, n)
		}
	}
	found, err := consumed(ctx, topic, 10)
	if err != nil {
		return err
	}
	return same(found, values)
}

func group(ctx context.Context) error {
	topic := prefix + "-group"
	c, err := client()
	if err != nil {
		return err
	}
	defer c.Close()
	for _, value := range []string{"first", "second"} {
		if err := c.ProduceSync(ctx, record(topic, value)).FirstErr(); err != nil {
			return err
		}
		found, err := consumed(ctx, topic, 1)
		if err != nil {
			return err
		}
		if err := same(found, []string{value}); err != nil {
			return err
		}
	}
	return nil
}

func transactions(ctx context.Context) error {
	topic := prefix + "-transactions"
	c, err := client(kgo.TransactionalID(topic))
	if err != nil {
		return err
	}
	defer c.Close()
	for _, t := range []struct {
		end   kgo.TransactionEndTry
		value string
	}{{kgo.TryAbort, "no"}, {kgo.TryCommit, "yes"}} {
		if err := c.BeginTransaction(); err != nil {
			return err
		}
		if err := c.ProduceSync(ctx, record(topic, t.value)).FirstErr(); err != nil {
			return err
		}
		if err := c.EndTransaction(ctx, t.end); err != nil {
			return err
		}
	}
	found, err := consumed(ctx, topic, 1)
	if err != nil {
		return err
	}
	return same(found, []string{"yes"})
}

// share takes records of a share group, which begins at the end of its topic: they are written until
// some are delivered. What was accepted does not come again.
func share(ctx context.Context) error {
	topic := prefix + "-share"
	p, err := client()
	if err != nil {
		return err
	}
	defer p.Close()
	c, err := client(kgo.ShareGroup(topic+"-group"), kgo.ConsumeTopics(topic))
	if err != nil {
		return err
	}
	defer c.Close()
	deliveries := map[int64]int{}
	for n := 0; len(deliveries) < 5; n++ {
		if err := p.ProduceSync(ctx, record(topic, fmt.Sprint(n))).FirstErr(); err != nil {
			return err
		}
		polling, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		c.PollFetches(polling).EachRecord(func(r *kgo.Record) { deliveries[r.Offset]++ })
		cancel()
		c.MarkAcks(kgo.AckAccept)
		if err := c.FlushAcks(ctx); err != nil {
			return err
		}
	}
	for offset, count := range deliveries {
		if count != 1 {
			return fmt.Errorf("offset %d was delivered %d times", offset, count)
		}
	}
	return nil
}

func main() {
	status := 0
	for _, step := range os.Args[3:] {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		var err error
		switch {
		case strings.HasPrefix(step, "produce "):
			err = produce(ctx, strings.TrimPrefix(step, "produce "))
		case step == "group":
			err = group(ctx)
		case step == "share":
			err = share(ctx)
		default:
			err = transactions(ctx)
		}
		cancel()
		if err == nil {
			fmt.Println("passed:", step)
		} else {
			status = 1
			fmt.Println("failed:", step)
			fmt.Fprintln(os.Stderr, err)
		}
	}
	os.Exit(status)
}
