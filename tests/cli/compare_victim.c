/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp-compare-victim [FLAGS] MS [WHAT]: records itself, three calls of "work" that last so many
 * ms. WHAT: "fail" ends with 7, "crash" by a signal, "stop" sends the parent SIGTERM and ends well.
 * It notes its runs, a letter each, in the file that $COMPARE_NOTES names.
 */
#include "rbwp_record.h"
#include "rbwp_session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int work(int ms)
{
    unsigned item;
    if (rbwp_work_item_register("work", &item) != RBWP_OK || rbwp_thread_attach("main") != RBWP_OK)
        return 1;
    for (int i = 0; i < 3; i++) {
        rbwp_begin(item);
        usleep((unsigned)ms * 1000);
        rbwp_set_worked(true);
        rbwp_end();
    }
    return 0;
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config;
    struct rbwp_session *session = NULL;
    struct rbwp_error error = {0};
    rbwp_session_defaults(&config);
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK || argc < 2 ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "rbwp-compare-victim: %s\n", error.text);
        return 2;
    }
    const char *what = argc > 2 ? argv[2] : "", *path = getenv("COMPARE_NOTES");
    FILE *notes = path ? fopen(path, "a") : NULL;
    if (notes) {
        fprintf(notes, "%s ", argv[1]);
        fclose(notes);
    }
    printf("output of the program\n");
    int code = work(atoi(argv[1]));
    rbwp_thread_detach();
    if (session && rbwp_session_stop(session, NULL) != RBWP_OK)
        return 1;
    if (strcmp(what, "crash") == 0)
        raise(SIGKILL);
    if (strcmp(what, "stop") == 0)
        kill(getppid(), SIGTERM);
    return strcmp(what, "fail") == 0 ? 7 : code;
}
