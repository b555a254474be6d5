/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stats_forms.h - the forms in which sums are shown: tables for people, and JSON.
 *
 * Both show the same sections in the same order; rows are sorted by their
 * total, then by name, so that the output of the same trace is the same.
 */
#ifndef STATS_FORMS_H
#define STATS_FORMS_H

#include "out.h"
#include "stats_rows.h"
#include "terminal.h"

void stats_text(struct out *out, const struct stats *stats, unsigned sections,
                struct colors colors);
void stats_json(struct out *out, const struct stats *stats, unsigned sections);

/* Their parts about nodes (node_sums.h). */
void stats_nodes_text(struct out *out, const struct stats *stats, struct colors colors);
void stats_nodes_json(struct out *out, const struct stats *stats);

#endif /* STATS_FORMS_H */
