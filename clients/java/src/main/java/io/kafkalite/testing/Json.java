package io.kafkalite.testing;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as maps, lists, strings, longs, doubles, booleans and null. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    /** The value of a text. */
    static Object read(String text) {
        return new Json(text).value();
    }

    /** The text of a value. */
    static String write(Object value) {
        if (value instanceof Map<?, ?> map) {
            List<String> parts = new ArrayList<>();
            map.forEach((name, each) -> parts.add(quoted(name.toString()) + ":" + write(each)));
            return "{" + String.join(",", parts) + "}";
        }
        if (value instanceof Iterable<?> several) {
            List<String> parts = new ArrayList<>();
            several.forEach(each -> parts.add(write(each)));
            return "[" + String.join(",", parts) + "]";
        }
        return value instanceof CharSequence ? quoted(value.toString()) : String.valueOf(value);
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char each : text.toCharArray()) {
            if (each == '"' || each == '\\') {
                out.append('\\').append(each);
            } else if (each < ' ') {
                out.append(String.format("\\u%04x", (int) each));
            } else {
                out.append(each);
            }
        }
        return out.append('"').toString();
    }

    private Object value() {
        switch (next()) {
            case '{':
                return object();
            case '[':
                return array();
            case '"':
                return string();
            default:
                return word();
        }
    }

    private char next() {
        while (Character.isWhitespace(text.charAt(at))) {
            at++;
        }
        return text.charAt(at);
    }

    private Map<String, Object> object() {
        Map<String, Object> found = new LinkedHashMap<>();
        at++;
        while (next() != '}') {
            String name = string();
            next();
            at++;
            found.put(name, value());
            if (next() == ',') {
                at++;
                next();
            }
        }
        at++;
        return found;
    }

    private List<Object> array() {
        List<Object> found = new ArrayList<>();
        at++;
        while (next() != ']') {
            found.add(value());
            if (next() == ',') {
                at++;
            }
        }
        at++;
        return found;
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char each = text.charAt(at);
            if (each != '\\') {
                found.append(each);
                continue;
            }
            each = text.charAt(++at);
            int escape = "bfnrt".indexOf(each);
            if (each == 'u') {
                found.append((char) Integer.parseInt(text.substring(at + 1, at + 5), 16));
                at += 4;
            } else {
                found.append(escape < 0 ? each : "\b\f\n\r\t".charAt(escape));
            }
        }
        at++;
        return found.toString();
    }

    private Object word() {
        int begin = at;
        while (at < text.length() && ",]} \n\t".indexOf(text.charAt(at)) < 0) {
            at++;
        }
        String word = text.substring(begin, at);
        switch (word) {
            case "null":
                return null;
            case "true":
            case "false":
                return Boolean.valueOf(word);
            default:
                return word.matches("-?\\d+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        }
    }
}
