import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kafkalite.testing.Kafkalite;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.extension.RegisterExtension;

/** An application that outlives a test keeps its cluster; faults end with the test. */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class SharedTest {
    @RegisterExtension static final Kafkalite k = new Kafkalite();

    private static KafkaProducer<String, String> application;

    @BeforeAll
    static void startApplication() {
        var serializer = new StringSerializer();
        application = new KafkaProducer<>(Map.of("bootstrap.servers", k.bootstrap()), serializer, serializer);
    }

    @AfterAll
    static void stopApplication() {
        application.close();
    }

    private static void place(String order) throws Exception {
        application.send(new ProducerRecord<>("shared", order)).get(30, TimeUnit.SECONDS);
    }

    @Test
    @Order(1)
    void eachAnswerIsLate() throws Exception {
        var late = List.of(Map.of("delay", "1ms"));
        k.fault(Map.of("when", Map.of("api", "Produce"), "do", late, "times", 100));
        place("1");
        assertEquals(1, k.list("/topics/shared/records").size());
    }

    @Test
    @Order(2)
    void theNextTestHasItsRecordsAndNotItsFaults() throws Exception {
        assertEquals(List.of(), k.list("/faults"));
        place("2");
        assertEquals(2, k.list("/topics/shared/records").size());
    }
}
