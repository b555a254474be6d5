/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sleepers - threads that each wait for 300 ms by another call of the C library, and bear its name.
 * Signals wake one of them, a lock of a child and one of the main thread two others.
 */
#include <aio.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define WAIT_NS 300000000
static const struct timespec for_ns = {0, WAIT_NS};

static struct timespec until(void)
{
    struct timespec at;
    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_nsec += WAIT_NS;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void wait_signal(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 3);
    sigtimedwait(&set, NULL, &for_ns);
}

static void wait_flock(void)
{
    flock(open("flock", O_RDWR | O_CREAT, 0600), LOCK_EX);
}

static void wait_fcntl(void)
{
    fcntl(open("fcntl", O_RDWR | O_CREAT, 0600), F_SETLKW, &(struct flock){.l_type = F_WRLCK});
}

static void wait_semaphores(void)
{
    const int set = semget(IPC_PRIVATE, 1, 0600);
    semtimedop(set, &(struct sembuf){.sem_op = -1}, 1, &for_ns);
    semctl(set, 0, IPC_RMID);
}

static void wait_queue(void)
{
    char name[32], byte[8];
    snprintf(name, sizeof name, "/rbwp-sleepers-%d", (int)getpid());
    const mqd_t queue = mq_open(name, O_RDWR | O_CREAT, 0600,
                                &(struct mq_attr){.mq_maxmsg = 1, .mq_msgsize = sizeof byte});
    const struct timespec at = until();
    mq_timedreceive(queue, byte, sizeof byte, NULL, &at);
    mq_unlink(name);
}

static void wait_condition(void)
{
    mtx_t lock;
    cnd_t changed;
    const struct timespec at = until();
    mtx_init(&lock, mtx_timed);
    cnd_init(&changed);
    mtx_lock(&lock);
    cnd_timedwait(&changed, &lock, &at);
    mtx_unlock(&lock);
}

static void wait_thrd(void)
{
    thrd_sleep(&for_ns, NULL);
}

static void wait_stream(void)
{
    char line[8];
    FILE *stream = popen("sleep 0.3; echo a", "r");
    if (!stream || !fgets(line, sizeof line, stream) || pclose(stream) != 0)
        abort();
}

static void wait_system(void)
{
    if (system("sleep 0.3") != 0)
        abort();
}

static void wait_aio(void)
{
    int ends[2];
    char byte;
    if (pipe(ends) != 0)
        abort();
    struct aiocb read = {.aio_fildes = ends[0], .aio_buf = &byte, .aio_nbytes = 1};
    const struct aiocb *const list[1] = {&read};
    aio_read(&read);
    aio_suspend(list, 1, &for_ns);
    if (write(ends[1], "x", 1) != 1)
        abort();
}

static void wait_recvmmsg(void)
{
    const int end = socket(AF_INET, SOCK_DGRAM, 0);
    struct timeval for_us = {0, WAIT_NS / 1000};
    struct mmsghdr message = {0};
    setsockopt(end, SOL_SOCKET, SO_RCVTIMEO, &for_us, sizeof for_us);
    recvmmsg(end, &message, 1, 0, NULL);
}

static void wait_pause(void)
{
    pause();
}

static void wait_splice(void)
{
    int from[2], to[2];
    if (pipe(from) != 0 || pipe(to) != 0)
        abort();
    const pid_t child = fork();
    if (child == 0) {
        nanosleep(&for_ns, NULL);
        _exit(write(from[1], "x", 1) != 1);
    }
    splice(from[0], NULL, to[1], NULL, 1, 0);
    waitpid(child, NULL, 0);
}

static const struct sleeper {
    const char *name;
    void (*wait)(void);
} sleepers[] = {{"sigtimedwait", wait_signal},
                {"flock", wait_flock},
                {"F_SETLKW", wait_fcntl},
                {"semtimedop", wait_semaphores},
                {"mq_timedreceive", wait_queue},
                {"cnd_timedwait", wait_condition},
                {"thrd_sleep", wait_thrd},
                {"fgets", wait_stream},
                {"system", wait_system},
                {"aio_suspend", wait_aio},
                {"recvmmsg", wait_recvmmsg},
                {"splice", wait_splice},
                {"pause", wait_pause}};
#define SLEEPERS (sizeof sleepers / sizeof sleepers[0])

static void *sleep_so(void *of)
{
    const struct sleeper *sleeper = of;
    pthread_setname_np(pthread_self(), sleeper->name);
    sleeper->wait();
    return NULL;
}

static void on_signal(int number)
{
    (void)number;
}

int main(void)
{
    pthread_t threads[SLEEPERS];
    sigset_t blocked;
    int ready[2];
    char byte;
    signal(SIGUSR1, on_signal);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGRTMIN + 3);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    const int held = open("flock", O_RDWR | O_CREAT, 0600);
    if (flock(held, LOCK_EX) != 0 || pipe(ready) != 0)
        return 1;
    if (fork() == 0) { /* holds the other lock */
        fcntl(open("fcntl", O_RDWR | O_CREAT, 0600), F_SETLK, &(struct flock){.l_type = F_WRLCK});
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        nanosleep(&(struct timespec){0, WAIT_NS + WAIT_NS / 10}, NULL);
        _exit(0);
    }
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    for (size_t i = 0; i < SLEEPERS; i++)
        pthread_create(&threads[i], NULL, sleep_so, (void *)(uintptr_t)&sleepers[i]);
    nanosleep(&for_ns, NULL);
    flock(held, LOCK_UN);
    pthread_kill(threads[SLEEPERS - 1], SIGUSR1);
    for (size_t i = 0; i < SLEEPERS; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
