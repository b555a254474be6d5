/* SPDX-License-Identifier: Apache-2.0 */
/* Apart from the rest, which also benchmarks of the tools use: those have no recorder. */
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>

struct rbwp_session *start_with(struct rbwp_session_config config)
{
    struct rbwp_session *session;
    struct rbwp_error error = {0};
    config.logfile = scratch_file();
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "bench: %s\n", error.text);
        exit(1);
    }
    return session;
}

struct rbwp_session *start_session(int level)
{
    struct rbwp_session_config config;
    rbwp_session_defaults(&config);
    config.level = level;
    return start_with(config);
}

struct rbwp_session_summary stop_session(struct rbwp_session *session)
{
    struct rbwp_session_summary summary;
    if (rbwp_session_stop(session, &summary) != RBWP_OK) {
        fprintf(stderr, "bench: %s\n", summary.error.text);
        exit(1);
    }
    return summary;
}
