import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Apache Kafka's command line tools one after the other in one process, unmodified: a request is the
 * number of words and the words (main class first), an answer the exit status, all that was printed, and
 * of that what was for the output and what were errors.
 */
public class Tools {
    static class Exited extends Error {
        Exited() {
            super(null, null, false, false);
        }
    }

    // What is printed to one stream, and beside what is printed to the other.
    static class Part extends OutputStream {
        final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        final ByteArrayOutputStream together;
        final PrintStream stream = new PrintStream(this, true, StandardCharsets.UTF_8);

        Part(ByteArrayOutputStream together) {
            this.together = together;
        }

        @Override
        public void write(int one) {
            bytes.write(one);
            together.write(one);
        }

        @Override
        public void write(byte[] given, int start, int size) {
            bytes.write(given, start, size);
            together.write(given, start, size);
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
        System.setIn(InputStream.nullInputStream());
        Exit.setExitProcedure((given, message) -> exit(given));
        Exit.setHaltProcedure((given, message) -> exit(given));
        while (true) {
            int count = in.readInt();
            if (count == 0) return;
            String[] words = new String[count];
            for (int i = 0; i < count; i++) words[i] = in.readUTF();
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            Part output = new Part(printed), errors = new Part(printed);
            System.setOut(output.stream);
            System.setErr(errors.stream);
            status = null;
            int ended = run(words);
            output.stream.flush();
            errors.stream.flush();
            out.writeInt(status == null ? ended : status);
            for (ByteArrayOutputStream each : List.of(printed, output.bytes, errors.bytes)) {
                out.writeInt(each.size());
                each.writeTo(out);
            }
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
