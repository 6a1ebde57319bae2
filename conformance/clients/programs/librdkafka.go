// librdkafka as an old confluent-kafka-go brings it: `librdkafka BOOTSTRAP PREFIX STEP ...`
package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/confluentinc/confluent-kafka-go/kafka"
)

const patience = 30 * time.Second

var bootstrap, prefix = os.Args[1], os.Args[2]

func same(found, expected []string) error {
	if !reflect.DeepEqual(found, expected) {
		return fmt.Errorf("%v instead of %v", found, expected)
	}
	return nil
}

func consumed(topic string, count int) ([]string, error) {
	c, err := kafka.NewConsumer(&kafka.ConfigMap{
		"bootstrap.servers": bootstrap, "group.id": topic + "-group", "auto.offset.reset": "earliest",
		"enable.auto.commit": false, "isolation.level": "read_committed",
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := c.Subscribe(topic, nil); err != nil {
		return nil, err
	}
	var values []string
	for deadline := time.Now().Add(patience); len(values) < count && time.Now().Before(deadline); {
		message, err := c.ReadMessage(200 * time.Millisecond)
		if err == nil {
			values = append(values, string(message.Value))
		} else if err.(kafka.Error).Code() != kafka.ErrTimedOut {
			return nil, err
		}
	}
	_, err = c.Commit()
	return values, err
}

func send(p *kafka.Producer, topic, value string) (kafka.Offset, error) {
	reports := make(chan kafka.Event, 1)
	where := kafka.TopicPartition{Topic: &topic, Partition: kafka.PartitionAny}
	message := &kafka.Message{TopicPartition: where, Key: []byte("k"), Value: []byte(value)}
	if err := p.Produce(message, reports); err != nil {
		return 0, err
	}
	delivered := (<-reports).(*kafka.Message)
	return delivered.TopicPartition.Offset, delivered.TopicPartition.Error
}

func produce(codec string) error {
	topic := prefix + "-" + codec
	p, err := kafka.NewProducer(&kafka.ConfigMap{
		"bootstrap.servers": bootstrap, "acks": "all", "compression.type": codec, "linger.ms": 0})
	if err != nil {
		return err
	}
	defer p.Close()
	var values []string
	for n := 0; n < 10; n++ {
		values = append(values, strings.Repeat(fmt.Sprint(n), 100))
		offset, err := send(p, topic, values[n])
		if err != nil {
			return err
		}
		if offset != kafka.Offset(n) {
			return fmt.Errorf("offset %d instead of %d", offset, n)
		}
	}
	found, err := consumed(topic, 10)
	if err != nil {
		return err
	}
	return same(found, values)
}

func group() error {
	topic := prefix + "-group"
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": bootstrap})
	if err != nil {
		return err
	}
	defer p.Close()
	for _, value := range []string{"first", "second"} {
		if _, err := send(p, topic, value); err != nil {
			return err
		}
		found, err := consumed(topic, 1)
		if err != nil {
			return err
		}
		if err := same(found, []string{value}); err != nil {
			return err
		}
	}
	return nil
}

func transactions() error {
	topic := prefix + "-transactions"
	p, err := kafka.NewProducer(&kafka.ConfigMap{"bootstrap.servers": bootstrap, "transactional.id": topic})
	if err != nil {
		return err
	}
	defer p.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.InitTransactions(ctx); err != nil {
		return err
	}
	for _, t := range []struct {
		end   func(context.Context) error
		value string
	}{{p.AbortTransaction, "no"}, {p.CommitTransaction, "yes"}} {
		if err := p.BeginTransaction(); err != nil {
			return err
		}
		if _, err := send(p, topic, t.value); err != nil {
			return err
		}
		if err := t.end(ctx); err != nil {
			return err
		}
	}
	found, err := consumed(topic, 1)
	if err != nil {
		return err
	}
	return same(found, []string{"yes"})
}

func main() {
	status := 0
	for _, step := range os.Args[3:] {
		var err error
		switch {
		case strings.HasPrefix(step, "produce "):
			err = produce(strings.TrimPrefix(step, "produce "))
		case step == "group":
			err = group()
		default:
			err = transactions()
		}
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
