// franz-go: `logins WAYS`, where WAYS is JSON: see ways.py. Writes a record in each way, and reads it.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type way struct {
	Name, Bootstrap, Topic, Authority, Mechanism, User, Password, Token string
	Refused                                                            bool
}

func (w way) mechanism() sasl.Mechanism {
	switch w.Mechanism {
	case "PLAIN":
		return plain.Auth{User: w.User, Pass: w.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: w.User, Pass: w.Password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: w.User, Pass: w.Password}.AsSha512Mechanism()
	default:
		return oauth.Auth{Token: w.Token}.AsMechanism()
	}
}

func (w way) client(options ...kgo.Opt) (*kgo.Client, error) {
	options = append(options, kgo.SeedBrokers(w.Bootstrap), kgo.AllowAutoTopicCreation(), kgo.RequestRetries(2))
	if w.Authority != "" {
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM([]byte(w.Authority))
		options = append(options, kgo.DialTLSConfig(&tls.Config{RootCAs: pool}))
	}
	if w.Mechanism != "" {
		options = append(options, kgo.SASL(w.mechanism()))
	}
	return kgo.NewClient(options...)
}

func (w way) thereAndBack(ctx context.Context) error {
	producer, err := w.client()
	if err != nil {
		return err
	}
	defer producer.Close()
	if err := producer.ProduceSync(ctx, &kgo.Record{Topic: w.Topic, Value: []byte(w.Name)}).FirstErr(); err != nil {
		return err
	}
	consumer, err := w.client(kgo.ConsumerGroup(w.Topic+"-group"), kgo.ConsumeTopics(w.Topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer consumer.Close()
	for ctx.Err() == nil {
		for _, record := range consumer.PollFetches(ctx).Records() {
			if string(record.Value) == w.Name {
				return nil
			}
			return errors.New(string(record.Value))
		}
	}
	return ctx.Err()
}

func (w way) refused(ctx context.Context) error {
	client, err := w.client()
	if err != nil {
		return err
	}
	defer client.Close()
	err = client.Ping(ctx)
	if err != nil && strings.Contains(strings.ToUpper(err.Error()), "SASL") {
		return nil
	}
	return fmt.Errorf("not refused: %v", err)
}

func main() {
	var ways []way
	if err := json.Unmarshal([]byte(os.Args[1]), &ways); err != nil {
		panic(err)
	}
	for _, w := range ways {
		ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
		do := w.thereAndBack
		if w.Refused {
			do = w.refused
		}
		if err := do(ctx); err == nil {
			fmt.Println("passed:", w.Name)
		} else {
			fmt.Println("failed:", w.Name+":", err)
		}
		cancel()
	}
}
