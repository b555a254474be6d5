/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_snapshot.h - the events that FILE does not have yet, of one moment, while the program that
 * records them goes on.
 *
 * Of each thread they are just those that follow on its blocks in the first commit.file_bytes of
 * FILE, without a gap and none twice, up to some event that was its last one while the snapshot was
 * taken.
 */
#ifndef LIVE_SNAPSHOT_H
#define LIVE_SNAPSHOT_H

#include "live_file.h"

struct live_snapshot {
    struct live_chunks chunks; /* by thread, then time */
    size_t *starts;            /* by chunk: its first word; one more: behind the last */
    uint64_t *words;
    size_t word_count, word_capacity;
};

/* Sets live->commit. RBWP_E_IO, RBWP_E_MEMORY, RBWP_AGAIN (the program wrote FILE all the time, so
 * that there was no moment to look). Free the snapshot in each case. */
enum rbwp_status live_snapshot_take(struct live_snapshot *snapshot, struct live_file *live,
                                    struct rbwp_error *error);
void live_snapshot_free(struct live_snapshot *snapshot);

/* None of a chunk that has rows: those are its words. */
static inline struct live_events live_snapshot_events(const struct live_snapshot *snapshot,
                                                      size_t chunk)
{
    const struct live_chunk *listed = &snapshot->chunks.list[chunk];
    size_t words = snapshot->starts[chunk + 1] - snapshot->starts[chunk];
    return (struct live_events){.words = snapshot->words + snapshot->starts[chunk],
                                .count = listed->table ? 0 : words,
                                .base_ticks = listed->base_ticks};
}

#endif /* LIVE_SNAPSHOT_H */
