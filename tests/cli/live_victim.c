/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp-live-victim FILE: a program to look at while it runs. Each byte on its standard input is a
 * thing to record, and comes back when that is done: 't' a call of "tick" with a sub-item in it,
 * 'f' begins a call of "flush" on another thread, which is in it from then on.
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
    bool told = write(*begun, "", 1) == 1;
    while (told) /* until the process ends */
        pause();
    return NULL;
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_session *session;
    struct rbwp_error error = {0};
    char byte;
    int begun[2];
    pthread_t thread;
    rbwp_session_defaults(&config);
    config.level = 2;
    config.logfile = argv[argc - 1];
    if (pipe(begun) != 0 || rbwp_session_start(&config, &session, &error) != RBWP_OK ||
        rbwp_work_item_register("tick", &tick) != RBWP_OK ||
        rbwp_work_item_register("flush", &flush) != RBWP_OK ||
        rbwp_sub_item_register(RBWP_XFER_CHANNEL, "step", &step) != RBWP_OK ||
        rbwp_thread_attach("main worker") != RBWP_OK) {
        fprintf(stderr, "rbwp-live-victim FILE: %s\n", error.text);
        return 1;
    }
    while (read(STDIN_FILENO, &byte, 1) == 1) {
        if (byte == 't') {
            rbwp_begin(tick);
            rbwp_fine_begin(step);
            rbwp_fine_end();
            rbwp_set_worked(true);
            rbwp_end();
        } else if (byte == 'f') {
            char done;
            if (pthread_create(&thread, NULL, flusher, &begun[1]) != 0 ||
                read(begun[0], &done, 1) != 1)
                return 1;
        }
        if (write(STDOUT_FILENO, &byte, 1) != 1)
            return 1;
    }
    return 0;
}
