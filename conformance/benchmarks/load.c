/* A load generator for requests that all look alike.
 *
 *   load HOST PORT CONNECTIONS IN_FLIGHT SECONDS PER_ANSWER EACH < frames > latencies
 *
 * The frames on stdin are whole requests, length prefixes included, which are sent in turn,
 * PER_ANSWER at once, of which the last has an answer. Each connection has EACH frames of its own,
 * and sends them once; all share them if EACH is 0. Each keeps IN_FLIGHT answers on the way until
 * the time is up or its frames are sent, then waits for the answers still due. On stdout: one native
 * uint32 per answer, the microseconds it took. On stderr, at the end: the number of answers, the
 * seconds, and the first answer in hexadecimal, by which the caller sees that it was no error.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST_INPUT = 5 << 28, MOST_FRAMES = 1 << 18, INPUT = 1 << 18, FIRST_SHOWN = 1 << 20 };

struct connection {
    int fd;
    uint64_t *sent_at; /* a ring: when each request on the way was sent */
    int oldest, on_the_way;
    uint8_t length[4]; /* the answer being read: its length prefix, then how much is left */
    int length_size;
    uint32_t left;
    size_t next, end; /* its frames, where they are its own */
    int is_shown;     /* its first answer is, and has not ended */
};

static uint8_t requests[LARGEST_INPUT];
static size_t frame_starts[MOST_FRAMES + 1]; /* and the end of the last one */
static size_t frame_count, frame_next;
static size_t per_answer, frames_each;
static uint8_t first[FIRST_SHOWN];
static size_t first_size;
static uint32_t *latencies;
static size_t answers, room;

static uint64_t now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void fail(const char *what) {
    fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* Send so many times what one answer comes to; returns how often it was sent. */
static int send_requests(struct connection *c, int count, int depth) {
    if (frames_each && (size_t)count > (c->end - c->next) / per_answer)
        count = (int)((c->end - c->next) / per_answer);
    for (int i = 0; i < count; i++) {
        c->sent_at[(c->oldest + c->on_the_way) % depth] = now_us();
        c->on_the_way++;
    }
    for (int i = 0; i < count; i++) {
        size_t *from = frames_each ? &c->next : &frame_next;
        size_t at = frame_starts[*from], end = frame_starts[*from + per_answer];
        *from += per_answer;
        if (!frames_each) *from %= frame_count;
        while (at < end) {
            ssize_t n = send(c->fd, requests + at, end - at, 0);
            if (n < 0) fail("send");
            at += (size_t)n;
        }
    }
    return count;
}

static void read_requests(void) {
    size_t size = fread(requests, 1, sizeof requests, stdin), at = 0;
    while (at < size && frame_count < MOST_FRAMES) {
        const uint8_t *p = requests + at;
        at += 4 + ((size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3]);
        frame_starts[++frame_count] = at;
    }
    if (!frame_count || at != size || frame_count % per_answer) { fprintf(stderr, "load: no whole frames on stdin\n"); exit(2); }
}

static void answered(struct connection *c, int depth) {
    if (answers == room) {
        room = room ? room * 2 : 1 << 20;
        latencies = realloc(latencies, room * sizeof *latencies);
        if (!latencies) fail("memory");
    }
    latencies[answers++] = (uint32_t)(now_us() - c->sent_at[c->oldest]);
    c->oldest = (c->oldest + 1) % depth;
    c->on_the_way--;
}

/* Take the bytes that have arrived; returns how many answers ended in them. */
static int take(struct connection *c, const uint8_t *bytes, size_t size, int depth) {
    int ended = 0;
    for (size_t i = 0; i < size;) {
        if (c->is_shown && first_size < FIRST_SHOWN) first[first_size++] = bytes[i];
        if (c->length_size < 4) {
            c->length[c->length_size++] = bytes[i++];
            if (c->length_size < 4) continue;
            c->left = (uint32_t)c->length[0] << 24 | c->length[1] << 16 | c->length[2] << 8 | c->length[3];
            continue;
        }
        size_t n = size - i < c->left ? size - i : c->left;
        if (c->is_shown)
            for (size_t k = 1; k < n && first_size < FIRST_SHOWN; k++) first[first_size++] = bytes[i + k];
        i += n;
        c->left -= (uint32_t)n;
        if (c->left == 0) {
            answered(c, depth);
            c->is_shown = 0;
            c->length_size = 0;
            ended++;
        }
    }
    return ended;
}

static int connect_to(const char *host, int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || inet_pton(AF_INET, host, &address.sin_addr) != 1) fail("address");
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) fail("connect");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

int main(int argc, char **argv) {
    if (argc != 8) {
        fprintf(stderr, "load HOST PORT CONNECTIONS IN_FLIGHT SECONDS PER_ANSWER EACH < frames\n");
        return 2;
    }
    int count = atoi(argv[3]), depth = atoi(argv[4]);
    uint64_t length_us = (uint64_t)(atof(argv[5]) * 1e6);
    per_answer = (size_t)atol(argv[6]);
    frames_each = (size_t)atol(argv[7]);
    read_requests();
    struct connection *all = calloc((size_t)count, sizeof *all);
    int poll = epoll_create1(0);
    for (int i = 0; i < count; i++) {
        all[i].fd = connect_to(argv[1], atoi(argv[2]));
        all[i].sent_at = calloc((size_t)depth, sizeof(uint64_t));
        all[i].next = (size_t)i * frames_each;
        all[i].end = all[i].next + frames_each;
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &all[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, all[i].fd, &event);
    }
    all[0].is_shown = 1;
    uint64_t began = now_us(), until = began + length_us;
    long due = 0;
    for (int i = 0; i < count; i++) due += send_requests(&all[i], depth, depth);
    static uint8_t input[INPUT];
    while (due > 0) {
        struct epoll_event events[64];
        int ready = epoll_wait(poll, events, 64, 120000);
        if (ready == 0) { fprintf(stderr, "load: no answer for 120 s\n"); return 1; }
        for (int i = 0; i < ready; i++) {
            struct connection *c = events[i].data.ptr;
            ssize_t n = recv(c->fd, input, sizeof input, 0);
            if (n <= 0) { errno = n ? errno : ECONNRESET; fail("the broker closed a connection"); }
            int ended = take(c, input, (size_t)n, depth);
            due -= ended;
            if (now_us() < until) due += send_requests(c, ended, depth);
        }
    }
    double seconds = (double)(now_us() - began) / 1e6;
    fwrite(latencies, sizeof *latencies, answers, stdout);
    fprintf(stderr, "%zu %.6f ", answers, seconds);
    for (size_t i = 0; i < first_size; i++) fprintf(stderr, "%02x", first[i]);
    fprintf(stderr, "\n");
    return 0;
}
