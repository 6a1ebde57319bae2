// A word count of Kafka Streams: StreamsScenario <bootstrap> <application> <source> <sink>
// <state directory> <instance> <guarantee> <group protocol> <base>. It prints a line at every change of
// its state, the tasks it has when it is running, and how many records a store was restored from; it ends
// when its input does.
//
// With a base, a time in milliseconds, words are counted in windows of ten seconds: "word@12" was said
// twelve seconds after the base, and its window is told as "word@10". Without (-1) they are counted for good.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.processor.StateRestoreListener;

public class StreamsScenario {
    public static void main(String[] arguments) throws Exception {
        Properties config = new Properties();
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        config.put(StreamsConfig.STATE_DIR_CONFIG, arguments[4]);
        config.put(StreamsConfig.CLIENT_ID_CONFIG, arguments[5]);
        config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, arguments[7]);
        if (arguments[7].equals("classic")) {
            config.put(StreamsConfig.NUM_STANDBY_REPLICAS_CONFIG, "1");
            config.put("session.timeout.ms", "6000");
            config.put("heartbeat.interval.ms", "500");
        }
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "200");
        config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, arguments[6]);
        config.put("auto.offset.reset", "earliest");

        StreamsBuilder builder = new StreamsBuilder();
        long base = Long.parseLong(arguments[8]);
        Consumed<String, String> consumed = Consumed.with(Serdes.String(), Serdes.String());
        if (base < 0) {
            byWord(builder.stream(arguments[2], consumed).selectKey((key, word) -> word))
                .count()
                .toStream()
                .mapValues(String::valueOf)
                .to(arguments[3], Produced.with(Serdes.String(), Serdes.String()));
        } else {
            consumed = consumed.withTimestampExtractor((record, before) ->
                base + 1000 * Long.parseLong(((String) record.value()).split("@")[1]));
            byWord(builder.stream(arguments[2], consumed).selectKey((key, word) -> word.split("@")[0]))
                .windowedBy(TimeWindows.ofSizeAndGrace(Duration.ofSeconds(10), Duration.ofHours(1)))
                .count()
                .toStream()
                .map((window, count) -> KeyValue.pair(
                    window.key() + "@" + (window.window().start() - base) / 1000, String.valueOf(count)))
                .to(arguments[3], Produced.with(Serdes.String(), Serdes.String()));
        }

        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setStateListener((now, before) -> say("state " + now));
        streams.setGlobalStateRestoreListener(new StateRestoreListener() {
            public void onRestoreStart(TopicPartition partition, String store, long start, long end) { }
            public void onBatchRestored(TopicPartition partition, String store, long end, long count) { }
            public void onRestoreEnd(TopicPartition partition, String store, long total) {
                say("restored " + total);
            }
        });
        streams.start();
        Thread watcher = new Thread(() -> {
            String last = "";
            while (true) {
                TreeSet<String> active = new TreeSet<>();
                TreeSet<String> standby = new TreeSet<>();
                for (ThreadMetadata thread : streams.metadataForLocalThreads()) {
                    for (TaskMetadata task : thread.activeTasks()) active.add(task.taskId().toString());
                    for (TaskMetadata task : thread.standbyTasks()) standby.add(task.taskId().toString());
                }
                String tasks = "tasks " + String.join(",", active) + " standby " + String.join(",", standby);
                if (!tasks.equals(last)) say(tasks);
                last = tasks;
                try {
                    Thread.sleep(100);
                } catch (InterruptedException error) {
                    return;
                }
            }
        });
        watcher.setDaemon(true);
        watcher.start();
        new BufferedReader(new InputStreamReader(System.in)).readLine();
        streams.close(Duration.ofSeconds(20));
        // The listener's thread may end with the process before it has said so.
        say("state " + streams.state());
        say("closed");
    }

    private static KGroupedStream<String, String> byWord(KStream<String, String> words) {
        return words.groupByKey(Grouped.with("by-word", Serdes.String(), Serdes.String()));
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
