import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;

/** One member of a share group, told by its arguments what to do; it prints what it saw. */
public class ShareScenario {
    public static void main(String[] arguments) throws Exception {
        String scenario = arguments[3];
        Properties properties = new Properties();
        properties.put("bootstrap.servers", arguments[0]);
        properties.put("group.id", arguments[2]);
        properties.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        properties.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        properties.put("max.poll.records", "10");
        boolean explicit = !scenario.equals("implicit");
        properties.put("share.acknowledgement.mode", explicit ? "explicit" : "implicit");
        properties.put("share.acquire.mode", scenario.equals("limited") ? "record_limit" : "batch_optimized");
        int wanted = Integer.parseInt(arguments[4]);
        try (KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(properties)) {
            consumer.subscribe(List.of(arguments[1]));
            TreeMap<Long, Integer> deliveries = new TreeMap<>();
            TreeMap<Long, Short> brokersCounts = new TreeMap<>();
            List<String> accepted = new ArrayList<>();
            int largest = 0;
            // Who gives poison back stays until nothing comes any more.
            boolean stays = scenario.equals("poison");
            int quiet = 0;
            long deadline = System.currentTimeMillis() + 40_000;
            while ((accepted.size() < wanted || stays && quiet < 6) && System.currentTimeMillis() < deadline) {
                var records = consumer.poll(Duration.ofMillis(500));
                largest = Math.max(largest, records.count());
                quiet = records.isEmpty() ? quiet + 1 : 0;
                List<String> saidToBeAccepted = new ArrayList<>();
                boolean isFirst = deliveries.isEmpty();
                for (ConsumerRecord<String, String> record : records) {
                    deliveries.merge(record.offset(), 1, Integer::sum);
                    brokersCounts.put(record.offset(), record.deliveryCount().orElseThrow());
                    AcknowledgeType type = typeFor(scenario, record, deliveries.get(record.offset()));
                    if (explicit) {
                        consumer.acknowledge(record, type);
                    }
                    if (type == AcknowledgeType.ACCEPT) {
                        saidToBeAccepted.add(record.value());
                    }
                }
                if (!records.isEmpty()) {
                    Thread.sleep(scenario.equals("late") && isFirst ? 3000 : scenario.equals("keep") ? 700 : 0);
                    boolean[] isConfirmed = {true};
                    consumer.commitSync().forEach((partition, error) -> error.ifPresent(e -> {
                        System.out.println("error " + e);
                        isConfirmed[0] = false;
                    }));
                    if (isConfirmed[0]) accepted.addAll(saidToBeAccepted);
                }
            }
            System.out.println("accepted " + String.join(",", accepted));
            System.out.println("deliveries " + deliveries);
            System.out.println("counts " + brokersCounts);
            System.out.println("largest " + largest);
        }
    }

    private static AcknowledgeType typeFor(String scenario, ConsumerRecord<String, String> record, int count) {
        boolean isOdd = record.offset() % 2 == 1;
        switch (scenario) {
            case "release":
                return isOdd && count == 1 ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT;
            case "renew":
                return isOdd && count == 1 ? AcknowledgeType.RENEW : AcknowledgeType.ACCEPT;
            case "keep":
                return count < 5 ? AcknowledgeType.RENEW : AcknowledgeType.ACCEPT;
            case "poison":
                return record.value().equals("poison") ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT;
            case "reject":
                return isOdd ? AcknowledgeType.REJECT : AcknowledgeType.ACCEPT;
            default:
                return AcknowledgeType.ACCEPT;
        }
    }
}
