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

#include "packed_stream.h"
#include "rbwp_reader.h"

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
