/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unmodified TALLY [CHILDREN]: a program that is killed while it is recorded, and knows nothing of
 * that. It has one thread, which sleeps again and again. With CHILDREN it forks so many on its way;
 * every other one of them makes a thread. They end with their parent.
 *
 * Each thread counts, in a file that is mapped shared, the sleeps that it has come back from; so
 * whoever looks after a kill -9 knows how many there must be.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LINES = 64, SLEEPS_BETWEEN_FORKS = 200 };

/* Where the test reads. */
static struct tally {
    _Atomic uint64_t used;
    uint64_t unused[2];
    struct line {
        _Atomic uint64_t process, thread, sleeps;
    } line[LINES];
} * tally;

static void sleep_often(struct line *line, int count)
{
    for (int i = 0; i < count; i++) {
        usleep(20);
        line->sleeps++;
    }
}

static struct line *take_line(void)
{
    uint64_t number = tally->used++;
    if (number >= LINES)
        exit(1);
    struct line *line = &tally->line[number];
    line->thread = (uint64_t)syscall(SYS_gettid);
    line->process = (uint64_t)getpid();
    return line;
}

static void *sleep_on(void *unused)
{
    for (struct line *line = take_line();;)
        sleep_often(line, 1);
    return unused;
}

static void be_child(pid_t parent, unsigned number)
{
    pthread_t thread;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent ||
        (number % 2 == 1 && pthread_create(&thread, NULL, sleep_on, NULL) != 0))
        exit(1);
    (void)sleep_on(NULL);
}

int main(int argument_count, char **arguments)
{
    int fd = argument_count > 1 ? open(arguments[1], O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    unsigned children = argument_count > 2 ? (unsigned)atoi(arguments[2]) : 0;
    if (fd < 0 || ftruncate(fd, sizeof *tally) != 0)
        return 1;
    tally = mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (tally == MAP_FAILED)
        return 1;
    struct line *line = take_line();
    const pid_t process = getpid();
    for (unsigned i = 0; i < children; i++) {
        sleep_often(line, SLEEPS_BETWEEN_FORKS);
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0)
            be_child(process, i);
    }
    for (;;)
        sleep_often(line, 1);
}
