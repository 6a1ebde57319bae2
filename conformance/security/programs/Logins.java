import java.io.StringReader;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Kafka's own clients: each argument has the settings of a way in, as properties. In each a record is written and
 * read; or, where way.refused is set, the login fails.
 */
public class Logins {
    static final Duration PATIENCE = Duration.ofSeconds(60);

    public static void main(String[] arguments) throws Exception {
        for (String text : arguments) {
            Properties settings = new Properties();
            settings.load(new StringReader(text));
            String name = settings.getProperty("way.name");
            String wrong;
            try {
                wrong = settings.containsKey("way.refused") ? refused(settings) : thereAndBack(settings);
            } catch (Exception error) {
                wrong = error.toString();
            }
            System.out.println(wrong == null ? "passed: " + name : "failed: " + name + ": " + wrong);
        }
    }

    static KafkaProducer<String, String> producer(Properties settings) {
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static String thereAndBack(Properties settings) throws Exception {
        String name = settings.getProperty("way.name"), topic = settings.getProperty("way.topic");
        try (KafkaProducer<String, String> producer = producer(settings)) {
            producer.send(new ProducerRecord<>(topic, name)).get();
        }
        try (KafkaConsumer<String, String> consumer =
                 new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            Instant end = Instant.now().plus(PATIENCE);
            while (Instant.now().isBefore(end))
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1)))
                    return record.value().equals(name) ? null : "read " + record.value();
        }
        return "nothing was read";
    }

    static String refused(Properties settings) {
        try (KafkaProducer<String, String> producer = producer(settings)) {
            producer.partitionsFor(settings.getProperty("way.topic"));
            return "it was let in";
        } catch (SaslAuthenticationException expected) {
            return null;
        }
    }
}
