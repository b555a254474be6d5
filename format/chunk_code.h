/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chunk_code.h - blocks as columns and back: the payload of a chunk of an archive (SPEC.md,
 * section 16.3).
 *
 * What goes in and comes out are bytes of a version-1 file whose blocks are stored as they are: the
 * encoder takes them block by block, the decoder gives them all. A block whose records another
 * writer would not have written in just these bytes is kept as bytes.
 */
#ifndef CHUNK_CODE_H
#define CHUNK_CODE_H

#include "buffer.h"
#include "deflater.h"
#include "inflater.h"
#include "rbwp_reader.h"

#include <stdint.h>
#include <zlib.h>

/* A number as a symbol of one byte and the bits below it (SPEC.md, section 16.4).
 *
 * Small numbers have a symbol of their own; of larger ones the symbol says the highest bit and the
 * three or one behind it, and the rest follow as they are. Noise is in those; what can be foreseen
 * is in the symbols, which an entropy coder takes. */

#define NUMBER_EXACT 64u    /* numbers below have a symbol each */
#define NUMBER_FINE_TOP 18u /* from this highest bit on one bit behind it is stored, not three */
#define NUMBER_COARSE (NUMBER_EXACT + 8 * (NUMBER_FINE_TOP - 6))
#define NUMBER_SYMBOLS (NUMBER_COARSE + 2 * (64 - NUMBER_FINE_TOP))

/* The symbol of a number, and how many of its lowest bits it does not hold. */
static inline unsigned number_symbol(uint64_t number, unsigned *bits_out)
{
    if (number < NUMBER_EXACT) {
        *bits_out = 0;
        return (unsigned)number;
    }
    unsigned top = 63u - (unsigned)__builtin_clzll(number);
    if (top < NUMBER_FINE_TOP) {
        *bits_out = top - 3;
        return NUMBER_EXACT + (top - 6) * 8 + ((unsigned)(number >> (top - 3)) & 7);
    }
    *bits_out = top - 1;
    return NUMBER_COARSE + (top - NUMBER_FINE_TOP) * 2 + ((unsigned)(number >> (top - 1)) & 1);
}

/* The smallest number of a symbol below NUMBER_SYMBOLS, and its bits. */
static inline uint64_t number_base(unsigned symbol, unsigned *bits_out)
{
    if (symbol < NUMBER_EXACT) {
        *bits_out = 0;
        return symbol;
    }
    if (symbol < NUMBER_COARSE) {
        unsigned top = (symbol - NUMBER_EXACT) / 8 + 6;
        *bits_out = top - 3;
        return (uint64_t)(8 | (symbol & 7)) << (top - 3);
    }
    unsigned top = (symbol - NUMBER_COARSE) / 2 + NUMBER_FINE_TOP;
    *bits_out = top - 1;
    return (uint64_t)(2 | (symbol & 1)) << (top - 1);
}

/* A column of bytes in a chunk of an archive (SPEC.md, section 16.3): as they
 * are, one byte again and again, or a zlib stream. */

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

/* The streams of a chunk, in this order. */
enum chunk_stream {
    STREAM_HEADS,                    /* CHUNK_HEAD_BYTES for each block */
    STREAM_BYTES,                    /* data of blocks that are kept as bytes */
    STREAM_KINDS,                    /* five: kinds, by the kind before */
    STREAM_TIMES = STREAM_KINDS + 5, /* five: symbols of time differences, by kind */
    STREAM_BITS = STREAM_TIMES + 5,  /* of all symbols, in the order of the file */
    STREAM_WIDE,                     /* absolute times */
    STREAM_SLOTS,                    /* of COARSE_BEGIN */
    STREAM_SUBS_LOW,                 /* of FINE_BEGIN */
    STREAM_SUBS_HIGH,
    STREAM_GPU_SLOTS,
    STREAM_GPU_PROCESSORS, /* symbols, as the next two */
    STREAM_GPU_STOPS,
    STREAM_GPU_STARTS,
    CHUNK_STREAMS
};

#define CHUNK_HEAD_BYTES 29u
#define CHUNK_HEAD_FLAGS 28u  /* offset of a head's flags */
#define CHUNK_BLOCK_PACKED 1u /* the block was compressed in the file that was archived */
#define CHUNK_BLOCK_BYTES 2u  /* its data are in STREAM_BYTES */
#define CHUNK_FLAGS (CHUNK_BLOCK_PACKED | CHUNK_BLOCK_BYTES)

#define TIME_SYMBOL_WIDE 255u /* the time is in STREAM_WIDE */
#define CHUNK_KINDS 5u
#define CHUNK_TUPLE 3u /* kinds in a byte */
#define CHUNK_TUPLES 125u
#define CHUNK_SLACK 64u /* bytes that the output must have allocated behind its end */

/* ---- encoder ------------------------------------------------------------------------------ */

struct chunk_encoder {
    struct stream_packer packer;
    struct buffer column[CHUNK_STREAMS];
    uint64_t held; /* bits below a byte */
    unsigned held_bits;
    uint32_t records;
    uint64_t bytes; /* of the blocks, headers counted */
};
bool chunk_encoder_begin(struct chunk_encoder *encoder);
void chunk_encoder_end(struct chunk_encoder *encoder);

/* Adds a block: header (stored_bytes is ignored) and data. False without memory. */
bool chunk_encoder_add(struct chunk_encoder *encoder, const struct rbwp_block_header *header,
                       const uint8_t *data, bool packed);

/* The payload of all blocks added, appended to out, and begins anew. False without memory. */
bool chunk_encoder_finish(struct chunk_encoder *encoder, struct buffer *out);

/* ---- decoder ------------------------------------------------------------------------------ */

struct chunk_decoder {
    struct inflater *inflater;
    uint8_t *columns;
    size_t room;
    const uint8_t *heads; /* of the chunk decoded last, head_count of them */
    size_t head_count;
};
/* Zeros are a valid start. */
void chunk_decoder_free(struct chunk_decoder *decoder);

/*
 * Decodes a payload to out, which is to become out_bytes long and has CHUNK_SLACK behind. NULL if
 * it did, else what is wrong; chunk_no_memory: there is none.
 */
extern const char chunk_no_memory[];
const char *chunk_decode(struct chunk_decoder *decoder, const uint8_t *payload,
                         size_t payload_bytes, uint8_t *out, size_t out_bytes);

#endif /* CHUNK_CODE_H */
