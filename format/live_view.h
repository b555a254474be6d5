/* SPDX-License-Identifier: Apache-2.0 */
/* live_view.h - an open live file, as the reader and the recovery see it. */
#ifndef LIVE_VIEW_H
#define LIVE_VIEW_H

#include "live_facts.h"
#include "rbwp_recover.h"

struct rbwp_live {
    struct live_file file;
    struct live_facts *facts;
};

/* As rbwp_live_open, of a descriptor of the file that this process writes, which is taken over. */
enum rbwp_status live_view_take(int fd, struct rbwp_live **live_out, struct rbwp_error *error);

#endif /* LIVE_VIEW_H */
