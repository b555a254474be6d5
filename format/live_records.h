/* SPDX-License-Identifier: Apache-2.0 */
/* live_records.h - events of a live file as records. */
#ifndef LIVE_RECORDS_H
#define LIVE_RECORDS_H

#include "live_file.h"

/* All but the time. False if there can be no such record. */
bool live_event_record(const struct live_event *event, struct rbwp_record *record_out);

#endif /* LIVE_RECORDS_H */
