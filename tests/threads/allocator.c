/* SPDX-License-Identifier: Apache-2.0 */
/*
 * allocator - a program with an allocator of its own whose handlers of forks are registered last:
 * in a child it is still locked while those of a library that was loaded first run.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MEMORY_BYTES = 64 << 20, HEAD_BYTES = 16, GENERATIONS = 3, HUNG_S = 20 };

static _Alignas(HEAD_BYTES) char memory[MEMORY_BYTES];
static size_t used_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void take(void)
{
    pthread_mutex_lock(&lock);
}

static void give(void)
{
    pthread_mutex_unlock(&lock);
}

static size_t *size_of(void *at)
{
    return (size_t *)(void *)((char *)at - HEAD_BYTES);
}

#pragma GCC visibility push(default) /* for the libraries, too */

void *malloc(size_t bytes)
{
    void *made = NULL;
    const size_t whole = HEAD_BYTES + ((bytes + HEAD_BYTES - 1) & ~(size_t)(HEAD_BYTES - 1));
    take();
    if (bytes < MEMORY_BYTES && whole <= MEMORY_BYTES - used_bytes) {
        made = memory + used_bytes + HEAD_BYTES;
        used_bytes += whole;
        *size_of(made) = bytes;
    }
    give();
    return made;
}

void free(void *at)
{
    if (!at)
        return;
    take();
    give();
}

void *calloc(size_t count, size_t bytes)
{
    return bytes && count > MEMORY_BYTES / bytes ? NULL
                                                 : malloc(count * bytes); /* never reused: 0 */
}

void *realloc(void *at, size_t bytes)
{
    void *made = malloc(bytes);
    if (made && at)
        memcpy(made, at, *size_of(at) < bytes ? *size_of(at) : bytes);
    return made;
}

#pragma GCC visibility pop

static void *wait_a_little(void *unused)
{
    usleep(1000);
    return unused;
}

static void wait_with_threads(void)
{
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, wait_a_little, NULL) != 0)
            _exit(1);
    pthread_join(threads[0],
                 NULL); /* the other is there when the process forks, or has just ended */
    pthread_detach(threads[1]);
    wait_a_little(NULL);
}

/* A child that hangs in a handler has no alarm of its own. */
static void end_all(int number)
{
    (void)number;
    kill(0, SIGKILL);
}

int main(void)
{
    setpgid(0, 0);
    signal(SIGALRM, end_all);
    if (pthread_atfork(take, give, give) != 0)
        return 1;
    for (int generation = 0; generation < GENERATIONS; generation++) {
        int status = -1;
        alarm(HUNG_S);
        wait_with_threads();
        pid_t child = fork();
        if (child > 0)
            return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
        if (child < 0)
            return 1;
    }
    wait_with_threads();
    return 0;
}
