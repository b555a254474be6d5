/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_trace.h - a Perfetto trace being written: what its parts share.
 *
 * perfetto_tracks.c has processes, tracks, packet sequences and names,
 * perfetto_links.c what stands of a span beside its name, and
 * what is written last (arrows, losses, facts), export_perfetto.c events.
 */
#ifndef PERFETTO_TRACE_H
#define PERFETTO_TRACE_H

#include "bytes.h"
#include "export.h"
#include "pending_links.h"
#include "perfetto_proto.h"
#include "viewer_parts.h"
#include "dropped_report.h"

#include <string.h>

/* The packets of a Perfetto trace on their way into the file.
 *
 * Packets are put one behind the other into chunks. Full chunks are
 * compressed, on several threads if there are, and written in order as
 * compressed_packets. What shall come last although it is known early goes
 * into a stream of packets of its own, which waits in a temporary file.
 *
 * The encoder (deflater.h) looks for repetitions where a mark says that
 * they can begin: where a packet begins, and where its time does, which
 * therefore is the last field. */

/* ---- the wire form of protocol buffers, as far as it is written here ------------------------- */
/*
 * Every call writes at a place that has room and returns the end. A message
 * inside a message is written behind pb_open and closed with pb_close, which
 * puts its length into three bytes; ones that are small and many, whose length
 * is known, begin with pb_head. Header only:
 * the calls are in the inner loop of an exporter.
 */

#define PB_HEAD_MAX (2 * VARINT_BYTES_MAX)

enum pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2 };

static inline uint8_t *pb_tag(uint8_t *at, unsigned field, enum pb_type type)
{
    return store_varint(at, field << 3 | type);
}

static inline uint8_t *pb_u64(uint8_t *at, unsigned field, uint64_t value)
{
    return store_varint(pb_tag(at, field, PB_VARINT), value);
}

static inline uint8_t *pb_fixed64(uint8_t *at, unsigned field, uint64_t value)
{
    at = pb_tag(at, field, PB_FIXED64);
    store_le64(at, value);
    return at + sizeof value;
}

/* What stands before a message, text or bytes of known length. */
static inline uint8_t *pb_head(uint8_t *at, unsigned field, size_t bytes)
{
    return store_varint(pb_tag(at, field, PB_BYTES), bytes);
}

static inline uint8_t *pb_bytes(uint8_t *at, unsigned field, const void *data, size_t bytes)
{
    at = pb_head(at, field, bytes);
    if (bytes)
        memcpy(at, data, bytes);
    return at + bytes;
}

static inline uint8_t *pb_text(uint8_t *at, unsigned field, const char *text)
{
    return pb_bytes(at, field, text, strlen(text));
}

/* Begins a message; what is returned is its inside and goes to pb_close. */
static inline uint8_t *pb_open(uint8_t *at, unsigned field)
{
    return pb_tag(at, field, PB_BYTES) + 3;
}
/* A varint may have more bytes than it needs. */
static inline uint8_t *pb_close(uint8_t *inside, uint8_t *end)
{
    size_t bytes = (size_t)(end - inside);
    inside[-3] = (uint8_t)(bytes | 0x80);
    inside[-2] = (uint8_t)(bytes >> 7 | 0x80);
    inside[-1] = (uint8_t)(bytes >> 14);
    return end;
}

/* ---- packet file ----------------------------------------------------------------------------- */

#define PACKET_CHUNK_BYTES (320u << 10) /* viewers take less than 512 KiB at once */
#define PACKET_BYTES_MAX (224u << 10)   /* a name has at most 64 KiB, thrice that if no text */

struct packet_chunk;

/* A stream of packets. */
struct packets {
    struct packet_file *file;
    struct packet_chunk *chunk;    /* being filled */
    uint8_t *start, *next, *limit; /* of it */
    uint32_t *mark;                /* the next one, see packet_mark */
};

struct packet_file {
    struct out *out;
    struct ordered_jobs *jobs;
    struct packets packets, last;
    int last_fd; /* of what packets of last are written; -1 none yet */
    bool deflate, failed;
};

/* False when out of memory. */
bool packet_file_start(struct packet_file *file, struct out *out, struct job_threads *threads,
                       bool deflate);
/* Writes all that was put, last ones last. False, with the message given, when packets are
 * missing; a failure of the output is its owner's to report. */
bool packet_file_finish(struct packet_file *file);

/* Makes room; see packet_room. */
void packet_flush(struct packets *packets);

/* Where a packet of at most bytes may be written; PACKET_BYTES_MAX at most. */
static inline uint8_t *packet_room(struct packets *packets, size_t bytes)
{
    if ((size_t)(packets->limit - packets->next) < bytes)
        packet_flush(packets);
    return packets->next;
}

/* Says that repetitions may begin at this place of the packet being written: in ascending order,
 * at most two a packet, which then has at least PACKET_MARKED_BYTES_MIN bytes. */
#define PACKET_MARKED_BYTES_MIN 8
static inline void packet_mark(struct packets *packets, const uint8_t *at)
{
    *packets->mark++ = (uint32_t)(at - packets->start);
}

/* The packet ends here. */
static inline void packet_put(struct packets *packets, uint8_t *end)
{
    packets->next = end;
}

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

/* Which names a sequence has: sequence << 32 | name. */
struct interned_names {
    uint64_t *keys;
    struct index_map places;
    uint32_t count, room;
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
    struct interned_names interned;
    struct kept_facts facts;
    struct dropped dropped;
    bool last_started;
};

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
void perfetto_intern_name(struct perfetto *perfetto, const struct lane_state *lane, uint32_t name);

/* ---- spans with more than a name ---------------------------------------------------- */

/* Bytes that perfetto_put_details takes for texts. */
size_t perfetto_detail_bytes(const struct perfetto *perfetto, const struct trace_detail *detail);
/* Fields of a track event. */
uint8_t *perfetto_put_number(uint8_t *at, const char *key, enum pf_annotation kind, uint64_t value);
uint8_t *perfetto_put_details(struct perfetto *perfetto, uint8_t *at, const struct trace_span *span,
                              const struct trace_detail *detail);

/* ---- what is written last, of the sink ---------------------------------------------- */

void perfetto_take_link(void *context, const struct trace_link *link);
void perfetto_take_loss(void *context, const struct trace_loss *loss);
void perfetto_take_fact(void *context, const char *key, struct trace_text value);
void perfetto_write_facts(struct perfetto *perfetto);

#endif /* PERFETTO_TRACE_H */
