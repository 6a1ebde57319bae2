// A word count of Kafka Streams in a streams group: StreamsScenario <bootstrap> <application>
// <source> <sink> <state directory> <instance>. It prints a line at every change of its state, and the
// tasks it has when it is running; it ends when its input does.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.ThreadMetadata;
import org.apache.kafka.streams.TaskMetadata;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Produced;

public class StreamsScenario {
    public static void main(String[] arguments) throws Exception {
        Properties config = new Properties();
        config.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        config.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        config.put(StreamsConfig.STATE_DIR_CONFIG, arguments[4]);
        config.put(StreamsConfig.CLIENT_ID_CONFIG, arguments[5]);
        config.put(StreamsConfig.GROUP_PROTOCOL_CONFIG, "streams");
        config.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, "200");
        config.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        config.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG,
            arguments.length > 6 ? arguments[6] : StreamsConfig.AT_LEAST_ONCE);
        config.put("auto.offset.reset", "earliest");

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments[2], Consumed.with(Serdes.String(), Serdes.String()))
            .selectKey((key, word) -> word)
            .groupByKey(Grouped.with("by-word", Serdes.String(), Serdes.String()))
            .count()
            .toStream()
            .mapValues(String::valueOf)
            .to(arguments[3], Produced.with(Serdes.String(), Serdes.String()));

        KafkaStreams streams = new KafkaStreams(builder.build(), config);
        streams.setStateListener((now, before) -> say("state " + now));
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
        say("closed");
    }

    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }
}
