/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject_record.h - one launch with its module's variable set: what its probes stored, on the disk.
 *
 * The variable is set and cleared on the launch's stream, right before and behind it, so what the
 * program put there earlier runs with probes that are off. Then it is waited for: recorded launches
 * are synchronous, up to RBWP_PTX_WAIT_MS, when it is given up (a kernel may wait for what this
 * very thread does next).
 */
#ifndef INJECT_RECORD_H
#define INJECT_RECORD_H

#include "inject_sites.h"

#define INJECT_RECORDED (-1)

struct inject_recording {
    struct inject_site site;
    struct inject_launch launch;
    struct inject_launch_line line;
};

/* Before the launch; the thread has module->lock for writing. INJECT_RECORDED: record_end must
 * follow. Else why it is not (enum inject_skip), and nothing is changed. */
int inject_record_begin(struct inject_recording *recording, uint64_t wait_ns);

/* Behind it; result is what it returned. INJECT_RECORDED or why it is not after all. */
int inject_record_end(struct inject_recording *recording, int result, uint64_t wait_ns);

/* What to keep of a launch that is not recorded. */
void inject_record_pending(const struct inject_site *site, const struct inject_launch *launch);

#endif /* INJECT_RECORD_H */
