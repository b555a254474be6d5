/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rbwp_reader.h - read RBWP files.
 *
 * A reader walks the blocks of one file in file order. It reads a regular
 * file through a window that moves along (so that a file that shrinks meanwhile
 * is an ordinary error), anything else (pipe, socket, terminal) as a stream;
 * both give the same results, except that a stream's tables and trailer are
 * known only after its last block.
 *
 * Every length, count, offset and sum is checked. Damage is not a failure of
 * the call: the reader notes a problem (file offset, section, rule of SPEC.md),
 * finds the next valid block and goes on. Memory does not grow with the file;
 * one block is held at a time, at most block_bytes_max of data.
 *
 * Threads: a reader may be used by one thread at a time. Different readers
 * are independent. No call prints, exits or keeps a global.
 */
#ifndef RBWP_READER_H
#define RBWP_READER_H

#include "rbwp_format.h"

RBWP_C_BEGIN_

struct rbwp_reader; /* opaque */

struct rbwp_reader_options {
    size_t size; /* sizeof(struct rbwp_reader_options) */
    uint32_t
        block_bytes_max; /* refuse larger blocks; 0 = RBWP_BLOCK_BYTES_MAX, more is cut to that */
    bool no_resync;      /* stop at the first damaged block instead of looking for the next one */
    /* A regular file that is not finalised may still grow: where it ends, rbwp_reader_next_block
     * says RBWP_AGAIN, and looks at the file again when it is called again. If it is finalised by
     * then, tables and trailer are known from that call on. */
    bool follow;
};

/*
 * Opens a file by name; "-" is not special. options may be NULL.
 * On success *reader_out is owned by the caller until rbwp_reader_close.
 * Returns RBWP_OK, RBWP_E_IO, RBWP_E_MEMORY, RBWP_E_NOT_RBWP, RBWP_E_VERSION (another version, or
 * a part that must be understood and is not), RBWP_E_TRUNCATED (shorter than a header); on failure
 * *reader_out is NULL and error (if given) says why.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_reader_open(const char *path,
                                                         const struct rbwp_reader_options *options,
                                                         struct rbwp_reader **reader_out,
                                                         struct rbwp_error *error);

/* The same over a descriptor, which stays the caller's and must outlive the reader. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_reader_open_fd(int fd, const struct rbwp_reader_options *options,
                    struct rbwp_reader **reader_out, struct rbwp_error *error);

/* The same over bytes in memory, which stay the caller's and must outlive the reader. */
RBWP_API RBWP_MUST_USE enum rbwp_status
rbwp_reader_open_memory(const void *data, size_t size_bytes,
                        const struct rbwp_reader_options *options, struct rbwp_reader **reader_out,
                        struct rbwp_error *error);

/* Frees the reader and all it handed out. NULL is fine. */
RBWP_API void rbwp_reader_close(struct rbwp_reader *reader);

/* The file header, valid until close. */
RBWP_API const struct rbwp_file_header *rbwp_reader_header(const struct rbwp_reader *reader);

/* Size of the file in bytes, when it was looked at last; for a stream, the bytes seen so far. Of an
 * archive it is that of the file in it, whose blocks are not compressed. */
RBWP_API uint64_t rbwp_reader_size(const struct rbwp_reader *reader);

/* True when what was opened is an archive (SPEC.md, section 16): all that the reader gives, offsets
 * too, is then of the version-1 file in it. */
RBWP_API bool rbwp_reader_is_archive(const struct rbwp_reader *reader);

/* True when the input is read as a stream. */
RBWP_API bool rbwp_reader_is_stream(const struct rbwp_reader *reader);

/* A whole, valid block. Pointers are valid until the next call on the reader. */
struct rbwp_block {
    struct rbwp_block_header header;
    uint64_t offset;           /* of the block header in the file */
    uint64_t index;            /* 0 for the first block that was handed out, opaque ones included */
    const uint8_t *data;       /* uncompressed, header.data_bytes of them */
    int64_t first_ns, last_ns; /* smallest and largest record time; 0,0 if opaque */
};

/*
 * Moves to the next valid block. Opaque blocks (header.records == 0) are
 * handed out too: look at the count.
 * Returns RBWP_OK; RBWP_END after the last block, whether or not problems were
 * noted on the way; RBWP_AGAIN where a file that is followed ends for now (in a block that is not
 * whole, too); RBWP_E_TRUNCATED if such a file shrank; RBWP_E_IO or RBWP_E_MEMORY when reading
 * cannot go on; RBWP_E_VERSION at an opaque block (SPEC.md, R42) or, in a stream, a trailer section
 * (R54) that must be understood and is not. A failure is final: it is also the last problem noted,
 * and every later call returns it.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_reader_next_block(struct rbwp_reader *reader,
                                                               struct rbwp_block *block_out);

/*
 * Looks at a file that is followed, without moving on: RBWP_AGAIN if it may still grow; RBWP_END if
 * it is finalised by now (or never was followed), so that it has its own tables and trailer; or a
 * failure as of rbwp_reader_next_block. Voids what the last block points to.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_reader_look_again(struct rbwp_reader *reader);

/*
 * Blocks that were decoded beforehand, by threads of the caller's for example: next_block asks for
 * each block whose header (and offset, and index) it has read. True: decoded has filled the rest
 * from a decoder's run on the same header (rbwp_decoder.h), with data that stay until the next
 * call. False: the reader decodes the block itself. NULL ends it.
 */
typedef bool rbwp_decoded_fn(void *context, struct rbwp_block *block);
RBWP_API void rbwp_reader_set_decoded(struct rbwp_reader *reader, rbwp_decoded_fn *decoded,
                                      void *context);

/* Back to the first block. RBWP_E_STATE for a stream. Problems noted so far are forgotten. */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_reader_rewind(struct rbwp_reader *reader);

/*
 * Goes on with the block at this offset, which an index of the trailer names. RBWP_E_STATE for a
 * stream and a file that is followed; RBWP_E_INVALID outside of the blocks. Blocks are numbered on.
 */
RBWP_API RBWP_MUST_USE enum rbwp_status rbwp_reader_seek(struct rbwp_reader *reader,
                                                         uint64_t offset);

/* Walks the records of a block that rbwp_reader_next_block returned. */
struct rbwp_record_iterator {
    const uint8_t *data;
    uint32_t next, end;
    int64_t time_ns; /* of the record before */
};
RBWP_API void rbwp_record_first(const struct rbwp_block *block,
                                struct rbwp_record_iterator *iterator_out);
/* False when there is no further record; *record_out is then untouched. */
RBWP_API bool rbwp_record_next(struct rbwp_record_iterator *iterator,
                               struct rbwp_record *record_out);

/*
 * Looks into an opaque block of facts beside GPU_WORK records. False if it is not one; else its
 * processor id and how many entries it has.
 */
RBWP_API bool rbwp_gpu_extras(const struct rbwp_block *block, uint64_t *proc_id_out,
                              uint32_t *count_out);
/* Entry `index`, below that count. */
RBWP_API void rbwp_gpu_extra_get(const struct rbwp_block *block, uint32_t index,
                                 struct rbwp_gpu_extra *extra_out);

/*
 * The descriptor tables in file order; empty when the file was not finalised.
 * Valid until close. For a stream they are empty until rbwp_reader_next_block
 * has returned RBWP_END.
 */
struct rbwp_tables {
    const struct rbwp_work_item_name *work_items;
    const struct rbwp_sub_item_name *sub_items;
    uint32_t work_item_count, sub_item_count;
};
RBWP_API const struct rbwp_tables *rbwp_reader_tables(const struct rbwp_reader *reader);

/* The trailer, or NULL when the file has none. The same rule for streams. Valid until close. */
RBWP_API const struct rbwp_trailer *rbwp_reader_trailer(const struct rbwp_reader *reader);

/* Something in the file that breaks a rule. */
struct rbwp_problem {
    struct rbwp_error error; /* offset, section, rule, text */
    uint64_t skipped_bytes;  /* from offset, not handed out because of it */
    bool cut_tail;           /* the file just stops here (a crash), nothing contradicts it */
    bool has_block;          /* block holds the header of the damaged or cut block */
    struct rbwp_block_header block;
};
/*
 * Problems noted so far, in the order of the file: those of tables and trailer are there when
 * rbwp_reader_next_block has returned RBWP_END. The first 1000 are kept, the count goes on.
 */
RBWP_API uint64_t rbwp_reader_problem_count(const struct rbwp_reader *reader);
/* NULL from the 1000th or the count on. Valid until the next call on the reader. */
RBWP_API const struct rbwp_problem *rbwp_reader_problem(const struct rbwp_reader *reader,
                                                        uint64_t index);

RBWP_C_END_
#endif /* RBWP_READER_H */
