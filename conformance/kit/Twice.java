import java.io.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;

/**
 * Kafka's own clients, many in one process. Each line of the input is for one of them:
 *
 *   PRODUCE name bootstrap topic value      name and the offset, or the error
 *   CLOSE name                              name and "closed"
 *   READ name bootstrap topic count         name, and the values with the errors in between
 *   JOIN name bootstrap topic               a member of the group of the topic's name: "joined"
 *   POLL name                               name, and all values that the member has read
 *   COMMIT name                             name and "done", or the error
 *   LEAVE name                              name and "left"
 *   INIT name bootstrap topic               a producer with transactions: "done", or the error
 *   TRANSACT name topic value offset        name and "done", or the error, and what an abort says
 *
 * A client of a name goes on where it was. Lines of different names are done at the same time.
 */
public class Twice {
    static final int REQUEST_MS = Integer.parseInt(System.getenv("REQUEST_MS"));
    static final int PATIENCE_MS = Integer.parseInt(System.getenv("PATIENCE_MS"));
    // It does not come past a record that is broken, and says so at every poll.
    static final int STUCK = 1000;
    static final Map<String, ExecutorService> THREADS = new HashMap<>();
    static final Map<String, KafkaProducer<String, String>> PRODUCERS = new ConcurrentHashMap<>();
    static final Map<String, Member> MEMBERS = new ConcurrentHashMap<>();
    static final String STRINGS = "org.apache.kafka.common.serialization.StringSerializer";

    public static void main(String[] arguments) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            String[] words = line.split(" ");
            THREADS.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                .submit(() -> {
                    String told;
                    try {
                        told = done(words);
                    } catch (RuntimeException error) {
                        told = "THREW " + error.toString().replace('\n', ' ');
                    }
                    synchronized (System.out) {
                        System.out.println(words[1] + " " + told);
                    }
                });
        }
        System.exit(0);
    }

    static String done(String[] words) {
        return switch (words[0]) {
            case "READ" -> read(words);
            case "CLOSE" -> close(words);
            case "JOIN" -> join(words);
            case "POLL" -> MEMBERS.get(words[1]).poll();
            case "COMMIT" -> said(MEMBERS.get(words[1])::commit);
            case "LEAVE" -> leave(words);
            case "INIT" -> init(words);
            case "TRANSACT" -> transact(words);
            default -> produce(words);
        };
    }

    static Map<String, Object> configs(String bootstrap) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("request.timeout.ms", REQUEST_MS);
        configs.put("reconnect.backoff.max.ms", 200);
        return configs;
    }

    static String produce(String[] words) {
        KafkaProducer<String, String> producer = PRODUCERS.computeIfAbsent(words[1], name -> {
            Map<String, Object> configs = configs(words[2]);
            configs.put("enable.idempotence", name.startsWith("idempotent"));
            configs.put("acks", "all");
            configs.put("delivery.timeout.ms", PATIENCE_MS);
            configs.put("key.serializer", STRINGS);
            configs.put("value.serializer", STRINGS);
            return new KafkaProducer<>(configs);
        });
        try {
            return "" + producer.send(new ProducerRecord<>(words[3], words[4])).get().offset();
        } catch (ExecutionException error) {
            return error.getCause().getClass().getSimpleName();
        } catch (InterruptedException error) {
            return "interrupted";
        }
    }

    static String close(String[] words) {
        PRODUCERS.remove(words[1]).close(Duration.ZERO);
        return "closed";
    }

    interface Doing {
        void run() throws Exception;
    }

    static String said(Doing doing) {
        try {
            doing.run();
            return "done";
        } catch (Exception error) {
            return error.getClass().getSimpleName();
        }
    }

    /** A consumer in a group. It commits what it has read. */
    static class Member {
        final KafkaConsumer<String, String> consumer;
        final List<String> values = new ArrayList<>();
        ConsumerRecord<String, String> last;

        Member(String bootstrap, String topic) {
            String strings = "org.apache.kafka.common.serialization.StringDeserializer";
            Map<String, Object> configs = configs(bootstrap);
            configs.put("group.id", topic);
            configs.put("client.id", topic);
            configs.put("auto.offset.reset", "earliest");
            configs.put("enable.auto.commit", false);
            configs.put("heartbeat.interval.ms", 300);
            configs.put("session.timeout.ms", 8000);
            configs.put("max.poll.records", 1);
            configs.put("fetch.max.wait.ms", 100);
            configs.put("default.api.timeout.ms", PATIENCE_MS);
            configs.put("key.deserializer", strings);
            configs.put("value.deserializer", strings);
            consumer = new KafkaConsumer<>(configs);
            consumer.subscribe(List.of(topic));
        }

        String poll() {
            try {
                for (var record : consumer.poll(Duration.ofMillis(100))) {
                    values.add(record.value());
                    last = record;
                }
            } catch (KafkaException error) {
                values.add(error.getClass().getSimpleName());
            }
            return String.join(",", values);
        }

        void commit() {
            TopicPartition partition = new TopicPartition(last.topic(), last.partition());
            consumer.commitSync(Map.of(partition, new OffsetAndMetadata(last.offset() + 1)));
        }
    }

    static String join(String[] words) {
        MEMBERS.put(words[1], new Member(words[2], words[3]));
        return "joined";
    }

    static String leave(String[] words) {
        MEMBERS.remove(words[1]).consumer.close();
        return "left";
    }

    static String init(String[] words) {
        Map<String, Object> configs = configs(words[2]);
        configs.put("transactional.id", words[3]);
        configs.put("client.id", words[3]);
        configs.put("max.block.ms", PATIENCE_MS);
        configs.put("delivery.timeout.ms", PATIENCE_MS);
        configs.put("key.serializer", STRINGS);
        configs.put("value.serializer", STRINGS);
        PRODUCERS.put(words[1], new KafkaProducer<>(configs));
        return said(PRODUCERS.get(words[1])::initTransactions);
    }

    static String transact(String[] words) {
        KafkaProducer<String, String> producer = PRODUCERS.get(words[1]);
        String topic = words[2];
        String told = said(() -> {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(topic, words[3]));
            producer.flush();
            Map<TopicPartition, OffsetAndMetadata> offsets =
                Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(Long.parseLong(words[4])));
            producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(topic));
            producer.commitTransaction();
        });
        return told.equals("done") ? told : told + ", " + said(producer::abortTransaction);
    }

    static String read(String[] words) {
        String strings = "org.apache.kafka.common.serialization.StringDeserializer";
        Map<String, Object> configs = configs(words[2]);
        configs.put("fetch.max.wait.ms", 100);
        configs.put("key.deserializer", strings);
        configs.put("value.deserializer", strings);
        Set<String> errors = new TreeSet<>();
        List<String> values = new ArrayList<>();
        long deadline = System.currentTimeMillis() + PATIENCE_MS;
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(configs)) {
            TopicPartition partition = new TopicPartition(words[3], 0);
            consumer.assign(List.of(partition));
            consumer.seekToBeginning(List.of(partition));
            int wanted = Integer.parseInt(words[4]);
            int failed = 0;
            while (values.size() < wanted && failed < STUCK && System.currentTimeMillis() < deadline) {
                try {
                    for (var record : consumer.poll(Duration.ofMillis(100))) values.add(record.value());
                    failed = 0;
                } catch (KafkaException error) {
                    errors.add(error.getClass().getSimpleName());
                    failed++;
                }
            }
        }
        return String.join(",", values) + "|" + String.join(",", errors);
    }
}
