import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kafkalite.testing.Kafkalite;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Problems of people who test with Kafka, solved in Java with nothing but HTTP. */
class OrdersTest {
    @RegisterExtension final Kafkalite k = new Kafkalite();

    @BeforeEach
    void createTopic() {
        k.post("/topics", Map.of("topic", "orders"));
    }

    private KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> configs = new java.util.HashMap<>(more);
        configs.put("bootstrap.servers", k.bootstrap());
        configs.put("client.id", "app");
        return new KafkaProducer<>(configs, new StringSerializer(), new StringSerializer());
    }

    private void place(String order) throws Exception {
        try (var producer = producer(Map.of())) {
            producer.send(new ProducerRecord<>("orders", order)).get(30, TimeUnit.SECONDS);
        }
    }

    @Test
    void produceOnlyWhenTheConsumerIsAssigned() throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        var read = CompletableFuture.supplyAsync(() -> {
            Map<String, Object> configs = Map.of(
                "bootstrap.servers", k.bootstrap(), "group.id", "billing", "auto.offset.reset", "earliest");
            try (var consumer = new KafkaConsumer<>(configs, new StringDeserializer(), new StringDeserializer())) {
                consumer.subscribe(List.of("orders"));
                while (!ended.get()) {
                    for (var record : consumer.poll(Duration.ofMillis(100))) {
                        return record.value();
                    }
                }
                return "nothing";
            }
        });
        try {
            k.await(Map.of("group", Map.of("id", "billing", "members", 1, "assigned", true)));
            place("1");
            assertEquals("1", read.get(30, TimeUnit.SECONDS));
        } finally {
            ended.set(true);
        }
    }

    @Test
    void theRecordWasWrittenAndTheAnswerWasLost() throws Exception {
        k.fault(Map.of("when", Map.of("api", "Produce"), "do", List.of(Map.of("drop", "after"))));
        place("1");
        assertEquals(1, k.list("/topics/orders/records").size());
    }

    @Test
    void aTransactionTimesOut() throws Exception {
        try (var slow = producer(Map.of("transactional.id", "billing-0"))) {
            slow.initTransactions();
            slow.beginTransaction();
            slow.send(new ProducerRecord<>("orders", "1")).get(30, TimeUnit.SECONDS);
            assertEquals(List.of("billing-0"), k.advance("61s").get("aborted"));
            assertEquals("CompleteAbort", k.get("/transactions/billing-0").get("state"));
        }
    }

    @Test
    void retentionLosesWhatWasNotRead() {
        Map<String, Object> record = Map.of("value", "old", "count", 100);
        k.post("/topics/orders/records", Map.of("records", List.of(record)));
        k.advance("8d");
        k.await(Map.of("not", Map.of("records", Map.of("topic", "orders"))));
        var partition = (Map<?, ?>) ((List<?>) k.get("/topics/orders").get("partitions")).get(0);
        assertEquals(100L, partition.get("start_offset"));
    }

    @Test
    void theSameDataForManyTests() throws Exception {
        place("1");
        k.put("/snapshots/orders-java", Map.of());
        k.post("/reset", Map.of());
        assertEquals(List.of(), k.list("/topics"));
        k.post("/restore", Map.of("snapshot", "orders-java"));
        assertEquals("1", k.list("/topics/orders/records").get(0).get("value"));
    }

    @Test
    void whatDidMyClientReallySend() throws Exception {
        k.put("/spy", Map.of("mode", "on"));
        place("1");
        var sent = k.list("/requests?api=Produce&client_id=app&bodies=true");
        assertEquals(1, sent.size());
        assertEquals(-1L, ((Map<?, ?>) sent.get(0).get("request")).get("acks"));
    }
}
