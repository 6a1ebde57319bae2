import java.util.*;
import org.apache.kafka.clients.producer.*;

/** Commits transactions one after the other; prints the milliseconds of each after the warm-up. */
public class Transactions {
    public static void main(String[] arguments) {
        String topic = arguments[1];
        int partitions = Integer.parseInt(arguments[2]), records = Integer.parseInt(arguments[3]);
        int warmUp = Integer.parseInt(arguments[4]), count = Integer.parseInt(arguments[5]);
        Map<String, Object> configs = new HashMap<>();
        configs.put("bootstrap.servers", arguments[0]);
        configs.put("transactional.id", "java");
        configs.put("linger.ms", 0);
        configs.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        configs.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        StringBuilder took = new StringBuilder();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(configs)) {
            producer.initTransactions();
            for (int number = 0; number < warmUp + count; number++) {
                long began = System.nanoTime();
                producer.beginTransaction();
                for (int record = 0; record < records; record++)
                    producer.send(new ProducerRecord<>(topic, record % partitions, null, new byte[100]));
                producer.commitTransaction();
                if (number >= warmUp) took.append((System.nanoTime() - began) / 1e6).append('\n');
            }
        }
        System.out.print(took);
    }
}
