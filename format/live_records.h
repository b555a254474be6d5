/* SPDX-License-Identifier: Apache-2.0 */
/* live_records.h - events of a live file as records. */
#ifndef LIVE_RECORDS_H
#define LIVE_RECORDS_H

#include "live_file.h"
#include "live_log.h"
#include "rbwp_recover.h"
#include "thread_table.h"

/* ---- live facts ------------------------------------------------------------------------------ */
/*
 * What the log of a live file says: names, threads, slots over time, the clock,
 * losses.
 *
 * Takes the entries in order, of which a later one about the same thing
 * counts, and gives the tables and the trailer that FILE would have got.
 * Everything is bounded, whatever the log has in it.
 */

#define FACTS_NAME_BYTES_MAX (32u << 20) /* of all names together */
#define FACTS_SLOT_USES_MAX 65536u
#define FACTS_LOSSES_MAX 65536u
#define FACTS_JOB_MAX 32u

struct live_facts {
    struct rbwp_tables tables;
    struct rbwp_trailer trailer;   /* without index; record counts are 0 */
    struct live_tables row_tables; /* schemas and names of tables */
    struct live_clock clock;       /* it may have no sample */
    struct live_told told;         /* all that was counted so far */
    /* What neither the live file nor FILE has; the losses in the trailer have it, too. */
    struct rbwp_live_missing missing;
    uint64_t damaged; /* entries that could not be, and places where the rest of a segment was
                         dropped */
    uint64_t dropped; /* names and entries beyond the bounds */
};

/* Reads the log. RBWP_E_IO, RBWP_E_MEMORY. */
enum rbwp_status live_facts_read(const struct live_file *live, struct live_facts **facts_out,
                                 struct rbwp_error *error);
void live_facts_free(struct live_facts *facts);

/* Causes that are counted in told: the trailer has these losses, of this part alone. */
bool live_facts_counts(const struct live_facts *facts, uint32_t cause);

/* ---- live records ---------------------------------------------------------------------------- */

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
