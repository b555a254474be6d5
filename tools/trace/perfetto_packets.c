/* SPDX-License-Identifier: Apache-2.0 */
/* What a packet unpacks to is given out piece by piece before the next one is read. */
#include "perfetto_packets.h"
#include "perfetto_proto.h"
#include "thread_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

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

/* A line feed is a packet's tag, too, so the first packet is looked into, and what follows it. */
bool perfetto_packets_recognise(const uint8_t *head, size_t bytes)
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

bool perfetto_packets_start(struct perfetto_packets *packets, int fd)
{
    *packets = (struct perfetto_packets){0};
    return unpack_start(&packets->bytes, fd);
}

void perfetto_packets_stop(struct perfetto_packets *packets)
{
    unpack_stop(&packets->bytes);
    free(packets->packet);
    free(packets->inflated);
}

static bool wrong(struct perfetto_packets *packets, const char *what)
{
    snprintf(packets->problem, sizeof packets->problem, "%s at byte %" PRIu64,
             packets->bytes.problem ? packets->bytes.problem : what,
             unpack_offset(&packets->bytes));
    return false;
}

static bool make_room(struct perfetto_packets *packets, uint8_t **bytes, uint32_t *room,
                      uint32_t count)
{
    if (thread_array_grow(bytes, room, count, 1))
        return true;
    packets->failed = true;
    return false;
}

/* Of a packet that comes next; false at the end. */
static bool read_head(struct perfetto_packets *packets, uint64_t *count_out)
{
    int byte = unpack_byte(&packets->bytes);
    *count_out = 0;
    if (byte < 0)
        return packets->bytes.problem && wrong(packets, "");
    if (byte != PACKET_TAG)
        return wrong(packets, "something that is no packet");
    for (unsigned shift = 0; shift < 64; shift += 7) {
        byte = unpack_byte(&packets->bytes);
        if (byte < 0)
            return wrong(packets, "cut inside a packet");
        *count_out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return wrong(packets, "something that is no packet");
}

/* In pieces, so that a length which lies costs no memory. */
static bool read_packet(struct perfetto_packets *packets, uint32_t count)
{
    enum { PIECE = 1 << 20 };
    for (uint32_t done = 0; done < count;) {
        uint32_t piece = count - done < PIECE ? count - done : PIECE;
        if (!make_room(packets, &packets->packet, &packets->packet_room, done + piece))
            return false;
        if (!unpack_bytes(&packets->bytes, packets->packet + done, piece))
            return wrong(packets, "cut inside a packet");
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
        if (!make_room(packets, &packets->inflated, &packets->inflated_room, room))
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

bool perfetto_packets_next(struct perfetto_packets *packets, struct wire_message *packet_out)
{
    uint64_t count;
    for (;;) {
        if (next_packed(packets, packet_out))
            return true;
        if (packets->failed || !read_head(packets, &count))
            return false;
        if (count > PERFETTO_PACKET_MAX) {
            packets->too_large++;
            if (!unpack_skip(&packets->bytes, count))
                return wrong(packets, "cut inside a packet");
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
