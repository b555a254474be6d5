/* SPDX-License-Identifier: Apache-2.0 */
/* live_records.h - events of a live file as records. */
#ifndef LIVE_RECORDS_H
#define LIVE_RECORDS_H

#include "live_facts.h"
#include "live_file.h"
#include "rbwp_recover.h"

/* All but the time. False if there can be no such record. */
bool live_event_record(const struct live_event *event, struct rbwp_record *record_out);

/* An open live file, as the reader and the recovery see it. */

struct rbwp_live {
    struct live_file file;
    struct live_facts *facts;
};

/* As rbwp_live_open, of a descriptor of the file that this process writes, which is taken over. */
enum rbwp_status live_view_take(int fd, struct rbwp_live **live_out, struct rbwp_error *error);

#endif /* LIVE_RECORDS_H */
