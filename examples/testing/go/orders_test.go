// Problems of people who test with Kafka, solved in Go with nothing but HTTP.
package orders

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	kafkalite "kafkalite.io/testing"
)

type fields = kafkalite.Fields

func cluster(t *testing.T) *kafkalite.Cluster {
	k := kafkalite.New(t, fields{})
	k.Post("/topics", fields{"topic": "orders"}, nil)
	return k
}

func client(t *testing.T, k *kafkalite.Cluster, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	made, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(k.Bootstrap), kgo.ClientID("app"), kgo.DefaultProduceTopic("orders"),
	}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return made
}

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func place(t *testing.T, client *kgo.Client, order string) {
	t.Helper()
	if err := client.ProduceSync(soon(t), kgo.StringRecord(order)).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

func records(k *kafkalite.Cluster) []struct{ Value string } {
	var found []struct{ Value string }
	k.Get("/topics/orders/records", &found)
	return found
}

func TestProduceOnlyWhenTheConsumerIsAssigned(t *testing.T) {
	k := cluster(t)
	consumer := client(t, k, kgo.ConsumerGroup("billing"), kgo.ConsumeTopics("orders"))
	k.Wait(fields{"group": fields{"id": "billing", "members": 1, "assigned": true}})
	place(t, client(t, k), "1")
	found := consumer.PollRecords(soon(t), 1).Records()
	if len(found) != 1 || string(found[0].Value) != "1" {
		t.Fatal(found)
	}
}

func TestTheRecordWasWrittenAndTheAnswerWasLost(t *testing.T) {
	k := cluster(t)
	k.Fault(fields{"when": fields{"api": "Produce"}, "do": []fields{{"drop": "after"}}})
	place(t, client(t, k), "1")
	if found := records(k); len(found) != 1 {
		t.Fatal(found)
	}
}

func TestATransactionTimesOut(t *testing.T) {
	k := cluster(t)
	slow := client(t, k, kgo.TransactionalID("billing-0"))
	if err := slow.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	place(t, slow, "1")
	if done := k.Advance("61s"); len(done["aborted"].([]any)) != 1 {
		t.Fatal(done)
	}
	var shown struct{ State string }
	k.Get("/transactions/billing-0", &shown)
	if shown.State != "CompleteAbort" {
		t.Fatal(shown)
	}
}

func TestRetentionLosesWhatWasNotRead(t *testing.T) {
	k := cluster(t)
	k.Post("/topics/orders/records", fields{"records": []fields{{"value": "old", "count": 100}}}, nil)
	k.Advance("8d")
	k.Wait(fields{"not": fields{"records": fields{"topic": "orders"}}})
	var shown struct {
		Partitions []struct {
			StartOffset int `json:"start_offset"`
		}
	}
	k.Get("/topics/orders", &shown)
	if shown.Partitions[0].StartOffset != 100 {
		t.Fatal(shown)
	}
}

func TestTheSameDataForManyTests(t *testing.T) {
	k := cluster(t)
	place(t, client(t, k), "1")
	k.Put("/snapshots/orders-go", fields{}, nil)
	other := kafkalite.New(t, fields{"from": "orders-go"})
	if found := records(other); len(found) != 1 || found[0].Value != "1" {
		t.Fatal(found)
	}
	k.Post("/reset", fields{}, nil)
	var topics []any
	if k.Get("/topics", &topics); len(topics) != 0 {
		t.Fatal(topics)
	}
}

func TestWhatDidMyClientReallySend(t *testing.T) {
	k := cluster(t)
	k.Put("/spy", fields{"mode": "on"}, nil)
	place(t, client(t, k), "1")
	var sent []struct{ Request struct{ Acks int } }
	k.Get("/requests?api=Produce&client_id=app&bodies=true", &sent)
	if len(sent) != 1 || sent[0].Request.Acks != -1 {
		t.Fatal(sent)
	}
}
