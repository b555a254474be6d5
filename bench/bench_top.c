/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_top RBWP: what rbwp top costs the program that it looks at.
 *
 * A program with two threads records 100,000 calls a second. In turns nobody looks at it, and rbwp
 * top does, eight times as often as by default; its CPU time is the kernel's account of that
 * process alone. The program does not notice: it gets no signal, makes no call for it and faults no
 * page in.
 */
#include "bench.h"
#include "rbwp_record.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURNS = 8, BURST = 50, TURN_US = 1000000 };
#define TARGET_PERCENT 1.0

static unsigned slot;

static void *work(void *unused)
{
    require(rbwp_thread_attach("worker") == RBWP_OK, "attach");
    for (;;) {
        for (int i = 0; i < BURST; i++) {
            rbwp_begin(slot);
            rbwp_end();
        }
        usleep(1000);
    }
    return unused;
}

static _Noreturn void be_watched(int ready)
{
    pthread_t thread;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    require(rbwp_work_item_register("step", &slot) == RBWP_OK, "slot");
    (void)start_session(1);
    require(pthread_create(&thread, NULL, work, NULL) == 0, "thread");
    require(write(ready, "", 1) == 1, "write");
    (void)work(NULL);
    abort();
}

struct account {
    double cpu_ns;
    unsigned long faults;
};

static struct account account_of(pid_t pid, clockid_t clock)
{
    struct account account = {.cpu_ns = clock_ns(clock)};
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *file = fopen(path, "r");
    require(file &&
                fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %lu", &account.faults) == 1,
            path);
    fclose(file);
    return account;
}

static pid_t start_top(char *rbwp, pid_t watched)
{
    char pid[24];
    snprintf(pid, sizeof pid, "%ld", (long)watched);
    pid_t child = fork();
    if (child == 0) {
        int nothing = open("/dev/null", O_WRONLY);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (nothing >= 0 && dup2(nothing, STDOUT_FILENO) >= 0)
            execl(rbwp, "rbwp", "top", "-d", "250ms", pid, (char *)NULL);
        _exit(127);
    }
    require(child > 0, "fork");
    return child;
}

/* CPU time of the watched one in percent of a core, and its page faults. */
static double turn(pid_t watched, clockid_t clock, double *faults_out)
{
    double begin_ns = clock_ns(CLOCK_MONOTONIC);
    struct account begin = account_of(watched, clock);
    usleep(TURN_US);
    struct account end = account_of(watched, clock);
    *faults_out += (double)(end.faults - begin.faults);
    return 100 * (end.cpu_ns - begin.cpu_ns) / (clock_ns(CLOCK_MONOTONIC) - begin_ns);
}

int main(int argc, char **argv)
{
    double alone[TURNS], seen[TURNS], more[TURNS], faults_alone = 0, faults_seen = 0;
    int ready[2];
    char byte;
    clockid_t clock;
    require(argc == 2, "usage: bench_top RBWP");
    require(pipe(ready) == 0, "pipe");
    const char *file = scratch_file();
    pid_t watched = fork();
    if (watched == 0)
        be_watched(ready[1]);
    require(watched > 0 && read(ready[0], &byte, 1) == 1, "the watched program");
    require(clock_getcpuclockid(watched, &clock) == 0, "its clock");
    (void)turn(watched, clock, &faults_alone);
    faults_alone = 0;
    for (int i = 0; i < TURNS; i++) {
        alone[i] = turn(watched, clock, &faults_alone);
        pid_t top = start_top(argv[1], watched);
        seen[i] = turn(watched, clock, &faults_seen);
        int status;
        require(waitpid(top, &status, WNOHANG) == 0, "rbwp top has ended");
        kill(top, SIGTERM);
        waitpid(top, &status, 0);
        more[i] = seen[i] - alone[i];
    }
    kill(watched, SIGKILL);
    waitpid(watched, NULL, 0);
    char live[4200];
    snprintf(live, sizeof live, "%s.live", file);
    unlink(live);
    printf("CPU of the watched program   %6.2f %% of a core alone, %6.2f %% while rbwp top looks 4 "
           "times "
           "a second; %.0f and %.0f page faults in %d s each\n",
           median(alone, TURNS), median(seen, TURNS), faults_alone, faults_seen, TURNS);
    double cost = median(more, TURNS);
    figure_at_most("rbwp top, CPU that it costs the watched program", cost > 0 ? cost : 0,
                   "% of a core", TARGET_PERCENT);
    return 0;
}
