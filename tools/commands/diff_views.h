/* SPDX-License-Identifier: Apache-2.0 */
/* diff_views.h - how rbwp diff shows what it found. */
#ifndef DIFF_VIEWS_H
#define DIFF_VIEWS_H

#include "out.h"
#include "tracks_diff.h"

/* all: rows that are the same, too; else they are counted. */
void diff_text(struct out *out, const struct diff *diff, const struct tracks_diff *tracks, bool all,
               const struct colors *colors);
void diff_json(struct out *out, const struct diff *diff, const struct tracks_diff *tracks);

#endif /* DIFF_VIEWS_H */
