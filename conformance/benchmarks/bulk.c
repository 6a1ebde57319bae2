/* Bulk in and out with librdkafka, no work per record beyond what the library asks for.
 *
 *   bulk LIBRDKAFKA produce BOOTSTRAP TOPIC PARTITION COUNT RECORDS RECORD_BYTES CODEC MB_PER_SECOND
 *   bulk LIBRDKAFKA consume BOOTSTRAP TOPIC PARTITION COUNT RECORDS
 *
 * COUNT partitions from PARTITION on, in turn; MB_PER_SECOND 0 is as fast as it goes. On stdout, two
 * numbers: the microseconds of the monotonic clock at the begin and at the end. The library is the
 * one that confluent-kafka brings along; of its header only what is used is repeated here.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct rd_kafka_message_s {
    int err;
    void *rkt;
    int32_t partition;
    void *payload;
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *private;
} message;

enum { PRODUCER, CONSUMER, QUEUE_FULL = -184, TIMED_OUT = -185, POOL = 4096 };
enum { FROM_THE_BEGINNING = -2, WAIT_MS = 60000 };

static void *library;
static long wanted, seen;
static int error_seen;

static void *symbol(const char *name) {
    void *found = dlsym(library, name);
    if (!found) { fprintf(stderr, "bulk: librdkafka has no %s\n", name); exit(1); }
    return found;
}
#define CALL(type, name, ...) ((type(*)())symbol(#name))(__VA_ARGS__)

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void set(void *conf, const char *name, const char *value) {
    char reason[256];
    if (CALL(int, rd_kafka_conf_set, conf, name, value, reason, sizeof reason)) {
        fprintf(stderr, "bulk: %s\n", reason);
        exit(1);
    }
}

/* Records differ, and shrink to somewhat less than half, as text does. */
static char *fill_pool(size_t size) {
    static const char *words[] = {"flight ", "origin ", "carrier ", "delay ", "minutes ", "JFK ", "LGA ", "EWR "};
    char *pool = malloc(POOL * size + 64);
    uint32_t random = 1;
    for (size_t at = 0; at < POOL * size;) {
        random = random * 1664525 + 1013904223;
        at += (size_t)(random >> 28 & 1 ? sprintf(pool + at, "%s", words[random >> 8 & 7])
                                         : sprintf(pool + at, "%u ", random >> 12));
    }
    return pool;
}

/* BULK_SETTINGS: more settings of librdkafka, name=value, a line each. */
static void set_more(void *conf) {
    const char *given = getenv("BULK_SETTINGS");
    if (!given) return;
    char *rest = strdup(given);
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        char *value = strchr(line, '=');
        if (!value) continue;
        *value++ = 0;
        set(conf, line, value);
    }
}

static void delivered(void *rk, const message *m, void *opaque) {
    (void)rk, (void)opaque;
    if (m->err) error_seen = m->err;
}

static void produce(void *conf, char **argv) {
    long count = atol(argv[6]), records = atol(argv[7]), first = atol(argv[5]);
    size_t size = (size_t)atol(argv[8]);
    double rate = atof(argv[10]) * 1e6;
    char reason[256], *pool = fill_pool(size);
    set(conf, "acks", "all");
    set(conf, "compression.codec", argv[9]);
    set(conf, "queue.buffering.max.messages", "1000000");
    set(conf, "delivery.report.only.error", "true");
    CALL(void, rd_kafka_conf_set_dr_msg_cb, conf, delivered);
    void *rk = CALL(void *, rd_kafka_new, PRODUCER, conf, reason, sizeof reason);
    void *topic = CALL(void *, rd_kafka_topic_new, rk, argv[4], NULL);
    int (*send)(void *, int32_t, int, void *, size_t, const void *, size_t, void *) = symbol("rd_kafka_produce");
    int (*last_error)(void) = symbol("rd_kafka_last_error");
    uint64_t began = now_us();
    for (long i = 0; i < records && !error_seen;) {
        int32_t partition = (int32_t)(first + i / 64 % count);
        if (send(topic, partition, 0, pool + (size_t)(i % POOL) * size, size, NULL, 0, NULL) == 0) {
            i++;
            while (rate && (i & 63) == 0 && (double)i * (double)size > rate * (double)(now_us() - began) / 1e6)
                CALL(int, rd_kafka_poll, rk, 1);
        } else if (last_error() == QUEUE_FULL) {
            CALL(int, rd_kafka_poll, rk, 5);
        } else {
            error_seen = last_error();
        }
    }
    if (CALL(int, rd_kafka_flush, rk, WAIT_MS)) error_seen = TIMED_OUT;
    printf("%llu %llu\n", (unsigned long long)began, (unsigned long long)now_us());
}

static void consumed(const message *m, void *opaque) {
    (void)opaque;
    if (!m->err) seen++;
    else if (m->err != -191) error_seen = m->err; /* -191: the end of a partition */
}

static void consume(void *conf, char **argv) {
    long count = atol(argv[6]), first = atol(argv[5]);
    char reason[256];
    wanted = atol(argv[7]);
    void *rk = CALL(void *, rd_kafka_new, CONSUMER, conf, reason, sizeof reason);
    void *topic = CALL(void *, rd_kafka_topic_new, rk, argv[4], NULL);
    void *queue = CALL(void *, rd_kafka_queue_new, rk);
    int (*start)(void *, int32_t, int64_t, void *) = symbol("rd_kafka_consume_start_queue");
    uint64_t began = now_us(), last = began;
    for (long i = 0; i < count; i++) start(topic, (int32_t)(first + i), FROM_THE_BEGINNING, queue);
    while (seen < wanted && !error_seen) {
        long before = seen;
        CALL(int, rd_kafka_consume_callback_queue, queue, 200, consumed, NULL);
        if (seen > before) last = now_us();
        else if (now_us() - last > WAIT_MS * 1000ull) error_seen = TIMED_OUT;
    }
    printf("%llu %llu\n", (unsigned long long)began, (unsigned long long)now_us());
}

int main(int argc, char **argv) {
    int is_producer = argc == 11 && !strcmp(argv[2], "produce");
    if (!is_producer && !(argc == 8 && !strcmp(argv[2], "consume"))) {
        fprintf(stderr, "bulk: see the top of bulk.c\n");
        return 2;
    }
    library = dlopen(argv[1], RTLD_NOW);
    if (!library) { fprintf(stderr, "bulk: %s\n", dlerror()); return 1; }
    void *conf = CALL(void *, rd_kafka_conf_new);
    set(conf, "bootstrap.servers", argv[3]);
    set_more(conf);
    (is_producer ? produce : consume)(conf, argv);
    if (error_seen) fprintf(stderr, "bulk: %s\n", CALL(const char *, rd_kafka_err2str, error_seen));
    fflush(stdout);
    _Exit(error_seen != 0); /* nothing to tidy up */
}
