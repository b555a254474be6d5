/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_writer.h - write RBWP files over a caller's sink.
 *
 * Two parts that can be used apart:
 * - a block encoder turns records of one thread into one finished block
 *   (header and stored payload) in memory;
 * - a writer puts the file together: header, finished blocks, descriptor
 *   tables, trailer, and the patched counts.
 *
 * Threads: one encoder or writer is used by one thread at a time. Different
 * encoders may run in parallel and feed one writer under the caller's lock.
 * No call prints, exits, blocks on anything but the sink, or keeps a global.
 */
#ifndef RBWP_WRITER_H
#define RBWP_WRITER_H

#include "rbwp_format.h"

RBWP_C_BEGIN_

/* ---- block encoder ------------------------------------------------------ */

struct rbwp_block_encoder; /* opaque */

/*
 * block_bytes: capacity of one block's uncompressed data, at least 64, at most
 * RBWP_BLOCK_BYTES_MAX; 0 = 65536. level: 0 stores, 1 (fast) to 9 (small), -1 the default.
 * Allocates everything it will ever need. RBWP_OK, RBWP_E_INVALID, RBWP_E_MEMORY.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_block_encoder_new(uint32_t block_bytes, int level, struct rbwp_block_encoder **encoder_out);
RBWP_API void rbwp_block_encoder_free(struct rbwp_block_encoder *encoder);

/*
 * Appends one record to the block being built. Only time_ns, kind and the
 * fields of that kind are read. Times may go backwards (they cost 8 bytes then);
 * bits 62 and 63 of a time are lost by the format.
 * Returns RBWP_OK, RBWP_AGAIN when the block is full (seal it, then add the
 * record again) or RBWP_E_INVALID for an unknown kind.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_block_encoder_add(struct rbwp_block_encoder *encoder,
                                                               const struct rbwp_record *record);

/*
 * The same for the kinds with a small payload, without the struct: id is the slot of a
 * RBWP_COARSE_BEGIN, the sub-item of a RBWP_FINE_BEGIN, ignored otherwise. Not for RBWP_GPU_WORK.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_block_encoder_put(struct rbwp_block_encoder *encoder,
                                                               int64_t time_ns, unsigned kind,
                                                               unsigned id);

/* A finished block: bytes_count bytes ready for the file. Valid until the next call on the encoder.
 */
struct rbwp_sealed_block {
    const uint8_t *bytes; /* 32-byte header, then the payload as stored */
    uint32_t bytes_count;
    uint32_t records;
    uint64_t thread_id;
    int64_t first_ns, last_ns; /* smallest and largest time inside */
};

/* Finishes the block and starts an empty one. RBWP_END when there was no record in it. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_block_encoder_seal(struct rbwp_block_encoder *encoder, uint64_t thread_id, uint32_t sequence,
                        struct rbwp_sealed_block *block_out);

/* ---- writer ------------------------------------------------------------- */

/*
 * Where the bytes go. write appends; patch overwrites bytes written before.
 * Both take all of the bytes or fail, and a write that fails must leave nothing
 * behind (truncate): the writer then stands as before the call, and the caller
 * may go on with other blocks or finish the file without them.
 */
struct rbwp_sink {
    void *context;
    enum rbwp_status (*write)(void *context, const void *bytes, size_t count);
    enum rbwp_status (*patch)(void *context, uint64_t offset, const void *bytes, size_t count);
};

/* A ready-made sink over a descriptor: write(2) and pwrite(2), EINTR and short writes handled. fd
 * points to it, stays the caller's, and must outlive whatever has the sink. */
RBWP_API struct rbwp_sink rbwp_sink_fd(int *fd);

struct rbwp_writer; /* opaque */

/* Writes the file header. The sink is copied; its context must outlive the writer. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_writer_new(const struct rbwp_sink *sink, uint32_t node,
                                                        int64_t zero_time_ns, bool level2,
                                                        struct rbwp_writer **writer_out);

/*
 * Appends a finished block, of records or of a table, and notes it in the indexes (bounded:
 * neighbouring ranges are joined). What a table's block holds is read from its bytes.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_writer_add_block(struct rbwp_writer *writer, const struct rbwp_sealed_block *block);

/*
 * What a thread has open behind its blocks so far. With it a reader begins in the middle of a file
 * (SPEC.md, 10.18).
 */
struct rbwp_thread_state {
    size_t size; /* sizeof(struct rbwp_thread_state) */
    uint64_t thread_id;
    /* Of what was open when it was given last, so many outermost ones still are, and inside of them
     * these, outermost first; thread_id in them is not looked at. */
    uint32_t still_open, open_count;
    const struct rbwp_open_item *open;
    /* Of the GPU_WORK records in what was added since it was given last: how many, smallest start,
     * largest stop. */
    uint64_t gpu_works;
    int64_t gpu_first_ns, gpu_last_ns;
};
/*
 * Given behind each block with records, or behind several of the same thread, before one of another
 * thread comes; of records whose ends all have their begins, in blocks in the order of their
 * sequence. Who ever leaves it out gets a file that is read whole. A call that is wrong does the
 * same.
 */
RBWP_API void rbwp_writer_tell_state(struct rbwp_writer *writer,
                                     const struct rbwp_thread_state *state);

/* Appends an opaque block: 4-byte tag, then size_bytes of data, stored as they are. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_writer_add_opaque(struct rbwp_writer *writer,
                                                               const char tag[4], const void *data,
                                                               uint32_t size_bytes);

/*
 * The data of an opaque block (tag RBWP_GPU_EXTRA_TAG) of count entries. data_out has room for
 * RBWP_GPU_EXTRA_HEAD_BYTES + count * RBWP_GPU_EXTRA_BYTES; so many are written and returned.
 */
RBWP_API uint32_t rbwp_gpu_extra_encode(uint64_t proc_id, const struct rbwp_gpu_extra *extras,
                                        uint32_t count, uint8_t *data_out);

/*
 * Writes the descriptor tables, the trailer (NULL = none, the strict form) and
 * patches the header, in this order, so that a file is finalised only when it
 * is whole. The trailer's index, table_ranges and marks are ignored: the writer has its own.
 * RBWP_E_INVALID: one of trailer->sections has a tag that the trailer has fields for.
 * RBWP_E_LIMIT: the trailer is larger than 64 MiB.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_writer_finish_sized(struct rbwp_writer *writer, const struct rbwp_work_item_name *work_items,
                         uint32_t work_item_count, const struct rbwp_sub_item_name *sub_items,
                         uint32_t sub_item_count, const struct rbwp_trailer *trailer,
                         size_t trailer_bytes);
/* It gives the trailer's size where the caller was compiled. */
static inline RBWP_MUST_USE enum rbwp_status
rbwp_writer_finish(struct rbwp_writer *writer, const struct rbwp_work_item_name *work_items,
                   uint32_t work_item_count, const struct rbwp_sub_item_name *sub_items,
                   uint32_t sub_item_count, const struct rbwp_trailer *trailer)
{
    return rbwp_writer_finish_sized(writer, work_items, work_item_count, sub_items, sub_item_count,
                                    trailer, sizeof *trailer);
}

/* Bytes, blocks and records handed to the sink so far. Outputs may be NULL. */
RBWP_API void rbwp_writer_totals(const struct rbwp_writer *writer, uint64_t *bytes_out,
                                 uint64_t *blocks_out, uint64_t *records_out);

/* Frees the writer without touching the file. NULL is fine. */
RBWP_API void rbwp_writer_free(struct rbwp_writer *writer);

RBWP_C_END_
#endif /* RBWP_WRITER_H */
