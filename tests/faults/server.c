/* SPDX-License-Identifier: Apache-2.0 */
/*
 * server CONNECTIONS - answers "get N", "set N" or "scan" of so many connections: the threads of a
 * pool take them from a queue. The flaw: scan keeps the lock of the table for as long as it counts.
 * Prints its port.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 4, QUEUE = 1024, KEYS = 4096, SCAN_MS = 30 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    int sockets[QUEUE];
    unsigned put, taken;
    bool over;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned table[KEYS];

static long cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static unsigned scan(void)
{
    unsigned count = 0;
    for (const long end_ms = cpu_ms() + SCAN_MS; cpu_ms() < end_ms;)
        for (unsigned key = 0; key < KEYS; key++)
            count += table[key] != 0;
    return count;
}

static void answer(int s)
{
    char line[64] = "";
    if (read(s, line, sizeof line - 1) <= 0)
        return;
    const unsigned key = (unsigned)strtoul(line + 4, NULL, 10) % KEYS;
    unsigned result = 0;
    pthread_mutex_lock(&table_lock);
    if (strncmp(line, "set ", 4) == 0)
        result = ++table[key];
    else if (strncmp(line, "get ", 4) == 0)
        result = table[key];
    else if (strncmp(line, "scan", 4) == 0)
        result = scan();
    pthread_mutex_unlock(&table_lock);
    dprintf(s, "%u\n", result);
}

static void *work(void *unused)
{
    (void)unused;
    for (;;) {
        pthread_mutex_lock(&queue.lock);
        while (queue.put == queue.taken && !queue.over)
            pthread_cond_wait(&queue.filled, &queue.lock);
        const bool over = queue.put == queue.taken;
        const int s = over ? -1 : queue.sockets[queue.taken++ % QUEUE];
        pthread_mutex_unlock(&queue.lock);
        if (over)
            return NULL;
        answer(s);
        close(s);
    }
}

static void hand_over(int s, bool over)
{
    pthread_mutex_lock(&queue.lock);
    queue.over = over;
    if (!over)
        queue.sockets[queue.put++ % QUEUE] = s;
    pthread_cond_broadcast(&queue.filled);
    pthread_mutex_unlock(&queue.lock);
}

int main(int argc, char **argv)
{
    const unsigned connections = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof address;
    pthread_t threads[WORKERS];
    const int s = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(s, (struct sockaddr *)&address, bytes) != 0 || listen(s, 128) != 0 ||
        getsockname(s, (struct sockaddr *)&address, &bytes) != 0)
        return 1;
    printf("%u\n", ntohs(address.sin_port));
    fflush(stdout);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (unsigned i = 0; i < connections; i++)
        hand_over(accept(s, NULL, NULL), false);
    hand_over(-1, true);
    for (unsigned i = 0; i < WORKERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
