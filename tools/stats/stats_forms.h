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
#include "out.h"
#include "stats_rows.h"
#include "terminal.h"

/* What is shown of the sums. */
struct stats_form {
    unsigned sections;
    enum stats_column order;         /* of rows */
    struct stats_columns columns;    /* of rows in text; none: those that fit */
    const struct findings *findings; /* for SECTION_FINDINGS */
};

void stats_text(struct out *out, const struct stats *stats, const struct stats_form *form,
                struct colors colors);
void stats_json(struct out *out, const struct stats *stats, const struct stats_form *form);

/* Their parts about nodes (node_sums.h). */
void stats_nodes_text(struct out *out, const struct stats *stats, struct colors colors);
void stats_nodes_json(struct out *out, const struct stats *stats);

#endif /* STATS_FORMS_H */
