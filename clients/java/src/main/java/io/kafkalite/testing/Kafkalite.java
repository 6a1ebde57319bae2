package io.kafkalite.testing;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * A Kafka cluster of each test's own, with faults, time, state and waiting as verbs.
 *
 * <pre>{@code
 * @RegisterExtension final Kafkalite k = new Kafkalite();
 * }</pre>
 *
 * <p>A static field (or a class with Lifecycle.PER_CLASS) has one cluster for all its tests. It is
 * there before the class's first test is set up, and until the last test of the run has ended, as
 * application contexts that are kept between tests need it. Faults end with each test.
 *
 * <p>The broker is found by KAFKALITE_URL and KAFKALITE_TOKEN, or by the ready file that
 * KAFKALITE_READY_FILE names. Paths are those of /v1/openapi.json below the cluster. A fault that
 * was never applied fails its test.
 */
public final class Kafkalite implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback {
    private final HttpClient http = HttpClient.newHttpClient();
    private String url;
    private String token;
    private String name;
    private String bootstrap;
    private final Map<String, Object> made;
    private boolean shared;

    public Kafkalite() {
        this(Map.of());
    }

    /** {@code made}: the fields of POST /v1/clusters: nodes, configs, snapshot. */
    public Kafkalite(Map<String, Object> made) {
        this.made = made;
    }

    /** The addresses of the cluster's nodes. */
    public String bootstrap() {
        return bootstrap;
    }

    @Override
    public synchronized void beforeAll(ExtensionContext context) throws IOException {
        if (!shared) {
            create();
            shared = true;
            var run = context.getRoot().getStore(ExtensionContext.Namespace.create(Kafkalite.class));
            run.put(this, (ExtensionContext.Store.CloseableResource) this::delete);
        }
    }

    @Override
    public void beforeEach(ExtensionContext context) throws IOException {
        if (!shared) {
            create();
        }
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Object unfired = get("/unfired-faults").get("unfired");
        if (shared) {
            ask("DELETE", "/faults", null);
        } else {
            delete();
        }
        if (context.getExecutionException().isEmpty() && !((List<?>) unfired).isEmpty()) {
            throw new AssertionError(unfired.toString());
        }
    }

    private void create() throws IOException {
        find();
        Map<String, Object> cluster = map(exchange("POST", "/v1/clusters", made));
        name = (String) cluster.get("name");
        bootstrap = (String) cluster.get("bootstrap");
    }

    private void delete() {
        exchange("DELETE", "/v1/clusters/" + name, null);
    }

    private void find() throws IOException {
        url = System.getenv("KAFKALITE_URL");
        token = System.getenv("KAFKALITE_TOKEN");
        if (url == null) {
            String ready = System.getenv("KAFKALITE_READY_FILE");
            if (ready == null) {
                throw new IllegalStateException(
                    "no broker: run the suite by `kafkalite run -- mvn test`, or set KAFKALITE_READY_FILE");
            }
            Map<String, Object> control = map(map(Json.read(Files.readString(Path.of(ready)))).get("control"));
            url = (String) control.get("url");
            token = (String) control.get("token");
        }
    }

    /** GET what gives one thing. */
    public Map<String, Object> get(String path) {
        return map(ask("GET", path, null));
    }

    /** GET what gives several. */
    @SuppressWarnings("unchecked")
    public List<Map<String, Object>> list(String path) {
        return (List<Map<String, Object>>) ask("GET", path, null);
    }

    /** POST fields, which may be none. */
    public Map<String, Object> post(String path, Map<String, ?> fields) {
        return map(ask("POST", path, fields));
    }

    /** PUT fields, which may be none. */
    public Map<String, Object> put(String path, Map<String, ?> fields) {
        return map(ask("PUT", path, fields));
    }

    /** Put a fault in: {@code Map.of("when", ..., "do", ...)}. */
    public Map<String, Object> fault(Map<String, ?> rule) {
        return post("/faults", rule);
    }

    /** Move the cluster's time on; what this brought about. */
    public Map<String, Object> advance(String by) {
        return post("/clock/advance", Map.of("by", by));
    }

    /** Wait for a condition; the error says what is missing. */
    public void await(Map<String, ?> until) {
        Map<String, Object> waited = post("/wait", Map.of("until", until, "timeout", "30s"));
        if (!Boolean.TRUE.equals(waited.get("met"))) {
            throw new AssertionError(waited.get("because"));
        }
    }

    private Object ask(String method, String path, Object body) {
        return exchange(method, "/v1/clusters/" + name + path, body);
    }

    private Object exchange(String method, String path, Object body) {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path))
            .header("Authorization", "Bearer " + token);
        if (body == null) {
            request.method(method, HttpRequest.BodyPublishers.noBody());
        } else {
            request.header("Content-Type", "application/json");
            request.method(method, HttpRequest.BodyPublishers.ofString(Json.write(body)));
        }
        try {
            HttpResponse<String> answer = http.send(request.build(), HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200) {
                throw new IllegalStateException(map(Json.read(answer.body())).get("detail").toString());
            }
            return Json.read(answer.body());
        } catch (IOException error) {
            throw new IllegalStateException("no broker answers at " + url, error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(error);
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object value) {
        return (Map<String, Object>) value;
    }
}
