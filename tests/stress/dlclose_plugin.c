/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that has the library and records on its host's threads (test_dlclose). */
#include "rbwp_record.h"
#include "rbwp_session.h"

__attribute__((visibility("default"))) int plugin_start(const char *path);
__attribute__((visibility("default"))) int plugin_record(unsigned pairs);

/* 0, or the status of what failed. */
int plugin_start(const char *path)
{
    struct rbwp_session_config config;
    struct rbwp_session *session;
    rbwp_session_defaults(&config);
    config.level = 1;
    config.logfile = path;
    return rbwp_session_start(&config, &session, NULL);
}

int plugin_record(unsigned pairs)
{
    enum rbwp_status status = rbwp_thread_attach("host");
    for (unsigned i = 0; i < pairs; i++) {
        rbwp_begin(4);
        rbwp_end();
    }
    return status;
}
