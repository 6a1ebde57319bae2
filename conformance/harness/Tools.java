import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Apache Kafka's command line tools one after the other in one process, unmodified: a request is the
 * number of words and the words (main class first), an answer the exit status, and all that was printed.
 */
public class Tools {
    static class Exited extends Error {
        Exited() {
            super(null, null, false, false);
        }
    }

    // With what the tool ended. Some catch what is thrown to get them out, and would end again.
    static Integer status;

    static void exit(int given) {
        if (status == null) {
            status = given;
            System.setOut(new PrintStream(OutputStream.nullOutputStream()));
            System.setErr(new PrintStream(OutputStream.nullOutputStream()));
        }
        throw new Exited();
    }

    public static void main(String[] args) throws Exception {
        DataInputStream in = new DataInputStream(System.in);
        DataOutputStream out = new DataOutputStream(System.out);
        Exit.setExitProcedure((given, message) -> exit(given));
        Exit.setHaltProcedure((given, message) -> exit(given));
        while (true) {
            int count = in.readInt();
            if (count == 0) return;
            String[] words = new String[count];
            for (int i = 0; i < count; i++) words[i] = in.readUTF();
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream stream = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(stream);
            System.setErr(stream);
            status = null;
            int ended = run(words);
            stream.flush();
            byte[] bytes = printed.toByteArray();
            out.writeInt(status == null ? ended : status);
            out.writeInt(bytes.length);
            out.write(bytes);
            out.flush();
        }
    }

    static int run(String[] words) {
        try {
            Class.forName(words[0])
                .getMethod("main", String[].class)
                .invoke(null, (Object) Arrays.copyOfRange(words, 1, words.length));
            return 0;
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Exited) return 0;
            e.getCause().printStackTrace();
            return -1;
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            return -1;
        }
    }
}
