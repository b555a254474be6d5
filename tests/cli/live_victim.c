/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp-live-victim FILE: a program to look at while it runs. Each byte on its standard input is a
 * thing to do, and comes back when that is done:
 *   t  a call of "tick" with a sub-item in it; m  5000 of them
 *   b  begins a call of "tick" with GPU work in it; e  ends it; d  ends it as one that did nothing
 *   x  a thread comes, calls "tick" and goes
 *   f  begins a call of "flush" on another thread, which is in it from then on
 *   s  stops the session
 * Flags may stand in RBWP_FLAGS.
 */
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static unsigned tick, flush, step;

static void *flusher(void *argument)
{
    const int *begun = argument;
    if (rbwp_thread_attach("flusher") != RBWP_OK)
        return NULL;
    rbwp_begin(flush);
    bool announced = write(*begun, "", 1) == 1;
    while (announced) /* until the process ends */
        pause();
    return NULL;
}

static void call_tick(void)
{
    rbwp_begin(tick);
    rbwp_fine_begin(step);
    rbwp_fine_end();
    rbwp_set_worked(true);
    rbwp_end();
}

static void *visitor(void *argument)
{
    (void)argument;
    if (rbwp_thread_attach("visitor") == RBWP_OK) {
        call_tick();
        rbwp_thread_detach();
    }
    return NULL;
}

/* False if it could not be done. */
static bool do_command(char command, struct rbwp_session *session)
{
    int begun[2];
    pthread_t thread;
    char done;
    switch (command) {
    case 't':
        call_tick();
        return true;
    case 'm':
        for (int i = 0; i < 5000; i++)
            call_tick();
        return true;
    case 'b':
        rbwp_begin(tick);
        rbwp_gpu_work(7, tick, 1000, 2000);
        return true;
    case 'e':
        rbwp_end();
        return true;
    case 'd':
        rbwp_discard();
        return true;
    case 'x':
        return pthread_create(&thread, NULL, visitor, NULL) == 0 && pthread_join(thread, NULL) == 0;
    case 'f':
        return pipe(begun) == 0 && pthread_create(&thread, NULL, flusher, &begun[1]) == 0 &&
               read(begun[0], &done, 1) == 1;
    case 's':
        return rbwp_session_stop(session, NULL) == RBWP_OK;
    default:
        return false;
    }
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_session *session;
    struct rbwp_error error = {0};
    char byte;
    rbwp_session_defaults(&config);
    config.level = 2;
    config.logfile = argv[argc - 1];
    if (rbwp_session_parse(&config, NULL, NULL, &error) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK ||
        rbwp_work_item_register("tick", &tick) != RBWP_OK ||
        rbwp_work_item_register("flush", &flush) != RBWP_OK ||
        rbwp_sub_item_register(RBWP_XFER_CHANNEL, "step", &step) != RBWP_OK ||
        rbwp_thread_attach("main worker") != RBWP_OK) {
        fprintf(stderr, "rbwp-live-victim FILE: %s\n", error.text);
        return 1;
    }
    while (read(STDIN_FILENO, &byte, 1) == 1)
        if (!do_command(byte, session) || write(STDOUT_FILENO, &byte, 1) != 1)
            return 1;
    return 0;
}
