/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_trace.h - a Perfetto trace being written: what its parts share.
 *
 * perfetto_tracks.c has processes, tracks, packet sequences and names,
 * perfetto_args.c what is told of a span beside its name, perfetto_links.c
 * what is written last (arrows, losses, facts), export_perfetto.c events.
 */
#ifndef PERFETTO_TRACE_H
#define PERFETTO_TRACE_H

#include "export.h"
#include "kept_facts.h"
#include "left_out.h"
#include "packet_file.h"
#include "pending_links.h"
#include "perfetto_proto.h"
#include "viewer_ids.h"
#include "viewer_text.h"

/* Sequences that belong to no lane. */
enum { SEQUENCE_DESCRIPTORS = 1, SEQUENCE_LAST, SEQUENCE_LANES };

enum annotation { ANNOTATION_UNFINISHED = 1, ANNOTATION_SLOT, ANNOTATION_OPEN, ANNOTATION_ITEM };

/* Of one event, its time included, without texts; of anything else without texts. */
enum { EVENT_BYTES_MAX = 96, HEAD_BYTES_MAX = 16, OTHER_BYTES_MAX = 1024 };
enum {
    NAME_BYTES_MAX = UINT16_MAX,
    TEXT_BYTES_MAX = 8 << 10,
    NAME_SHOWN_MAX = 1024
}; /* longer ones are cut */

struct lane_state {
    uint32_t sequence; /* 0: nothing was written yet */
    uint8_t head_bytes;
    uint8_t head[HEAD_BYTES_MAX]; /* what all its events begin with */
    int64_t last_ns;              /* of its clock */
    int64_t *open;                /* stops of open spans, outermost first */
    uint32_t depth, room;
};

struct row {
    uint32_t lane_count;
    struct lane_state *lanes;
    bool has_spans;
};

/* Which names a sequence was told: a hash table of sequence and name + 1; 0 is a free cell. */
struct told_names {
    uint64_t *cells;
    uint64_t count, cell_count;
};

struct perfetto {
    struct trace_pass *pass;
    struct packet_file file;
    struct row *rows; /* by track */
    uint32_t row_count, pid_count;
    uint32_t *pids; /* by process */
    uint32_t sequences;
    struct viewer_ids ids;
    struct viewer_text text;
    struct pending_links links;
    struct told_names told;
    struct kept_facts facts;
    struct left_out left_out;
    bool failed, last_started;
};

void perfetto_fail(struct perfetto *perfetto);

static inline uint64_t clock_ns(int64_t time_ns)
{
    return time_ns < 0 ? 0 : (uint64_t)time_ns;
}

static inline uint64_t process_uuid(uint32_t process)
{
    return UINT64_C(1) << 61 | process;
}
static inline uint64_t lane_uuid(uint32_t track, uint32_t lane)
{
    return UINT64_C(1) << 62 | (uint64_t)track << 16 | lane;
}

/* The viewer numbers arrows of threads itself, from 0 on: others have large numbers. */
static inline uint64_t arrow_number(uint64_t number)
{
    return number < PENDING_OTHER ? number | PENDING_OTHER >> 1 : number;
}

/* ---- packets ------------------------------------------------------------------------ */

uint8_t *perfetto_put_text(struct perfetto *perfetto, uint8_t *at, unsigned field,
                           struct trace_text text, uint32_t bytes_max);

/* Begins a packet whose texts have at most text_bytes; pb_close ends it. */
static inline uint8_t *begin_packet(struct packets *packets, size_t text_bytes, unsigned sequence,
                                    unsigned flags)
{
    uint8_t *at = packet_room(packets, OTHER_BYTES_MAX + 3 * text_bytes);
    at = pb_u64(pb_open(at, PF_TRACE_PACKET), PF_PACKET_SEQUENCE, sequence);
    return flags ? pb_u64(at, PF_PACKET_SEQUENCE_FLAGS, flags) : at;
}
static inline void end_packet(struct packets *packets, uint8_t *end)
{
    packet_put(packets, pb_close(packets->next + 4, end));
}

/* ---- tracks, of the sink ------------------------------------------------------------ */

void perfetto_take_process(void *context, const struct trace_process *process);
void perfetto_take_track(void *context, const struct trace_track *track);
/* The lane, with its sequence begun at time_ns if this is its first event; NULL without memory. */
struct lane_state *perfetto_lane(struct perfetto *perfetto, uint32_t track, uint32_t lane,
                                 int64_t time_ns);
void perfetto_tell_name(struct perfetto *perfetto, const struct lane_state *lane, uint32_t name);

/* ---- spans with more than a name ---------------------------------------------------- */

/* Bytes that perfetto_put_details takes for texts. */
size_t perfetto_detail_bytes(const struct perfetto *perfetto, const struct trace_detail *detail);
/* Fields of a track event. */
uint8_t *perfetto_put_details(struct perfetto *perfetto, uint8_t *at,
                              const struct trace_detail *detail);

/* ---- what is written last, of the sink ---------------------------------------------- */

void perfetto_take_link(void *context, const struct trace_link *link);
void perfetto_take_loss(void *context, const struct trace_loss *loss);
void perfetto_take_fact(void *context, const char *key, struct trace_text value);
void perfetto_write_facts(struct perfetto *perfetto);

#endif /* PERFETTO_TRACE_H */
