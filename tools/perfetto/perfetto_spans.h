/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_spans.h - events of a Perfetto trace as spans, counters and links.
 *
 * A slice is two events, which the track brings together. Its flows wait with
 * it, for a link wants to know the span. Our own exports have arrows as
 * instants, and facts as well: both become what they were.
 */
#ifndef PERFETTO_SPANS_H
#define PERFETTO_SPANS_H

#include "chrome_flows.h"
#include "id_texts.h"
#include "deferred_losses.h"
#include "open_spans.h"
#include "perfetto_event.h"
#include "perfetto_wire.h"
#include "span_sorter.h"
#include "thread_map.h"
#include "trace_filter.h"
#include "trace_source.h"

/* The tracks of a Perfetto trace, a tree by their uuids.
 *
 * Descriptors may come behind the events that name them, so they are gathered
 * first, and announced to the trace when something is on them. Two descriptors of
 * one thread are one track; so are the rows that our own exports write a track
 * as. */

enum perfetto_track_kind { PERFETTO_PLAIN, PERFETTO_PROCESS, PERFETTO_THREAD, PERFETTO_COUNTER };

struct perfetto_track {
    enum perfetto_track_kind kind;
    bool has_parent, has_id, incremental;
    enum trace_track_kind shown_as; /* of a plain one */
    uint64_t uuid, parent;          /* uuids */
    uint64_t process;               /* key of it, of processes and threads */
    uint64_t id;                    /* has_id: as our own exports have it */
    uint32_t tid;
    uint32_t same;   /* number + 1 of the track that it is a part of */
    uint32_t number; /* of the trace, + 1; 0: not added yet */
    int64_t last_ns; /* latest time seen on it */
    int64_t scale;   /* of a counter's values, 0: 1 */
    int64_t total;   /* of an incremental counter */
};

struct perfetto_process {
    uint64_t key;
    uint32_t number; /* of the trace, + 1; 0: not added yet */
};

struct perfetto_tracks {
    struct id_texts texts;
    struct thread_map track_map, process_map, thread_map;
    struct perfetto_track *tracks;
    struct perfetto_process *processes;
    uint32_t *threads; /* by number in thread_map: its first track, + 1 */
    uint32_t track_room, process_room, thread_room;
    struct thread_map launcher_map; /* by process and id of a thread */
    uint32_t *launchers;            /* its track + 1, TRACE_NONE: it has none */
    uint32_t launcher_room;
    bool ours;
    bool full; /* there was no room */
};

/* machine: of several in one trace, 0 the first. */
void perfetto_tracks_describe(struct perfetto_tracks *tracks, uint32_t machine,
                              struct wire_message descriptor);
/* When all is described. ours: it is an export of this program. */
void perfetto_tracks_join(struct perfetto_tracks *tracks, bool ours);
/* NULL when there is no room. Its place may change with the next one. */
struct perfetto_track *perfetto_tracks_find(struct perfetto_tracks *tracks, uint64_t uuid);
/* The track's number in the trace, to which it is added first where it was not. */
uint32_t perfetto_tracks_tell(struct perfetto_tracks *tracks, struct perfetto_track *track,
                              struct trace *trace, const struct trace_source *opened);
/* Of our own exports: the thread's track in the process of that track; TRACE_NONE without one. */
uint32_t perfetto_tracks_thread(struct perfetto_tracks *tracks, uint32_t track, uint64_t thread_id,
                                struct trace *trace, const struct trace_source *opened);
void perfetto_tracks_free(struct perfetto_tracks *tracks);

struct perfetto_spans {
    struct perfetto_tracks *tracks;
    const struct perfetto_state *state;
    const struct trace_source *opened;
    struct trace *trace;
    int64_t zero_ns; /* of the trace's clock on the axis */
    bool ours;
    struct trace_filter filter;
    struct span_sorter spans;
    struct sample_sorter samples;
    struct chrome_flows flows; /* of our own exports */
    struct open_spans open;
    struct detail_maker detail;
    struct text_buffer json;
    uint64_t unfinished, dropped;
    struct deferred_losses losses; /* our own exports', and gaps that a trace itself reports */
};

/* NULL without memory. */
struct perfetto_spans *perfetto_spans_start(struct perfetto_tracks *tracks,
                                            const struct perfetto_state *state,
                                            const struct trace_source *opened, struct trace *trace,
                                            const struct trace_read_options *options);
void perfetto_spans_take(struct perfetto_spans *spans, const struct perfetto_packet *packet,
                         const struct perfetto_event *event, int64_t time_ns);
/* All goes to the trace. False when something is missing, with messages given. */
bool perfetto_spans_finish(struct perfetto_spans *spans);
void perfetto_spans_free(struct perfetto_spans *spans);

#endif /* PERFETTO_SPANS_H */
