/* SPDX-License-Identifier: Apache-2.0 */
/* Plain or gzip, distinguished by the first two bytes. */
#include "unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { IN_BYTES = 64 << 10, OUT_BYTES = 256 << 10 };

/* What the file has next; 0 at its end or when it cannot be read. */
static size_t read_file(struct unpack *unpack, uint8_t *to, size_t room)
{
    for (;;) {
        ssize_t got = pread(unpack->fd, to, room, (off_t)unpack->file_at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            unpack->problem = strerror(errno);
        unpack->file_at += got > 0 ? (uint64_t)got : 0;
        return got > 0 ? (size_t)got : 0;
    }
}

bool unpack_start(struct unpack *unpack, int fd)
{
    *unpack = (struct unpack){.fd = fd};
    unpack->in = malloc(IN_BYTES);
    unpack->out = malloc(OUT_BYTES);
    if (!unpack->in || !unpack->out) {
        unpack_stop(unpack);
        return false;
    }
    size_t bytes = read_file(unpack, unpack->in, IN_BYTES);
    unpack->packed = bytes >= 2 && unpack->in[0] == 0x1f && unpack->in[1] == 0x8b;
    unpack->stream.next_in = unpack->in;
    unpack->stream.avail_in = (uInt)bytes;
    if (!unpack->packed || inflateInit2(&unpack->stream, 15 + 16) == Z_OK)
        return true;
    unpack->packed = false;
    unpack_stop(unpack);
    return false;
}

void unpack_stop(struct unpack *unpack)
{
    if (unpack->packed)
        inflateEnd(&unpack->stream);
    free(unpack->in);
    free(unpack->out);
    unpack->in = unpack->out = NULL;
}

static bool refill_in(struct unpack *unpack)
{
    if (unpack->stream.avail_in > 0)
        return true;
    unpack->stream.next_in = unpack->in;
    unpack->stream.avail_in = (uInt)read_file(unpack, unpack->in, IN_BYTES);
    return unpack->stream.avail_in > 0;
}

/* At the end of a member: whether another one begins. */
static bool next_member(struct unpack *unpack)
{
    if (!refill_in(unpack))
        return false;
    if (unpack->stream.next_in[0] != 0x1f) {
        unpack->problem = "bytes that are not gzip follow the compressed data";
        return false;
    }
    return inflateReset(&unpack->stream) == Z_OK;
}

static void inflate_more(struct unpack *unpack)
{
    z_stream *stream = &unpack->stream;
    stream->next_out = unpack->out;
    stream->avail_out = OUT_BYTES;
    while (!unpack->ended && stream->avail_out > 0) {
        if (!refill_in(unpack)) {
            if (!unpack->problem)
                unpack->problem = "the compressed data are cut";
            unpack->ended = true;
            break;
        }
        int rc = inflate(stream, Z_NO_FLUSH);
        if (rc == Z_STREAM_END) {
            unpack->ended = !next_member(unpack);
        } else if (rc != Z_OK && rc != Z_BUF_ERROR) {
            unpack->problem = rc == Z_MEM_ERROR ? "no memory to unpack the compressed data"
                                                : "the compressed data are damaged";
            unpack->ended = true;
        }
    }
    unpack->end = OUT_BYTES - stream->avail_out;
}

/* The bytes that showed whether it is gzip are handed out first. */
static void copy_more(struct unpack *unpack)
{
    size_t head = unpack->stream.avail_in;
    if (head)
        memcpy(unpack->out, unpack->stream.next_in, head);
    unpack->stream.avail_in = 0;
    unpack->end = head ? head : read_file(unpack, unpack->out, OUT_BYTES);
    unpack->ended = unpack->end == 0;
}

bool unpack_fill(struct unpack *unpack)
{
    unpack->next = unpack->end = 0;
    if (unpack->ended)
        return false;
    if (unpack->packed)
        inflate_more(unpack);
    else
        copy_more(unpack);
    unpack->offset += unpack->end;
    return unpack->end > 0;
}

bool unpack_slow(struct unpack *unpack, uint8_t *to, uint64_t count)
{
    while (count > 0) {
        size_t have = unpack->end - unpack->next;
        size_t piece = have < count ? have : (size_t)count;
        if (piece == 0) {
            if (!unpack_fill(unpack))
                return false;
            continue;
        }
        if (to) {
            memcpy(to, unpack->out + unpack->next, piece);
            to += piece;
        }
        unpack->next += piece;
        count -= piece;
    }
    return true;
}
