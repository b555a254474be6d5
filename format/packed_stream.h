/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_stream.h - a column of bytes in a chunk of an archive (SPEC.md, section 16.3): as they
 * are, one byte again and again, or a zlib stream.
 */
#ifndef PACKED_STREAM_H
#define PACKED_STREAM_H

#include "buffer.h"
#include "bytes.h"
#include "deflater.h"
#include "inflater.h"

#include <zlib.h>

enum stream_form { STREAM_STORED = 0, STREAM_RUN = 1, STREAM_ZLIB = 2 };

/* How hard a zlib stream is to look for repetitions. */
enum stream_effort {
    STREAM_NOISE,    /* not at all: there are none */
    STREAM_PATTERNS, /* quickly, where the first bytes have some */
    STREAM_TEXT      /* as well as zlib can */
};

struct stream_packer {
    struct deflater *deflater;
    z_stream zlib; /* its level is each stream's own */
    bool zlib_ready;
    struct buffer scratch;
};
bool stream_packer_begin(struct stream_packer *packer);
void stream_packer_end(struct stream_packer *packer);

/* Appends a stream to out. bytes has DEFLATER_SLACK bytes behind it. No memory: out->failed. */
void stream_pack(struct stream_packer *packer, const uint8_t *bytes, size_t count,
                 enum stream_effort effort, struct buffer *out);

/* Takes the next stream's head. False: it is none, or runs over the end. */
struct stream_view {
    enum stream_form form;
    uint32_t bytes; /* unpacked */
    const uint8_t *packed;
    uint32_t packed_bytes;
};
bool stream_next(struct cursor *cursor, struct stream_view *stream_out);

/* Unpacks to stream->bytes bytes. False: it does not give just those. */
bool stream_unpack(const struct stream_view *stream, struct inflater *inflater, uint8_t *to);

#endif /* PACKED_STREAM_H */
