/* SPDX-License-Identifier: Apache-2.0 */
/*
 * victim FILE COUNTERS [CALLS] [FLAG...]: a program that is killed while it records.
 *
 * Four threads record at level 2. Each counts, in a file that is mapped shared, the records whose
 * recording call has returned; so whoever looks after a kill -9 knows how many there must be. Some
 * items are empty and are elided: their records never count. Names come and go meanwhile.
 * CALLS ends each thread after so many items; without it they run until killed. VICTIM_DOES, in the
 * environment, is what the program does meanwhile, with the folder VICTIM_ELSEWHERE: "close" all
 * descriptors and take their numbers for files there, or "move" there.
 */
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREADS 4
#define SLOTS 5
#define FILES 40

/* Where the test reads; on a page of its own, one cache line a thread. */
struct counter {
    _Alignas(64) volatile uint64_t records;
    volatile uint64_t thread_is; /* 1 once its name is known to the recorder */
    volatile uint64_t empty;     /* records of items that are elided */
};

static struct counter *counter;
static unsigned slot[SLOTS], fine[2];
static uint64_t calls;

static void record_item(struct counter *mine, uint64_t n)
{
    bool empty = n % 7 == 3;
    volatile uint64_t *const made = empty ? &mine->empty : &mine->records;
    rbwp_begin(slot[n % SLOTS]);
    ++*made;
    for (unsigned k = 0; k < n % 4; k++) {
        rbwp_fine_begin(fine[k % 2]);
        ++*made;
        rbwp_fine_end();
        ++*made;
    }
    if (n % 16 == 5) {
        rbwp_gpu_work(42, slot[0], (int64_t)n, (int64_t)n + 1);
        ++*made;
    }
    rbwp_set_worked(!empty);
    rbwp_end();
    ++*made;
}

static void *work(void *argument)
{
    struct counter *mine = argument;
    char name[32];
    snprintf(name, sizeof name, "victim %d", (int)(mine - counter));
    if (rbwp_thread_attach(name) != RBWP_OK)
        exit(1);
    mine->thread_is = 1;
    for (uint64_t n = 0; calls == 0 || n < calls; n++)
        record_item(mine, n);
    return NULL;
}

static struct counter *map_counters(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0 || ftruncate(fd, THREADS * sizeof *counter) != 0)
        return NULL;
    void *memory = mmap(NULL, THREADS * sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

static void register_names(void)
{
    for (unsigned i = 0; i < SLOTS; i++) {
        char name[32];
        snprintf(name, sizeof name, "victim item %u", i);
        if (rbwp_work_item_register(name, &slot[i]) != RBWP_OK)
            exit(1);
    }
    for (unsigned i = 0; i < 2; i++)
        if (rbwp_sub_item_register(RBWP_XFER_CHANNEL, i ? "copy" : "fill", &fine[i]) != RBWP_OK)
            exit(1);
}

/* What daemons do, by the thread that records nothing. */
static void do_what_is_wanted(void)
{
    const char *does = getenv("VICTIM_DOES"), *elsewhere = getenv("VICTIM_ELSEWHERE");
    if (!does || !elsewhere)
        return;
    if (strcmp(does, "move") == 0 && chdir(elsewhere) != 0)
        exit(1);
    if (strcmp(does, "close") != 0)
        return;
    usleep((useconds_t)getpid() % 16 * 1000);
    closefrom(3);
    for (int i = 0; i < FILES; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d", elsewhere, i);
        if (open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600) < 0)
            exit(1);
    }
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_session *session;
    struct rbwp_session_summary summary;
    struct rbwp_error error = {0};
    pthread_t thread[THREADS];

    rbwp_session_defaults(&config);
    config.level = 2;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK || argc < 3) {
        fprintf(stderr, "victim FILE COUNTERS [CALLS] [FLAG...] %s\n", error.text);
        return 2;
    }
    config.logfile = argv[1];
    calls = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    counter = map_counters(argv[2]);
    if (!counter)
        return 1;
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK)
        printf("unprofiled: %s\n", error.text);
    register_names(); /* inside the session: the hardest case for recovery */
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, &counter[i]) != 0)
            return 1;
    do_what_is_wanted();
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    enum rbwp_status status = rbwp_session_stop(session, &summary);
    printf("records %llu lost %llu status %d %s\n", (unsigned long long)summary.records,
           (unsigned long long)summary.lost_records, (int)status, summary.error.text);
    return 0;
}
