/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every member is told in ZIP64's way, however small it is: so there is one way, which every file
 * takes. Its header is filled with an extra field up to the next multiple of 64; NumPy's own
 * header, which comes next, is a multiple of 64 by itself.
 */
#include "npz_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <zlib.h>

enum {
    ALIGNMENT = 64,
    PIECE_BYTES = 256 << 10,
    NPY_HEADER_BYTES = 128,
    VERSION_ZIP64 = 45,
    DATE_1980 = 0x21, /* January 1st, the first that ZIP knows: files are the same each time */
    LOCAL_BYTES = 30,
    LOCAL_EXTRA_BYTES = 20, /* both sizes */
    FILLER_BYTES = 4,       /* of the extra field that fills up, at least */
    FILLER = 0xd935,        /* its kind, as other programs that align members have it */
    CENTRAL_BYTES = 46,
    CENTRAL_EXTRA_BYTES = 28 /* both sizes and the offset */
};

/* A header that is put together: little endian, as all of ZIP. */
struct header {
    uint8_t bytes[2 * ALIGNMENT + LOCAL_BYTES + NPZ_NAME_BYTES + CENTRAL_EXTRA_BYTES];
    size_t count;
};
static void put(struct header *header, uint64_t value, size_t bytes)
{
    for (; bytes; bytes--, value >>= 8)
        header->bytes[header->count++] = (uint8_t)value;
}
static void put_name(struct header *header, const struct npz_member *member)
{
    int count = snprintf((char *)header->bytes + header->count,
                         sizeof header->bytes - header->count, "%s.npy", member->name);
    header->count += (size_t)count;
}

void npz_start(struct npz *npz)
{
    npz->spool = SPOOL_EMPTY;
    npz->spool.piece_bytes = PIECE_BYTES;
    npz->count = 0;
}

void npz_free(struct npz *npz)
{
    spool_free(&npz->spool);
}

uint32_t npz_add(struct npz *npz, const char *name, const char *suffix, const char *type,
                 size_t item_bytes)
{
    struct npz_member *member = &npz->members[npz->count];
    *member = (struct npz_member){.type = type, .item_bytes = item_bytes};
    snprintf(member->name, sizeof member->name, "%s%s", name, suffix);
    (void)spool_add_stream(&npz->spool); /* of the same number; a failure is remembered */
    return npz->count++;
}

void npz_put(struct npz *npz, uint32_t number, const void *bytes, size_t count)
{
    struct npz_member *member = &npz->members[number];
    const uint8_t *from = bytes;
    while (count) {
        size_t some = count < PIECE_BYTES ? count : PIECE_BYTES;
        char *room = spool_room(&npz->spool, number, some);
        if (!room)
            return;
        memcpy(room, from, some);
        spool_end(&npz->spool, number, room + some);
        member->crc32 = (uint32_t)crc32(member->crc32, from, (uInt)some);
        member->bytes += some;
        from += some;
        count -= some;
    }
}

void npz_pad(struct npz *npz, uint32_t member, uint8_t byte, uint64_t count)
{
    uint8_t block[4096];
    memset(block, byte, sizeof block);
    for (uint64_t some; count && !npz_failed(npz); count -= some) {
        some = count < sizeof block ? count : sizeof block;
        npz_put(npz, member, block, (size_t)some);
    }
}

/* ---- the archive ---------------------------------------------------------------------- */

/* What NumPy wants before the items. */
static void make_npy_header(const struct npz_member *member, char header[NPY_HEADER_BYTES])
{
    static const char magic[] = "\x93NUMPY\x01";
    memset(header, ' ', NPY_HEADER_BYTES);
    memcpy(header, magic, sizeof magic); /* and a zero, the minor version */
    header[8] = (char)(NPY_HEADER_BYTES - 10);
    header[9] = 0;
    int count = snprintf(header + 10, NPY_HEADER_BYTES - 10,
                         "{'descr': '%s', 'fortran_order': False, 'shape': (%" PRIu64 ",), }",
                         member->type, member->bytes / member->item_bytes);
    header[10 + count] = ' ';
    header[NPY_HEADER_BYTES - 1] = '\n';
}

/* What both headers have in common, from the version that is needed on. */
static void put_facts(struct header *header, const struct npz_member *member, size_t extra_bytes)
{
    put(header, VERSION_ZIP64, 2);
    put(header, 0, 2); /* flags */
    put(header, 0, 2); /* stored */
    put(header, 0, 2); /* time */
    put(header, DATE_1980, 2);
    put(header, member->crc32, 4);
    put(header, UINT32_MAX, 4); /* sizes: see the extra field */
    put(header, UINT32_MAX, 4);
    put(header, strlen(member->name) + strlen(".npy"), 2);
    put(header, extra_bytes, 2);
}

static void put_sizes(struct header *header, const struct npz_member *member, size_t more_bytes)
{
    put(header, 1, 2); /* ZIP64 */
    put(header, 16 + more_bytes, 2);
    put(header, member->bytes + NPY_HEADER_BYTES, 8);
    put(header, member->bytes + NPY_HEADER_BYTES, 8);
}

static void put_local_header(struct header *header, const struct npz_member *member)
{
    size_t bytes = LOCAL_BYTES + strlen(member->name) + strlen(".npy") + LOCAL_EXTRA_BYTES;
    size_t fill = (size_t) - (member->offset + bytes + FILLER_BYTES) % ALIGNMENT;
    put(header, 0x04034b50, 4);
    put_facts(header, member, LOCAL_EXTRA_BYTES + FILLER_BYTES + fill);
    put_name(header, member);
    put_sizes(header, member, 0);
    put(header, FILLER, 2);
    put(header, fill, 2);
    while (fill--)
        put(header, 0, 1);
}

static void put_central_header(struct header *header, const struct npz_member *member)
{
    put(header, 0x02014b50, 4);
    put(header, VERSION_ZIP64, 2); /* made by */
    put_facts(header, member, CENTRAL_EXTRA_BYTES);
    put(header, 0, 2 + 2 + 2 + 4); /* comment, disk, attributes */
    put(header, UINT32_MAX, 4);    /* offset */
    put_name(header, member);
    put_sizes(header, member, 8);
    put(header, member->offset, 8);
}

static void put_end(struct header *header, uint64_t members, uint64_t offset, uint64_t bytes)
{
    put(header, 0x06064b50, 4);
    put(header, 44, 8); /* what follows of it */
    put(header, VERSION_ZIP64, 2);
    put(header, VERSION_ZIP64, 2);
    put(header, 0, 4 + 4); /* disks */
    put(header, members, 8);
    put(header, members, 8);
    put(header, bytes, 8);
    put(header, offset, 8);
    put(header, 0x07064b50, 4); /* where that is */
    put(header, 0, 4);
    put(header, offset + bytes, 8);
    put(header, 1, 4);
    put(header, 0x06054b50, 4); /* the end of old, which refers to the above */
    put(header, 0, 2 + 2);
    put(header, UINT16_MAX, 2);
    put(header, UINT16_MAX, 2);
    put(header, UINT32_MAX, 4);
    put(header, UINT32_MAX, 4);
    put(header, 0, 2);
}

static uint64_t write_header(struct out *out, const struct header *header)
{
    out_bytes(out, (const char *)header->bytes, header->count);
    return header->count;
}

/* Its bytes in the file. */
static uint64_t write_member(struct npz *npz, uint32_t number, struct out *out)
{
    struct npz_member *member = &npz->members[number];
    char npy[NPY_HEADER_BYTES];
    make_npy_header(member, npy);
    uint32_t crc = (uint32_t)crc32(0, (const Bytef *)npy, sizeof npy);
    member->crc32 = (uint32_t)crc32_combine(crc, member->crc32, (z_off_t)member->bytes);
    struct header header = {.count = 0};
    put_local_header(&header, member);
    uint64_t bytes = write_header(out, &header);
    out_bytes(out, npy, sizeof npy);
    spool_copy(&npz->spool, number, out);
    return bytes + sizeof npy + member->bytes;
}

void npz_write(struct npz *npz, struct out *out)
{
    uint64_t at = 0, members = 0, central = 0;
    for (uint32_t i = 0; i < npz->count; i++)
        if (!npz->members[i].absent) {
            npz->members[i].offset = at;
            at += write_member(npz, i, out);
            members++;
        }
    for (uint32_t i = 0; i < npz->count; i++)
        if (!npz->members[i].absent) {
            struct header header = {.count = 0};
            put_central_header(&header, &npz->members[i]);
            central += write_header(out, &header);
        }
    struct header end = {.count = 0};
    put_end(&end, members, at, central);
    (void)write_header(out, &end);
}
