/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perfetto's own traces as a source of a trace: track events of Chromium,
 * Perfetto's SDK, and our own exports. What the kernel and other data sources
 * put into such a trace is only counted.
 *
 * The packets are read twice: tracks and clocks may come behind the events
 * that need them.
 */
#include "message.h"
#include "perfetto_proto.h"
#include "perfetto_spans.h"
#include "unpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the packets of a Perfetto trace, also those that are packed in others ------------------- */
/*
 * A file is packets behind each other, plain or gzip; a cut one gives what is
 * whole. Memory is one packet of at most PERFETTO_PACKET_MAX bytes and what it
 * unpacks to; larger ones are skipped and counted.
 *
 * What a packet unpacks to is given out piece by piece before the next one is read.
 */

#define PERFETTO_PACKET_MAX (16u << 20)

struct perfetto_packets {
    struct unpack bytes;
    uint8_t *packet, *inflated;
    uint32_t packet_room, inflated_room;
    struct wire_message packed; /* the rest of a packet of packets */
    uint64_t too_large;         /* packets */
    uint64_t broken;            /* whose packed data are damaged or packed in another way */
    bool failed;                /* out of memory */
    char problem[128];          /* why it ended too early; empty: it did not */
};

enum { PACKET_TAG = PF_TRACE_PACKET << 3 | WIRE_BYTES, FIELD_MAX = 4000 };

/* ---- what it is ------------------------------------------------------------------ */

/* Fields of packets as programs write them; of a message that is cut, as far as it goes. */
static bool is_packet(struct wire_message message, bool cut)
{
    struct wire_field field;
    uint32_t fields = 0;
    while (wire_next(&message, &field)) {
        if (field.number > FIELD_MAX)
            return false;
        fields++;
    }
    return cut ? fields > 0 || message.bad : fields > 0 && !message.bad;
}

/*
 * Whether these are the first bytes of such a trace. A line feed is a packet's tag, too, so the
 * first packet is looked into, and what follows it.
 */
static bool perfetto_packets_recognise(const uint8_t *head, size_t bytes)
{
    struct wire_message file = {.at = head, .end = head + bytes};
    uint64_t count;
    if (bytes < 4 || *file.at++ != PACKET_TAG || !wire_varint(&file, &count) || count == 0 ||
        count > PERFETTO_PACKET_MAX)
        return false;
    size_t left = (size_t)(file.end - file.at);
    if (count > left)
        return left > 0 && is_packet(file, true);
    struct wire_message first = {.at = file.at, .end = file.at + count};
    return is_packet(first, false) && (count == left || file.at[count] == PACKET_TAG);
}

/* ---- reading --------------------------------------------------------------------- */

/* False when out of memory; perfetto_packets_stop only after true. */
static bool perfetto_packets_start(struct perfetto_packets *packets, int fd)
{
    *packets = (struct perfetto_packets){0};
    return unpack_start(&packets->bytes, fd);
}

static bool perfetto_wrong(struct perfetto_packets *packets, const char *what)
{
    snprintf(packets->problem, sizeof packets->problem, "%s at byte %" PRIu64,
             packets->bytes.problem ? packets->bytes.problem : what,
             unpack_offset(&packets->bytes));
    return false;
}

static bool perfetto_make_room(struct perfetto_packets *packets, uint8_t **bytes, uint32_t *room,
                               uint32_t count)
{
    if (grow_zeroed32(bytes, room, count, 1))
        return true;
    packets->failed = true;
    return false;
}

/* Of a packet that comes next; false at the end. */
static bool perfetto_read_head(struct perfetto_packets *packets, uint64_t *count_out)
{
    int byte = unpack_byte(&packets->bytes);
    *count_out = 0;
    if (byte < 0)
        return packets->bytes.problem && perfetto_wrong(packets, "");
    if (byte != PACKET_TAG)
        return perfetto_wrong(packets, "something that is no packet");
    for (unsigned shift = 0; shift < 64; shift += 7) {
        byte = unpack_byte(&packets->bytes);
        if (byte < 0)
            return perfetto_wrong(packets, "cut inside a packet");
        *count_out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return perfetto_wrong(packets, "something that is no packet");
}

/* In pieces, so that a length which lies costs no memory. */
static bool read_packet(struct perfetto_packets *packets, uint32_t count)
{
    enum { PIECE = 1 << 20 };
    for (uint32_t done = 0; done < count;) {
        uint32_t piece = count - done < PIECE ? count - done : PIECE;
        if (!perfetto_make_room(packets, &packets->packet, &packets->packet_room, done + piece))
            return false;
        if (!unpack_bytes(&packets->bytes, packets->packet + done, piece))
            return perfetto_wrong(packets, "cut inside a packet");
        done += piece;
    }
    return true;
}

/* ---- packets of packets ---------------------------------------------------------- */

/* The rest of it, or as much as may be. */
static bool inflate_all(struct perfetto_packets *packets, z_stream *stream, uint32_t *count_out)
{
    int rc = Z_OK;
    while (rc == Z_OK && *count_out < PERFETTO_PACKET_MAX) {
        uint32_t room = *count_out ? *count_out * 2 : 256 << 10;
        if (!perfetto_make_room(packets, &packets->inflated, &packets->inflated_room, room))
            return false;
        stream->next_out = packets->inflated + *count_out;
        stream->avail_out = packets->inflated_room - *count_out;
        rc = inflate(stream, Z_NO_FLUSH);
        *count_out = packets->inflated_room - stream->avail_out;
        if (rc == Z_BUF_ERROR && stream->avail_out == 0)
            rc = Z_OK;
    }
    packets->failed = packets->failed || rc == Z_MEM_ERROR;
    return rc == Z_STREAM_END;
}

static void inflate_packets(struct perfetto_packets *packets, const struct wire_field *field)
{
    z_stream stream = {.next_in = (z_const Bytef *)(uintptr_t)field->bytes,
                       .avail_in = (uInt)field->count};
    uint32_t count = 0;
    if (inflateInit(&stream) != Z_OK) {
        packets->failed = true;
        return;
    }
    if (!inflate_all(packets, &stream, &count))
        packets->broken++;
    inflateEnd(&stream);
    packets->packed = (struct wire_message){.at = packets->inflated, .end = packets->inflated};
    if (count)
        packets->packed.end += count;
}

/* True when the packet is packets. */
static bool take_packed(struct perfetto_packets *packets, struct wire_message packet)
{
    struct wire_field field;
    while (wire_next(&packet, &field)) {
        if (field.number == PF_PACKET_ZSTD_PACKETS)
            packets->broken++;
        else if (field.number == PF_PACKET_COMPRESSED_PACKETS && field.shape == WIRE_BYTES)
            inflate_packets(packets, &field);
        else
            continue;
        return true;
    }
    return false;
}

static bool next_packed(struct perfetto_packets *packets, struct wire_message *packet_out)
{
    struct wire_field field;
    while (wire_next(&packets->packed, &field)) {
        if (field.number != PF_TRACE_PACKET || field.shape != WIRE_BYTES)
            continue;
        *packet_out = wire_inside(&field);
        return true;
    }
    packets->broken += packets->packed.bad;
    packets->packed = (struct wire_message){0};
    return false;
}

/* The next one, valid until the one after it; false at the end. */
static bool perfetto_packets_next(struct perfetto_packets *packets, struct wire_message *packet_out)
{
    uint64_t count;
    for (;;) {
        if (next_packed(packets, packet_out))
            return true;
        if (packets->failed || !perfetto_read_head(packets, &count))
            return false;
        if (count > PERFETTO_PACKET_MAX) {
            packets->too_large++;
            if (!unpack_skip(&packets->bytes, count))
                return perfetto_wrong(packets, "cut inside a packet");
            continue;
        }
        if (count == 0)
            continue;
        if (!read_packet(packets, (uint32_t)count))
            return false;
        *packet_out = (struct wire_message){.at = packets->packet, .end = packets->packet};
        packet_out->end += count;
        if (!take_packed(packets, *packet_out))
            return true;
    }
}

/* ---- trace perfetto -------------------------------------------------------------------------- */

enum { KINDS_MAX = 24 };

struct kind_count {
    uint32_t field;
    uint64_t count;
};

struct perfetto_source {
    struct perfetto_state state;
    struct perfetto_clocks clocks;
    struct perfetto_tracks tracks;
    bool ours;
    bool full;                      /* something found no room, or memory, in either reading */
    int64_t first_ns, last_ns;      /* by the trace's clock; first > last: no event */
    int64_t zero_time_ns, shift_ns; /* of our own exports: of the first process */
    struct made_of made_of;
    struct kind_count dropped[KINDS_MAX]; /* packets, by their field */
    uint32_t kinds;
    uint64_t other_kinds, no_times, no_state, bad;
};

static enum exit_code close_perfetto(struct trace_source *opened)
{
    struct perfetto_source *source = opened->state;
    perfetto_state_free(&source->state);
    perfetto_clocks_free(&source->clocks);
    perfetto_tracks_free(&source->tracks);
    free(source);
    return EXIT_GOOD;
}

/* ---- packets ---------------------------------------------------------------------- */

typedef void event_fn(void *context, const struct perfetto_packet *packet,
                      const struct perfetto_event *event, int64_t time_ns);

static void take_event(struct perfetto_source *source, const struct perfetto_packet *packet,
                       struct wire_message message, event_fn *take, void *context)
{
    struct perfetto_event event;
    int64_t time_ns;
    if (!packet->has_time || !perfetto_clocks_time(&source->clocks, packet->sequence->clocks,
                                                   packet->clock, packet->time, &time_ns)) {
        source->no_times++;
        return;
    }
    perfetto_event_read(&source->state, packet, message, &event);
    source->bad += message.bad;
    take(context, packet, &event, time_ns);
}

/* What carries no data of its own: the trace's own business. */
static bool is_about_trace(uint32_t field)
{
    static const uint8_t fields[] = {PF_PACKET_TIMESTAMP,
                                     PF_PACKET_SEQUENCE,
                                     PF_PACKET_INTERNED_DATA,
                                     PF_PACKET_SEQUENCE_FLAGS,
                                     PF_PACKET_PREVIOUS_DROPPED,
                                     PF_PACKET_TIMESTAMP_CLOCK,
                                     PF_PACKET_DEFAULTS,
                                     PF_PACKET_FIRST_ON_SEQUENCE,
                                     PF_PACKET_MACHINE,
                                     3,  /* uid that is trusted */
                                     33, /* configuration */
                                     35, /* statistics */
                                     36, /* synchronization marker */
                                     41, /* incremental state cleared, of old */
                                     45, /* system */
                                     69, /* service event */
                                     79, /* pid that is trusted */
                                     89 /* uuid */};
    return field < 256 && memchr(fields, (int)field, sizeof fields);
}

static void count_kind(struct perfetto_source *source, uint32_t field)
{
    uint32_t i = 0;
    if (is_about_trace(field))
        return;
    while (i < source->kinds && source->dropped[i].field != field)
        i++;
    if (i == KINDS_MAX) {
        source->other_kinds++;
        return;
    }
    if (i == source->kinds)
        source->dropped[source->kinds++] = (struct kind_count){.field = field};
    source->dropped[i].count++;
}

/* noting: tracks are taken; else kinds are counted. */
static void take_packet(struct perfetto_source *source, struct wire_message message, event_fn *take,
                        void *context, bool noting)
{
    struct perfetto_packet packet;
    struct wire_field field;
    if (!perfetto_state_take(&source->state, message, &packet)) {
        source->no_state++;
        return;
    }
    while (wire_next(&message, &field)) {
        if (field.number == PF_PACKET_CLOCK_SNAPSHOT)
            perfetto_clocks_snapshot(&source->clocks, packet.sequence->clocks, wire_inside(&field));
        else if (field.number == PF_PACKET_TRACK_EVENT)
            take_event(source, &packet, wire_inside(&field), take, context);
        else if (field.number != PF_PACKET_TRACK_DESCRIPTOR)
            count_kind(source, field.number);
        else if (noting)
            perfetto_tracks_describe(&source->tracks, packet.machine, wire_inside(&field));
    }
    source->bad += message.bad;
}

/* False without memory, with the message given. */
static bool read_packets(struct perfetto_source *source, const struct trace_source *opened,
                         event_fn *take, void *context, const struct trace *trace, char *problem,
                         size_t room)
{
    struct perfetto_packets packets;
    struct wire_message packet;
    if (!perfetto_packets_start(&packets, opened->fd))
        return message_fail("out of memory");
    source->kinds = 0;
    source->other_kinds = source->no_times = source->no_state = source->bad = 0;
    while (!source->tracks.full && !source->state.full && !source->clocks.failed &&
           (!trace || !trace_is_full(trace)) && perfetto_packets_next(&packets, &packet))
        take_packet(source, packet, take, context, !trace);
    source->bad += packets.broken + packets.too_large;
    source->full |= packets.failed || source->tracks.full || source->state.full ||
                    source->clocks.failed || source->tracks.texts.full || source->state.names.full;
    snprintf(problem, room, "%s", packets.problem);
    unpack_stop(&packets.bytes);
    free(packets.packet);
    free(packets.inflated);
    return true;
}

/* ---- opening: tracks, clocks, facts ------------------------------------------------- */

static void note_fact(struct perfetto_source *source, const struct perfetto_event *event)
{
    made_of_note(&source->made_of, event->name);
    char copy[32];
    struct trace_text text = perfetto_event_text(event);
    snprintf(copy, sizeof copy, "%.*s", (int)text.bytes, text.text);
    if (trace_text_is(event->name, "rbwp.version"))
        source->ours = true;
    else if (trace_text_is(event->name, "process.0.zero_time_ns"))
        source->zero_time_ns = strtoll(copy, NULL, 10);
    else if (trace_text_is(event->name, "process.0.shift_ns"))
        source->shift_ns = strtoll(copy, NULL, 10);
}

static void note_event(void *context, const struct perfetto_packet *packet,
                       const struct perfetto_event *event, int64_t time_ns)
{
    struct perfetto_source *source = context;
    (void)packet;
    if (event->type == PF_INSTANT && perfetto_event_is(event, "fact")) {
        note_fact(source, event);
        return;
    }
    (void)perfetto_tracks_find(&source->tracks, event->track);
    source->first_ns = time_ns < source->first_ns ? time_ns : source->first_ns;
    source->last_ns = time_ns > source->last_ns ? time_ns : source->last_ns;
}

static void finish_facts(struct perfetto_source *source, struct trace_facts *facts)
{
    bool timed = source->first_ns <= source->last_ns;
    perfetto_clocks_facts(&source->clocks, timed, source->first_ns, source->last_ns, facts);
    if (source->ours && source->zero_time_ns &&
        __builtin_add_overflow(source->zero_time_ns, source->shift_ns, &facts->run_zero_ns))
        facts->run_zero_ns = 0;
    facts->made_of = source->made_of;
    facts->made_of.count *= source->ours;
    if (source->ours)
        facts->has_realtime = false; /* it is the axis that says so */
}

static bool open_perfetto(struct trace_source *opened)
{
    char problem[160];
    struct perfetto_source *source = calloc(1, sizeof *source);
    if (!source)
        return message_fail("out of memory");
    opened->state = source;
    source->first_ns = INT64_MAX;
    source->last_ns = INT64_MIN;
    perfetto_clocks_start(&source->clocks);
    if (!read_packets(source, opened, note_event, source, NULL, problem, sizeof problem)) {
        (void)close_perfetto(opened);
        return false;
    }
    /* Sequences start anew when the packets are read again; clocks and tracks are known. */
    perfetto_state_free(&source->state);
    source->state = (struct perfetto_state){0};
    source->clocks.fixed = true;
    perfetto_tracks_join(&source->tracks, source->ours);
    finish_facts(source, &opened->facts);
    return true;
}

/* ---- reading ---------------------------------------------------------------------- */

/* "3 ftrace, 7 of field 77". */
static void perfetto_report_dropped(const struct perfetto_source *source, const char *name)
{
    static const struct {
        uint32_t field;
        const char *what;
    } known[] = {{1, "ftrace"},           {2, "process trees"},      {9, "process statistics"},
                 {34, "old events"},      {37, "profiles"},          {38, "battery"},
                 {43, "old processes"},   {44, "old threads"},       {52, "GPU counters"},
                 {53, "GPU stages"},      {54, "profiled samples"},  {66, "sampled stacks"},
                 {100, "surface layers"}, {107, "clocks of others"}, {7, "system statistics"}};
    char list[1024] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < source->kinds && used < sizeof list - 64; i++) {
        const struct kind_count *kind = &source->dropped[i];
        const char *what = NULL;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
            what = known[k].field == kind->field ? known[k].what : what;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu64 " ",
                                 used ? ", " : "", kind->count);
        used += what ? (size_t)snprintf(list + used, sizeof list - used, "%s", what)
                     : (size_t)snprintf(list + used, sizeof list - used, "of field %" PRIu32,
                                        kind->field);
    }
    if (used)
        message("%s: packets dropped, by kind: %s%s", name, list,
                source->other_kinds ? ", and others" : "");
}

static bool perfetto_report_problems(const struct perfetto_source *source, const char *name,
                                     const char *problem)
{
    bool whole = !*problem && !source->full;
    whole &=
        message_count(name, source->no_times, "events have no time that a clock tells; dropped");
    whole &=
        message_count(name, source->no_state, "packets rely on others that are missing; dropped");
    whole &= message_count(name, source->bad,
                           "packets are damaged, too large or packed in an unknown way");
    if (*problem)
        message("%s: %s; what follows cannot be read", name, problem);
    if (source->full)
        message("%s: too many tracks, sequences or names, or out of memory; some are missing",
                name);
    perfetto_report_dropped(source, name);
    return whole;
}

static void perfetto_add_facts(const struct perfetto_source *source, struct trace *trace,
                               const struct trace_source *opened,
                               const struct trace_read_options *options)
{
    const struct perfetto_tracks *tracks = &source->tracks;
    made_of_add_facts(trace, &opened->facts.made_of, opened->name);
    for (uint32_t i = 0; i < tracks->process_map.count && i < tracks->process_room; i++) {
        if (!tracks->processes[i].number)
            continue;
        uint32_t number = tracks->processes[i].number - 1;
        trace_add_process_fact(trace, number, "file", "%s", opened->name);
        trace_add_process_fact(trace, number, "format", "%sPerfetto",
                               source->ours ? "RBWP's " : "");
        trace_add_process_fact(trace, number, "shift_ns", "%" PRId64, options->axis.shift_ns);
        trace_add_process_fact(trace, number, "zero_time_ns", "%" PRId64,
                               opened->facts.run_zero_ns);
    }
}

static void pass_event(void *context, const struct perfetto_packet *packet,
                       const struct perfetto_event *event, int64_t time_ns)
{
    perfetto_spans_take(context, packet, event, time_ns);
}

static enum exit_code read_perfetto(struct trace_source *opened, struct trace *trace,
                                    const struct trace_read_options *options)
{
    struct perfetto_source *source = opened->state;
    char problem[160];
    struct perfetto_spans *spans =
        perfetto_spans_start(&source->tracks, &source->state, opened, trace, options);
    if (!spans)
        return message_bad_data("out of memory");
    spans->ours = source->ours;
    bool whole = read_packets(source, opened, pass_event, spans, trace, problem, sizeof problem);
    whole = whole && perfetto_report_problems(source, opened->name, problem);
    whole = perfetto_spans_finish(spans) && whole;
    perfetto_add_facts(source, trace, opened, options);
    perfetto_spans_free(spans);
    return whole ? EXIT_GOOD : EXIT_PARTIAL;
}

const struct trace_format trace_format_perfetto = {
    .name = "Perfetto",
    .files = "Perfetto traces",
    .recognises = perfetto_packets_recognise,
    .open = open_perfetto,
    .read = read_perfetto,
    .close = close_perfetto,
};
