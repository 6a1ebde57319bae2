import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.errors.*;

/** A worker: copies `input` to `output` in transactions, in a group, with Kafka's own clients. */
public class Copy {
    static final Random RANDOM = new Random();

    public static void main(String[] arguments) {
        String bootstrap = arguments[0], source = arguments[1], target = arguments[2];
        String group = arguments[3], transactionalId = arguments[4];
        Map<String, Object> forProducer = new HashMap<>();
        forProducer.put("bootstrap.servers", bootstrap);
        forProducer.put("transactional.id", transactionalId);
        forProducer.put("reconnect.backoff.max.ms", 500);
        forProducer.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        forProducer.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        Map<String, Object> forConsumer = new HashMap<>();
        forConsumer.put("bootstrap.servers", bootstrap);
        forConsumer.put("group.id", group);
        forConsumer.put("enable.auto.commit", false);
        forConsumer.put("auto.offset.reset", "earliest");
        forConsumer.put("isolation.level", "read_committed");
        forConsumer.put("max.poll.records", 50);
        forConsumer.put("session.timeout.ms", 6000);
        forConsumer.put("reconnect.backoff.max.ms", 500);
        forConsumer.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        forConsumer.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        KafkaProducer<String, String> producer = new KafkaProducer<>(forProducer);
        KafkaConsumer<String, String> consumer = new KafkaConsumer<>(forConsumer);
        producer.initTransactions();
        consumer.subscribe(List.of(source));
        while (true) {
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(300));
            if (records.isEmpty()) continue;
            boolean aborts = RANDOM.nextDouble() < 0.2;
            try {
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> ends = new HashMap<>();
                for (ConsumerRecord<String, String> record : records) {
                    String value = aborts ? "aborted:" + record.value() : record.value();
                    producer.send(new ProducerRecord<>(target, record.partition(), null, value));
                    ends.put(new TopicPartition(record.topic(), record.partition()),
                             new OffsetAndMetadata(record.offset() + 1));
                }
                producer.sendOffsetsToTransaction(ends, consumer.groupMetadata());
                if (aborts) {
                    producer.flush();
                    producer.abortTransaction();
                    rewind(consumer);
                } else {
                    commit(producer);
                }
            } catch (ProducerFencedException | InvalidProducerEpochException | FencedInstanceIdException
                     | OutOfOrderSequenceException | AuthorizationException fenced) {
                System.err.println("ends: " + fenced);
                System.exit(1);
            } catch (KafkaException error) {
                System.err.println("aborts: " + error);
                producer.abortTransaction();
                rewind(consumer);
            }
        }
    }

    static void commit(KafkaProducer<String, String> producer) {
        while (true) {
            try {
                producer.commitTransaction();
                return;
            } catch (TimeoutException again) {
                System.err.println("commits again: " + again);
            }
        }
    }

    static void rewind(KafkaConsumer<String, String> consumer) {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(consumer.assignment());
        for (TopicPartition partition : consumer.assignment()) {
            OffsetAndMetadata offset = committed.get(partition);
            consumer.seek(partition, offset == null ? 0 : offset.offset());
        }
    }
}
