/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pacer FILE COUNTERS [FLAG...]: records at a steady pace while somebody makes its disk stand
 * still.
 *
 * Two threads record an item every 50 us, without a pause when standard input says "f". A third one
 * maps and unmaps memory, as a host does. Each counts what it did, and the longest that one step of
 * it took, in a file that is mapped shared. "s": the session is stopped, and what came of it is a
 * line of JSON. The program ends with its standard input.
 */
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define THREADS 2
#define PAUSE_NS 50000

struct counter {
    _Alignas(64) volatile uint64_t done;
    volatile int64_t worst_ns;
};

static struct counter *counter;
static unsigned slot;
static atomic_bool flat_out, ending;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void count(struct counter *mine, int64_t begin_ns)
{
    const int64_t took_ns = now_ns() - begin_ns;
    if (took_ns > mine->worst_ns)
        mine->worst_ns = took_ns;
    mine->done++;
}

static void *record(void *argument)
{
    static const struct timespec pause = {0, PAUSE_NS};
    struct counter *mine = argument;
    char name[32];
    snprintf(name, sizeof name, "pacer %d", (int)(mine - counter));
    if (rbwp_thread_attach(name) != RBWP_OK)
        exit(1);
    while (!ending) {
        const int64_t begin_ns = now_ns();
        rbwp_begin(slot);
        rbwp_end();
        count(mine, begin_ns);
        if (!flat_out)
            nanosleep(&pause, NULL);
    }
    return NULL;
}

static void *map(void *argument)
{
    static const struct timespec pause = {0, 1000000};
    while (!ending) {
        const int64_t begin_ns = now_ns();
        char *memory =
            mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            exit(1);
        *memory = 1;
        munmap(memory, 65536);
        count(argument, begin_ns);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static struct counter *map_counters(const char *path)
{
    const size_t bytes = (THREADS + 1) * sizeof *counter;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, (off_t)bytes) != 0)
        return NULL;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_session *session;
    struct rbwp_session_summary summary;
    struct rbwp_error error = {0};
    pthread_t thread[THREADS + 1];

    rbwp_session_defaults(&config);
    config.level = 1;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK || argc < 3) {
        fprintf(stderr, "pacer FILE COUNTERS [FLAG...] %s\n", error.text);
        return 2;
    }
    config.logfile = argv[1];
    counter = map_counters(argv[2]);
    if (!counter || rbwp_session_start(&config, &session, &error) != RBWP_OK ||
        rbwp_work_item_register("paced", &slot) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (int i = 0; i <= THREADS; i++)
        if (pthread_create(&thread[i], NULL, i < THREADS ? record : map, &counter[i]) != 0)
            return 1;
    for (int c = getchar(); c != EOF && c != 's'; c = getchar())
        flat_out = c == 'f';
    ending = true;
    for (int i = 0; i <= THREADS; i++)
        pthread_join(thread[i], NULL);
    const int64_t begin_ns = now_ns();
    enum rbwp_status status = rbwp_session_stop(session, &summary);
    for (char *quote = summary.error.text; (quote = strchr(quote, '"')) != NULL;)
        *quote = '\'';
    printf("{\"status\": %d, \"stop_ms\": %lld, \"records\": %llu, \"lost\": %llu, "
           "\"text\": \"%s\"}\n",
           (int)status, (long long)(now_ns() - begin_ns) / 1000000,
           (unsigned long long)summary.records, (unsigned long long)summary.lost_records,
           summary.error.text);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    return 0;
}
