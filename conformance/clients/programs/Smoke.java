import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;

/** Kafka's own clients, any version: `Smoke BOOTSTRAP PREFIX STEP ...`. */
public class Smoke {
    static final long SECONDS = 30;
    static final String SERIALIZATION = "org.apache.kafka.common.serialization.";
    static String bootstrap, prefix;

    static Producer<String, String> producer(String... more) {
        Map<String, Object> configs = configs(more);
        configs.put("key.serializer", SERIALIZATION + "StringSerializer");
        configs.put("value.serializer", SERIALIZATION + "StringSerializer");
        return new KafkaProducer<>(configs);
    }

    static Map<String, Object> configs(String... more) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        for (int i = 0; i < more.length; i += 2) configs.put(more[i], more[i + 1]);
        return configs;
    }

    static List<String> consumed(String topic, int count) {
        Map<String, Object> configs = configs(
            "group.id", topic + "-group", "auto.offset.reset", "earliest",
            "enable.auto.commit", "false", "isolation.level", "read_committed",
            "key.deserializer", SERIALIZATION + "StringDeserializer",
            "value.deserializer", SERIALIZATION + "StringDeserializer");
        List<String> values = new ArrayList<>();
        long deadline = System.nanoTime() + SECONDS * 1_000_000_000L;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(configs)) {
            consumer.subscribe(Collections.singletonList(topic));
            while (values.size() < count && System.nanoTime() < deadline)
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200)))
                    values.add(record.value());
            consumer.commitSync();
        }
        return values;
    }

    static void same(List<String> found, List<String> expected) {
        if (!found.equals(expected)) throw new AssertionError(found + " instead of " + expected);
    }

    static void produce(String codec) throws Exception {
        String topic = prefix + "-" + codec;
        List<String> values = new ArrayList<>();
        try (Producer<String, String> producer = producer("acks", "all", "compression.type", codec)) {
            for (int n = 0; n < 10; n++) {
                values.add("0123456789".repeat(10) + n);
                long offset = producer.send(new ProducerRecord<>(topic, "k", values.get(n))).get().offset();
                if (offset != n) throw new AssertionError("offset " + offset + " instead of " + n);
            }
        }
        same(consumed(topic, 10), values);
    }

    static void group() throws Exception {
        String topic = prefix + "-group";
        try (Producer<String, String> producer = producer()) {
            for (String value : List.of("first", "second")) {
                producer.send(new ProducerRecord<>(topic, value)).get();
                same(consumed(topic, 1), List.of(value));
            }
        }
    }

    static void transactions() throws Exception {
        String topic = prefix + "-transactions";
        try (Producer<String, String> producer = producer("transactional.id", topic)) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, "no")).get();
            producer.abortTransaction();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, "yes")).get();
            producer.commitTransaction();
        }
        same(consumed(topic, 1), List.of("yes"));
    }

    public static void main(String[] arguments) {
        bootstrap = arguments[0];
        prefix = arguments[1];
        int failed = 0;
        for (String step : Arrays.asList(arguments).subList(2, arguments.length)) {
            try {
                if (step.startsWith("produce ")) produce(step.substring("produce ".length()));
                else if (step.equals("group")) group();
                else transactions();
                System.out.println("passed: " + step);
            } catch (Throwable problem) {
                failed = 1;
                System.out.println("failed: " + step);
                problem.printStackTrace();
            }
        }
        System.exit(failed);
    }
}
