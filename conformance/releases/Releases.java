import java.lang.reflect.Method;
import java.util.Collection;
import org.apache.kafka.common.message.ApiMessageType;

/**
 * What a release of Apache Kafka serves, by its own classes: a line "api KEY LOWEST HIGHEST" for each API of brokers
 * with a stable version, and "feature NAME LEVEL" for each feature that a new cluster has.
 *
 * Before 4.0 brokers with ZooKeeper (ZK_BROKER) count, too. Methods differ between releases, so all are found by reflection.
 */
public class Releases {
    public static void main(String[] arguments) throws Exception {
        for (ApiMessageType type : ApiMessageType.values()) {
            if (!isOfBroker(type)) {
                continue;
            }
            int lowest = number(type, "lowestSupportedVersion");
            int highest = highestStable(type);
            if (lowest <= highest) {
                System.out.println("api " + type.apiKey() + " " + lowest + " " + highest);
            }
        }
        Class<?> versions;
        try {
            versions = Class.forName("org.apache.kafka.server.common.MetadataVersion");
        } catch (ClassNotFoundException before33) {
            return;
        }
        Object latest = latest(versions);
        System.out.println("feature metadata.version " + number(latest, "featureLevel"));
        for (String name : new String[] {"Feature", "Features"}) {
            Class<?> features;
            try {
                features = Class.forName("org.apache.kafka.server.common." + name);
            } catch (ClassNotFoundException another) {
                continue;
            }
            printFeatures(features, versions, latest);
            return;
        }
    }

    private static boolean isOfBroker(ApiMessageType type) throws Exception {
        Object listeners = type.getClass().getMethod("listeners").invoke(type);
        return ((Collection<?>) listeners).stream().anyMatch(each -> each.toString().endsWith("BROKER"));
    }

    private static int highestStable(ApiMessageType type) throws Exception {
        try {
            return ((Number) type.getClass().getMethod("highestSupportedVersion", boolean.class).invoke(type, false))
                .intValue();
        } catch (NoSuchMethodException older) {
            return number(type, "highestSupportedVersion");
        }
    }

    private static int number(Object object, String method) throws Exception {
        Method found = object.getClass().getMethod(method);
        found.setAccessible(true);
        return ((Number) found.invoke(object)).intValue();
    }

    private static Object latest(Class<?> versions) throws Exception {
        for (String name : new String[] {"latestProduction", "latest"}) {
            try {
                return versions.getMethod(name).invoke(null);
            } catch (NoSuchMethodException another) {
                // the other one is there
            }
        }
        throw new NoSuchMethodException("latest");
    }

    private static void printFeatures(Class<?> features, Class<?> versions, Object latest) throws Exception {
        Collection<?> production;
        try {
            production = (Collection<?>) features.getField("PRODUCTION_FEATURES").get(null);
        } catch (NoSuchFieldException none) {
            return;
        }
        for (Object feature : production) {
            int level = -1;
            for (String name : new String[] {"defaultLevel", "defaultValue"}) {
                try {
                    Method found = features.getMethod(name, versions);
                    level = ((Number) found.invoke(feature, latest)).intValue();
                    break;
                } catch (NoSuchMethodException another) {
                    // the other one is there
                }
            }
            if (level > 0) {
                System.out.println("feature " + features.getMethod("featureName").invoke(feature) + " " + level);
            }
        }
    }
}
