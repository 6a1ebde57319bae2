import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Enumeration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.ssl.SslPrincipalMapper;
import org.apache.kafka.common.utils.Utils;

/**
 * Apache Kafka's own message classes, asked over a pipe.
 *
 * A question is (UTF name, short version, int size, bytes); an answer (byte ok, int size, text, int size,
 * bytes). For a message's name the bytes are read as that message in that version: the text is what Kafka's
 * JSON converter makes of it, the bytes are what it writes. For ":batch" the bytes are a record batch, and the version
 * is the codec with which the same records are built again. ":rewrite Name N" reads like "Name", and writes in
 * version N. ":refuse KEY CODE [MESSAGE]" reads a request of that API, and writes the answer that says that
 * error; its text is empty where Kafka has none. ":jaas" reads a JAAS line: the login module, and each option's key and
 * value, parted by zeros. ":principal RULES" names the user of a certificate's name. ":messages", ":apis" and ":errors" list what there is; ":new Name" shows a new message.
 */
public class Referee {
    private static final String SUFFIX = "JsonConverter.class";
    private static final Map<String, String> CLASSES = new TreeMap<>();
    private static final Map<String, Method> WRITERS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        findMessages();
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(System.out);
        while (true) {
            String name;
            try {
                name = in.readUTF();
            } catch (java.io.EOFException end) {
                return;
            }
            short version = in.readShort();
            byte[] data = in.readNBytes(in.readInt());
            boolean ok = true;
            String text;
            byte[] written = new byte[0];
            try {
                if (name.equals(":messages")) {
                    text = String.join("\n", CLASSES.keySet());
                } else if (name.equals(":apis")) {
                    text = apis();
                } else if (name.equals(":errors")) {
                    text = errors();
                } else if (name.startsWith(":new ")) {
                    text = newStruct(name.substring(5)).toString();
                } else if (name.equals(":batch")) {
                    RecordBatch batch = MemoryRecords.readableRecords(ByteBuffer.wrap(data)).firstBatch();
                    batch.ensureValid();
                    text = describe(batch);
                    written = batch.isControlBatch() ? data : rebuild(batch, version);
                } else if (name.startsWith(":refuse ")) {
                    String[] words = name.split(" ", 4);
                    Errors error = Errors.forCode(Short.parseShort(words[2]));
                    AbstractResponse refusal = AbstractRequest
                        .parseRequest(ApiKeys.forId(Integer.parseInt(words[1])), version,
                            new ByteBufferAccessor(ByteBuffer.wrap(data)))
                        .request
                        .getErrorResponse(0, words.length > 3 ? error.exception(words[3]) : error.exception());
                    text = refusal == null ? "" : refusal.data().getClass().getSimpleName();
                    written = refusal == null ? written : write((Message) refusal.data(), version);
                } else if (name.equals(":jaas")) {
                    text = jaas(new String(data, StandardCharsets.UTF_8));
                } else if (name.startsWith(":principal ")) {
                    text = SslPrincipalMapper.fromRules(name.substring(11))
                        .getName(new String(data, StandardCharsets.UTF_8));
                } else if (name.startsWith(":rewrite ")) {
                    String[] words = name.split(" ");
                    text = "";
                    written = write(read(words[1], version, data), Short.parseShort(words[2]));
                } else {
                    Message message = read(name, version, data);
                    text = writer(name).invoke(null, message, version, true).toString();
                    written = write(message, version);
                }
            } catch (Throwable error) {
                ok = false;
                text = error + " " + error.getCause();
            }
            byte[] encoded = text.getBytes(StandardCharsets.UTF_8);
            out.writeByte(ok ? 1 : 0);
            out.writeInt(encoded.length);
            out.write(encoded);
            out.writeInt(written.length);
            out.write(written);
            out.flush();
        }
    }

    private static String jaas(String line) {
        Map<String, Object> configs = Map.of(SaslConfigs.SASL_JAAS_CONFIG, new Password(line));
        AppConfigurationEntry entry = JaasContext.loadClientContext(configs).configurationEntries().get(0);
        StringBuilder text = new StringBuilder(entry.getLoginModuleName());
        entry.getOptions().forEach((key, value) -> {
            if (key != null)  // what was no word, which no login module looks for
                text.append('\0').append(key).append('\0').append(value);
        });
        return text.toString();
    }

    /** Every class with a JSON converter in the jars is a message; a request's is named ...RequestData. */
    private static void findMessages() throws Exception {
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!new File(path).getName().startsWith("kafka") || !path.endsWith(".jar"))
                continue;
            try (JarFile jar = new JarFile(path)) {
                Enumeration<JarEntry> entries = jar.entries();
                while (entries.hasMoreElements()) {
                    String entry = entries.nextElement().getName();
                    if (entry.endsWith(SUFFIX) && !entry.contains("$")) {
                        String name = entry.substring(0, entry.length() - SUFFIX.length()).replace('/', '.');
                        String simple = name.substring(name.lastIndexOf('.') + 1);
                        if (simple.endsWith("RequestData") || simple.endsWith("ResponseData"))
                            simple = simple.substring(0, simple.length() - 4);
                        CLASSES.put(simple, name);
                    }
                }
            }
        }
    }

    private static Message read(String name, short version, byte[] data) throws Exception {
        ByteBuffer buffer = ByteBuffer.wrap(data);
        Message message = newMessage(name);
        message.read(new ByteBufferAccessor(buffer), version);
        if (buffer.hasRemaining())
            throw new IllegalStateException(buffer.remaining() + " bytes left over");
        return message;
    }

    private static byte[] write(Message message, short version) {
        return bytes(MessageUtil.toByteBufferAccessor(message, version).buffer());
    }

    private static Message newMessage(String name) throws Exception {
        return (Message) Class.forName(CLASSES.get(name)).getDeclaredConstructor().newInstance();
    }

    /** A message, or Message$Struct for one of its structs, with all fields at their defaults. */
    private static Object newStruct(String name) throws Exception {
        String[] parts = name.split("\\$");
        String path = CLASSES.get(parts[0]) + (parts.length == 2 ? "$" + parts[1] : "");
        return Class.forName(path).getDeclaredConstructor().newInstance();
    }

    /** A batch and its records, keys and values in base 64. */
    private static String describe(RecordBatch batch) {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        node.put("base_offset", batch.baseOffset()).put("last_offset", batch.lastOffset());
        node.put("max_timestamp", batch.maxTimestamp()).put("timestamp_type", batch.timestampType().id);
        node.put("compression", batch.compressionType().id);
        node.put("producer_id", batch.producerId()).put("producer_epoch", batch.producerEpoch());
        node.put("base_sequence", batch.baseSequence()).put("last_sequence", batch.lastSequence());
        node.put("partition_leader_epoch", batch.partitionLeaderEpoch());
        node.put("is_transactional", batch.isTransactional()).put("is_control", batch.isControlBatch());
        node.put("record_count", batch.countOrNull()).put("size_bytes", batch.sizeInBytes());
        ArrayNode records = node.putArray("records");
        for (Record record : batch) {
            ArrayNode each = records.addArray().add(record.offset()).add(record.timestamp());
            each.add(bytes(record.key())).add(bytes(record.value()));
            ArrayNode headers = each.addArray();
            for (Header header : record.headers())
                headers.addArray().add(header.key()).add(header.value());
        }
        return node.toString();
    }

    private static byte[] bytes(ByteBuffer buffer) {
        return buffer == null ? null : Utils.toArray(buffer);
    }

    private static byte[] rebuild(RecordBatch batch, int codec) {
        MemoryRecordsBuilder builder = MemoryRecords.builder(
            ByteBuffer.allocate(1024), RecordBatch.CURRENT_MAGIC_VALUE,
            Compression.of(CompressionType.forId(codec)).build(), batch.timestampType(),
            batch.baseOffset(), batch.maxTimestamp(), batch.producerId(), batch.producerEpoch(),
            batch.baseSequence(), batch.isTransactional(), false, batch.partitionLeaderEpoch());
        for (Record record : batch)
            builder.appendWithOffset(
                record.offset(), record.timestamp(), record.key(), record.value(), record.headers());
        return bytes(builder.build().buffer());
    }

    private static Method writer(String name) throws Exception {
        Method found = WRITERS.get(name);
        if (found == null) {
            Class<?> message = Class.forName(CLASSES.get(name));
            Class<?> converter = Class.forName(CLASSES.get(name) + "JsonConverter");
            found = converter.getMethod("write", message, short.class, boolean.class);
            WRITERS.put(name, found);
        }
        return found;
    }

    /** Of a broker's client listener: key, name, lowest and highest stable version, first flexible one. */
    private static String apis() {
        StringBuilder text = new StringBuilder();
        for (ApiMessageType api : ApiMessageType.values()) {
            short lowest = api.lowestSupportedVersion();
            short highest = api.highestSupportedVersion(false);
            if (highest < lowest)
                continue;
            int flexible = lowest;
            while (flexible <= highest && api.requestHeaderVersion((short) flexible) < 2)
                flexible++;
            String first = flexible > highest ? "None" : String.valueOf(flexible);
            text.append(api.apiKey() + " " + api.name() + " " + lowest + " " + highest + " " + first + "\n");
        }
        return text.toString();
    }

    private static String errors() {
        StringBuilder text = new StringBuilder();
        for (Errors error : Errors.values()) {
            boolean retriable = error.exception() instanceof RetriableException;
            text.append(error.name() + " " + error.code() + " " + retriable + "\n");
        }
        return text.toString();
    }
}
