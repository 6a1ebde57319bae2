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

    public static void main(String[] arguments) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = input.readLine()) != null; ) {
            String[] words = line.split(" ");
            THREADS.computeIfAbsent(words[1], name -> Executors.newSingleThreadExecutor())
                .submit(() -> {
                    String told = switch (words[0]) {
                        case "READ" -> read(words);
                        case "CLOSE" -> close(words);
                        default -> produce(words);
                    };
                    synchronized (System.out) {
                        System.out.println(words[1] + " " + told);
                    }
                });
        }
        System.exit(0);
    }

    static Map<String, Object> configs(String bootstrap) {
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", bootstrap);
        configs.put("request.timeout.ms", REQUEST_MS);
        configs.put("reconnect.backoff.max.ms", 200);
        return configs;
    }

    static String produce(String[] words) {
        String strings = "org.apache.kafka.common.serialization.StringSerializer";
        KafkaProducer<String, String> producer = PRODUCERS.computeIfAbsent(words[1], name -> {
            Map<String, Object> configs = configs(words[2]);
            configs.put("enable.idempotence", name.startsWith("idempotent"));
            configs.put("acks", "all");
            configs.put("delivery.timeout.ms", PATIENCE_MS);
            configs.put("key.serializer", strings);
            configs.put("value.serializer", strings);
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
