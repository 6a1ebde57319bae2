import java.io.FileOutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.errors.InvalidRecordStateException;

/** A worker: takes records of a share group, and keeps a journal that outlives its SIGKILL. */
public class Take {
    static final Random RANDOM = new Random();
    static final int MOST = 50;

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0], topic = arguments[1], group = arguments[2];
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("max.poll.records", MOST);
        settings.put("reconnect.backoff.max.ms", 500);
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        long notBefore = System.nanoTime();
        KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(settings);
        consumer.subscribe(List.of(topic));
        FileOutputStream journal = new FileOutputStream(arguments[3], true);
        while (true) {
            long begun = System.nanoTime();
            ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(300));
            StringBuilder delivered = new StringBuilder();
            for (ConsumerRecord<String, String> each : records)
                delivered.append(line("delivered", notBefore, each)).append(each.value()).append('\n');
            // A poll that gives fewer than it may leaves none in the consumer's memory: the records of
            // the next polls were not acquired before this one began.
            if (records.count() < MOST) notBefore = begun;
            if (records.isEmpty()) continue;
            write(journal, delivered);
            if (RANDOM.nextDouble() < 0.02) Thread.sleep(3_000);  // longer than a lock lasts
            Set<ConsumerRecord<String, String>> ended = new HashSet<>();
            for (ConsumerRecord<String, String> each : records) {
                double dice = RANDOM.nextDouble();
                AcknowledgeType type = dice < 0.05 ? AcknowledgeType.RELEASE
                    : dice < 0.07 ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT;
                consumer.acknowledge(each, type);
                if (type != AcknowledgeType.RELEASE) ended.add(each);
            }
            Map<Integer, String> outcomes = new HashMap<>();
            consumer.commitSync().forEach((partition, error) ->
                outcomes.put(partition.partition(), outcome(error)));
            long acknowledged = System.nanoTime();
            StringBuilder lines = new StringBuilder();
            for (ConsumerRecord<String, String> each : records) {
                String what = ended.contains(each) ? outcomes.getOrDefault(each.partition(), "lost") : "left";
                lines.append(line(what, acknowledged, each)).append(each.value()).append('\n');
            }
            write(journal, lines);
        }
    }

    /** Confirmed; or refused, so that the record comes again; or one cannot know. */
    static String outcome(Optional<KafkaException> error) {
        if (error.isEmpty()) return "done";
        return error.get() instanceof InvalidRecordStateException ? "left" : "lost";
    }

    static String line(String what, long time, ConsumerRecord<String, String> record) {
        return what + ' ' + time + ' ' + record.partition() + ' ' + record.offset() + ' ';
    }

    static void write(FileOutputStream journal, StringBuilder lines) throws Exception {
        journal.write(lines.toString().getBytes(StandardCharsets.UTF_8));
    }
}
