/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flags.c - prints what the flags in its arguments make of both configs, one field a line.
 * Exit status 2, and why, if a value is refused or a word is nobody's.
 */
#include "session_config.h"

#include <inttypes.h>
#include <rbwp_work.h>
#include <stdio.h>

#define SHOW(config, field) printf(#config "." #field " %" PRId64 "\n", (int64_t)(config).field)

int main(int argc, char **argv)
{
    struct rbwp_error error;
    struct rbwp_session_config config = {.size = sizeof config};
    struct session_settings session;
    struct rbwp_work_config work = {.size = sizeof work};
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK ||
        session_config_read(&config, &session, &error) != RBWP_OK ||
        rbwp_work_parse(&work, &argc, argv, &error) != RBWP_OK) {
        puts(error.text);
        return 2;
    }
    if (argc > 1) {
        printf("no flag: %s\n", argv[1]);
        return 2;
    }
    printf("session.logfile %s\n", session.logfile);
    SHOW(session, level);
    SHOW(session, cap_bytes);
    SHOW(session, at_cap);
    SHOW(session, stall_ns);
    SHOW(session, compression);
    SHOW(session, block_bytes);
    SHOW(session, strict);
    SHOW(session, live);
    SHOW(session, follow);
    SHOW(session, sync_ns);
    SHOW(config, control);
    SHOW(config, children);
    SHOW(session, cpu);
    SHOW(session, has_node);
    SHOW(session, node);
    SHOW(work, workers);
    SHOW(work, no_workers);
    SHOW(work, numa);
    SHOW(work, pin);
    SHOW(work, numa_pin);
    SHOW(work, stack_bytes);
    SHOW(work, spin_ns);
    SHOW(work, no_spin);
    SHOW(work, slice_ns);
    return 0;
}
