/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_forms.h - the forms in which sums are shown: tables for people, and JSON.
 *
 * Both show the same sections in the same order; rows are sorted by their
 * total or what was asked for, then by name, so that the output of the same trace is the same.
 */
#ifndef STATS_FORMS_H
#define STATS_FORMS_H

#include "findings.h"
#include "stats_report.h"

/* What is shown of the sums. */
struct stats_form {
    unsigned sections;
    const char *order;               /* title of the column by which rows stand; NULL: total */
    const char *columns;             /* of rows in text, with commas; NULL: those that fit */
    const struct findings *findings; /* for SECTION_FINDINGS */
    const struct trace *trace;       /* NULL: of the threads that wait nothing is said */
};

void stats_text(struct out *out, const struct stats *stats, const struct stats_form *form,
                struct colors colors);
void stats_json(struct out *out, const struct stats *stats, const struct stats_form *form);
/* One table, of a name that stats_csv_section knows. */
void stats_csv(struct out *out, const struct stats *stats, const struct stats_form *form,
               const char *name);

#endif /* STATS_FORMS_H */
