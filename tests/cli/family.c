/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp-family FILE: a program with two children and a grandchild, which all record. It tells their
 * process ids: the elder child, its child, the younger one, which has ended by then. "k" on its
 * standard input kills the elder child, and comes back when that is dead; at its end all end.
 */
#include "rbwp_args.h"
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned step;
static uint64_t number;
static int hold[2], pids_pipe[2]; /* nobody writes to hold: it ends with the eldest */

static void record(int calls)
{
    for (int i = 0; i < calls; i++) {
        rbwp_begin(step);
        rbwp_arg_u64(number, (uint64_t)i);
        rbwp_set_worked(true);
        rbwp_end();
    }
}

static _Noreturn void live(int calls, pid_t child)
{
    char byte;
    close(hold[1]);
    record(calls);
    if (write(pids_pipe[1], &child, sizeof child) != sizeof child || read(hold[0], &byte, 1) != 0)
        _exit(1);
    exit(0);
}

static _Noreturn void elder(void)
{
    record(2);
    pid_t child = fork();
    if (child == 0)
        live(3, getpid());
    live(1, child);
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_session *session;
    pid_t children[2], seen[2];
    char byte;
    rbwp_session_defaults(&config);
    config.level = 2;
    number = rbwp_arg_key("number");
    config.logfile = argv[argc - 1];
    config.children = true;
    if (pipe(hold) != 0 || pipe(pids_pipe) != 0 ||
        rbwp_session_start(&config, &session, NULL) != RBWP_OK ||
        rbwp_work_item_register("step", &step) != RBWP_OK || rbwp_thread_attach("main") != RBWP_OK)
        return 1;
    record(7);
    if ((children[0] = fork()) == 0)
        elder();
    if (read(pids_pipe[0], seen, sizeof seen[0]) != sizeof seen[0] ||
        read(pids_pipe[0], seen + 1, sizeof seen[1]) != sizeof seen[1])
        return 1;
    if ((children[1] = fork()) == 0) {
        record(5);
        exit(0);
    }
    waitpid(children[1], NULL, 0);
    printf("%ld %ld %ld\n", (long)children[0], (long)seen[0], (long)children[1]);
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) == 1)
        if (kill(children[0], SIGKILL) != 0 || waitpid(children[0], NULL, 0) != children[0] ||
            write(STDOUT_FILENO, &byte, 1) != 1)
            return 1;
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
