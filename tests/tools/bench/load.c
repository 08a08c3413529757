/* Load generator: sends requests over some connections and prints a report as one line of JSON.
 *
 * load PORT PID[,PID...] FILE NAME=VALUE...
 *
 * FILE holds one HTTP request, head and body. Each "########" in it becomes a number of eight digits that never repeats,
 * counted from `start`. `conns` connections are opened evenly over `ramp` seconds; after `warm` more seconds, `secs`
 * seconds are measured. A connection sends its next request as soon as its response is complete, or by schedule with
 * `rate`, the requests a second of all connections together. `ttft` and `itl` (milliseconds) are the planned times of a
 * stream; a token is an event with a text that is not empty. `leave` is the percentage of responses whose client
 * disconnects after a random time of up to `leave_within` seconds.
 *
 * The program has one thread, so it uses one processor at most. The report has its own processor time and the sum of
 * that of the processes PID.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

typedef enum { IDLE, OPENING, WAITING, HEAD, BODY, SIZE, CHUNK, CHUNK_END, TRAILER } state;
typedef struct {
  int fd, head_length, matched, tokens, chunked, close, line, size_seen;
  state at;
  long left;                                    /* bytes of the body or the chunk still to come */
  double open_at, leave_at, due, sent, first, last;  /* seconds */
  char head[4096];
} conn;
typedef struct { double *all; size_t count, room; } samples;

static const char TOKEN[] = "\"content\":\"";
static double conns = 32, secs = 3, warm = 0.5, ramp = 0, ttft = 0, itl = 0, start = 0, leave = 0, leave_within = 0.5, rate = 0;
static int port, poller, server_count;
static clockid_t servers[64];
static char *request;
static size_t request_length, places[256], place_count;
static long next_number, answers, tokens, bytes, bad, resets, left_early;
static samples latency, first_error, drift;
static double from, until; /* bounds of the measurement */
static uint64_t draws = 88172645463325252ull;

static double seconds(clockid_t clock) {
  struct timespec t;
  return clock_gettime(clock, &t) ? 0 : t.tv_sec + t.tv_nsec * 1e-9;
}
static void read_servers(char *list) {
  for (char *pid = strtok(list, ","); pid && server_count < 64; pid = strtok(NULL, ","))
    if (clock_getcpuclockid(atoi(pid), servers + server_count++)) { fprintf(stderr, "load: no process %s\n", pid); exit(1); }
}
static double server_seconds(void) {
  double sum = 0;
  for (int i = 0; i < server_count; i++) sum += seconds(servers[i]);
  return sum;
}
static double now(void) { return seconds(CLOCK_MONOTONIC); }
static double draw(void) { /* xorshift64: in [0, 1) */
  draws ^= draws << 13, draws ^= draws >> 7, draws ^= draws << 17;
  return (draws >> 11) * 0x1p-53;
}
static void add(samples *s, double value) {
  if (s->count == s->room) s->all = realloc(s->all, (s->room = s->room ? 2 * s->room : 4096) * sizeof *s->all);
  s->all[s->count++] = value;
}
static int rising(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}
static void tell(const char *name, samples *s) {
  double sum = 0;
  if (s->count) qsort(s->all, s->count, sizeof *s->all, rising);
  for (size_t i = 0; i < s->count; i++) sum += s->all[i];
  printf(", \"%s\": {\"count\": %zu", name, s->count);
  if (s->count)
    printf(", \"mean\": %.4f, \"p50\": %.4f, \"p99\": %.4f, \"max\": %.4f", sum / s->count, s->all[s->count / 2],
           s->all[(size_t)((s->count - 1) * 0.99)], s->all[s->count - 1]);
  printf("}");
}

static void hang_up(conn *c, double open_at) {
  if (c->fd >= 0) close(c->fd);
  c->fd = -1, c->at = IDLE, c->open_at = open_at;
}
static void send_next(conn *c) {
  char digits[9];
  double t = now();
  if (t < c->due) { c->at = WAITING; return; }
  if (rate > 0 && (c->due += conns / rate) < t - 1) c->due = t - 1; /* a late connection catches up, by a second at most */
  for (size_t i = 0; i < place_count; i++) {
    snprintf(digits, sizeof digits, "%08u", (unsigned)(next_number++ % 100000000));
    memcpy(request + places[i], digits, 8);
  }
  c->at = HEAD, c->head_length = c->tokens = c->matched = 0;
  c->sent = t;
  c->leave_at = leave > 0 && draw() * 100 < leave ? c->sent + draw() * leave_within : 0;
  if (write(c->fd, request, request_length) != (ssize_t)request_length) resets++, hang_up(c, c->sent + 0.1);
}
static void open_one(conn *c) {
  struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct epoll_event on = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
  int yes = 1;
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (c->fd < 0) { perror("socket"); exit(1); }
  setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (connect(c->fd, (void *)&to, sizeof to) && errno != EINPROGRESS) {
    if (errno != EADDRNOTAVAIL) resets++; /* the client has no free port */
    hang_up(c, now() + 0.1);
    return;
  }
  c->at = OPENING;
  epoll_ctl(poller, EPOLL_CTL_ADD, c->fd, &on);
}

static void count_tokens(conn *c, const char *data, long length, double t) {
  int at = c->matched;
  for (long i = 0; i < length; i++) {
    char byte = data[i];
    if (at == (int)sizeof TOKEN - 1) {
      if (byte != '"') {
        if (t >= from && t <= until) tokens++;
        if (c->tokens++ == 0) {
          c->first = t;
          if (c->sent >= from && t <= until) add(&first_error, (t - c->sent) * 1e3 - ttft);
        }
        c->last = t;
      }
      at = 0;
    }
    if (byte == TOKEN[at]) at++;
    else at = byte == '"';
  }
  c->matched = at;
}
static int finish(conn *c, double t) { /* 1: the response is complete and the connection stays open */
  if (c->sent >= from && t <= until) {
    add(&latency, (t - c->sent) * 1e3);
    if (c->tokens > 1) add(&drift, (c->last - c->first) * 1e3 - (c->tokens - 1) * itl);
  }
  if (t >= from && t <= until) answers++;
  if (c->close) hang_up(c, t);
  return !c->close;
}
static int read_head(conn *c, const char *data, long length, long *used) { /* 1: the head is complete */
  long before = c->head_length, room = sizeof c->head - 1 - before, take = length < room ? length : room;
  memcpy(c->head + before, data, take);
  c->head[c->head_length += take] = 0;
  char *end = strstr(c->head, "\r\n\r\n");
  if (!end) { *used = take; return 0; }
  *used = end + 4 - c->head - before;
  end[2] = 0;
  if (strncmp(c->head + 9, "200", 3)) bad++;
  char *size = strcasestr(c->head, "\ncontent-length:");
  c->chunked = strcasestr(c->head, "\ntransfer-encoding: chunked") != NULL;
  c->close = strcasestr(c->head, "\nconnection: close") != NULL;
  c->left = size ? atol(size + 16) : 0;
  c->at = c->chunked ? SIZE : BODY, c->line = c->size_seen = 0;
  if (c->chunked) c->left = 0;
  return 1;
}
static int feed(conn *c, const char *data, long length, double t) { /* 0: the connection is closed */
  long i = 0, used;
  while (i < length || (c->at == BODY && !c->left)) {
    switch (c->at) {
    case HEAD:
      if (!read_head(c, data + i, length - i, &used) && c->head_length >= (int)sizeof c->head - 1) {
        bad++, hang_up(c, t);
        return 0;
      }
      i += used;
      break;
    case BODY:
      used = length - i < c->left ? length - i : c->left;
      i += used, c->left -= used;
      if (!c->left) { if (!finish(c, t)) return 0; send_next(c); return c->at == HEAD; }
      break;
    case SIZE: {
      int digit = data[i] <= '9' ? data[i] - '0' : (data[i] | 32) - 'a' + 10;
      if (data[i] == '\n') c->at = c->left ? CHUNK : TRAILER, c->line = 0;
      else if (digit >= 0 && digit < 16) c->left = c->left * 16 + digit;
      i++;
      break;
    }
    case CHUNK:
      used = length - i < c->left ? length - i : c->left;
      count_tokens(c, data + i, used, t);
      i += used, c->left -= used;
      if (!c->left) c->at = CHUNK_END;
      break;
    case CHUNK_END:
      if (data[i++] == '\n') c->at = SIZE;
      break;
    case TRAILER: /* lines up to an empty one */
      if (data[i] == '\n') {
        if (!c->line) { if (!finish(c, t)) return 0; send_next(c); return c->at == HEAD; }
        c->line = 0;
      } else if (data[i] != '\r') c->line++;
      i++;
      break;
    default: return 0;
    }
  }
  return 1;
}
static void receive(conn *c, int ended) { /* ended: no further event reports the end */
  static char buffer[1 << 18];
  for (;;) {
    ssize_t got = read(c->fd, buffer, sizeof buffer);
    double t = now();
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) { resets++, hang_up(c, t + 0.05); return; }
    if (t >= from) bytes += got;
    if (!feed(c, buffer, got, t)) return;
    if (got < (ssize_t)sizeof buffer && !ended) return;
  }
}
static void look_after(conn *all, double t) { /* opens connections that are due, and closes those that leave */
  for (conn *c = all; c < all + (int)conns; c++) {
    if (c->at == IDLE && t >= c->open_at) open_one(c);
    else if (c->at == WAITING && t >= c->due) send_next(c);
    else if (c->at >= HEAD && c->leave_at && t >= c->leave_at) {
      struct linger now_or_never = {1, 0};
      if (draw() < 0.5) setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &now_or_never, sizeof now_or_never); /* a reset */
      left_early++, hang_up(c, t);
    }
  }
}
static void read_request(const char *path) {
  FILE *file = fopen(path, "rb");
  if (!file) { perror(path); exit(1); }
  request = malloc(1 << 24);
  request_length = fread(request, 1, 1 << 24, file);
  fclose(file);
  for (char *at = request; (at = memmem(at, request + request_length - at, "########", 8)) && place_count < 256; at += 8)
    places[place_count++] = at - request;
}
static void read_options(int count, char **given) {
  struct { const char *name; double *value; } known[] = {{"conns", &conns}, {"secs", &secs}, {"warm", &warm},
    {"ramp", &ramp}, {"ttft", &ttft}, {"itl", &itl}, {"start", &start}, {"leave", &leave}, {"leave_within", &leave_within}, {"rate", &rate}};
  for (int i = 0; i < count; i++) {
    char *value = strchr(given[i], '=');
    size_t found = 0, all = sizeof known / sizeof *known;
    while (value && found < all && (strlen(known[found].name) != (size_t)(value - given[i]) ||
           strncmp(known[found].name, given[i], value - given[i]))) found++;
    if (!value || found == all) { fprintf(stderr, "load: unknown option %s\n", given[i]); exit(2); }
    *known[found].value = atof(value + 1);
  }
}
int main(int argc, char **argv) {
  if (argc < 4) { fprintf(stderr, "usage: load PORT PID[,PID...] FILE NAME=VALUE...\n"); return 2; }
  port = atoi(argv[1]);
  read_servers(argv[2]);
  read_request(argv[3]);
  read_options(argc - 4, argv + 4);
  next_number = (long)start;
  struct rlimit files;
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  conn *all = calloc((size_t)conns, sizeof *all);
  poller = epoll_create1(0);
  double begun = now(), cpu = 0, own = 0, scanned = 0, t;
  int measuring = 0;
  from = begun + ramp + warm, until = from + secs;
  for (int i = 0; i < (int)conns; i++) {
    all[i].fd = -1, all[i].open_at = begun + ramp * i / conns;
    if (rate > 0) all[i].due = begun + ramp + i / rate;
  }
  static struct epoll_event events[1024];
  while ((t = now()) < until) {
    if (!measuring && t >= from) measuring = 1, cpu = server_seconds(), own = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (t >= scanned + 0.002) look_after(all, scanned = t);
    int count = epoll_wait(poller, events, 1024, 2);
    for (int i = 0; i < count; i++) {
      conn *c = events[i].data.ptr;
      if (c->at == OPENING) {
        if (events[i].events & (EPOLLERR | EPOLLHUP)) { resets++, hang_up(c, now() + 0.1); continue; }
        if (!(events[i].events & EPOLLOUT)) continue;
        send_next(c);
      }
      if (c->at >= HEAD && events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP | EPOLLRDHUP))
        receive(c, events[i].events & (EPOLLERR | EPOLLHUP | EPOLLRDHUP));
    }
  }
  double took = t - from;
  printf("{\"answers_s\": %.3f, \"tokens_s\": %.3f, \"bytes_s\": %.0f, \"bad\": %ld, \"resets\": %ld, \"left\": %ld, ",
         answers / took, tokens / took, bytes / took, bad, resets, left_early);
  printf("\"server_cpu\": %.5f, \"load_cpu\": %.5f, \"sent\": %ld", (server_seconds() - cpu) / took,
         (seconds(CLOCK_PROCESS_CPUTIME_ID) - own) / took, next_number - (long)start);
  tell("latency_ms", &latency), tell("first_error_ms", &first_error), tell("drift_ms", &drift);
  printf("}\n");
  struct linger at_once = {1, 0}; /* else each connection holds its port for a minute */
  for (conn *c = all; c < all + (int)conns; c++)
    if (c->fd >= 0) setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once), close(c->fd);
  return 0;
}
