/* SPDX-License-Identifier: Apache-2.0 */
/*
 * out.h - where a tool's data goes.
 *
 * A large buffer in front of a descriptor. Callers that are in a hurry ask
 * for room and write into the buffer themselves. A failed write is remembered
 * and reported once by out_close; what comes after it is thrown away, so that
 * only loops need to look at out_failed. A reader that went away (EPIPE) is
 * no error: it stops the output without a message.
 */
#ifndef OUT_H
#define OUT_H

#include "command.h"
#include "ordered_jobs.h"

#include <string.h>

/* ---- integers as text ------------------------------------------------------------------------ */
/*
 * Integers, and what stands between them, as text, fast.
 *
 * Two digits a step from a table, and eight digits at once below a power of ten that is a constant,
 * so a 64-bit number costs at most two wide multiplications. Header only: the calls are in the
 * inner loop of dump.
 */

#define DIGITS_MAX 20 /* of a 64-bit integer, sign included */

/* A literal at at; the end. */
#define PUT(at, literal) ((char *)memcpy(at, literal, sizeof(literal) - 1) + sizeof(literal) - 1)

static const char digit_pairs[201] = "00010203040506070809101112131415161718192021222324"
                                     "25262728293031323334353637383940414243444546474849"
                                     "50515253545556575859606162636465666768697071727374"
                                     "75767778798081828384858687888990919293949596979899";

static inline char *put_2_digits(char *at, uint32_t value)
{
    memcpy(at, digit_pairs + 2 * value, 2);
    return at + 2;
}

static inline char *put_4_digits(char *at, uint32_t value)
{
    return put_2_digits(put_2_digits(at, value / 100), value % 100);
}

/* Exactly eight digits, leading zeros included; value is below 10^8. */
static inline char *put_8_digits(char *at, uint32_t value)
{
    return put_4_digits(put_4_digits(at, value / 10000), value % 10000);
}

/* Without leading zeros; value is below 10^8. */
static inline char *put_below_1e8(char *at, uint32_t value)
{
    if (value >= 10000) {
        at = put_below_1e8(at, value / 10000);
        return put_4_digits(at, value % 10000);
    }
    if (value >= 100) {
        at = put_below_1e8(at, value / 100);
        return put_2_digits(at, value % 100);
    }
    if (value >= 10)
        return put_2_digits(at, value);
    *at = (char)('0' + value);
    return at + 1;
}

/* Writes value at at, which has room for DIGITS_MAX bytes. Returns the end. */
static inline char *put_u64(char *at, uint64_t value)
{
    if (value < 100000000)
        return put_below_1e8(at, (uint32_t)value);
    uint64_t high = value / 100000000;
    if (high < 100000000) {
        at = put_below_1e8(at, (uint32_t)high);
    } else {
        at = put_below_1e8(at, (uint32_t)(high / 100000000));
        at = put_8_digits(at, (uint32_t)(high % 100000000));
    }
    return put_8_digits(at, (uint32_t)(value % 100000000));
}

static inline char *put_i64(char *at, int64_t value)
{
    if (value >= 0)
        return put_u64(at, (uint64_t)value);
    *at = '-';
    return put_u64(at + 1, 0 - (uint64_t)value);
}

/* ---- output ---------------------------------------------------------------------------------- */

#define OUT_BUFFER_BYTES (256u << 10)

/* Values of the shared options. */
struct out_options {
    const char *path; /* NULL or "-": standard output */
    bool force;
};
extern const struct option out_option_table[]; /* of struct out_options */

static inline bool out_is_standard(const struct out_options *options)
{
    return !options->path || strcmp(options->path, "-") == 0;
}

/* For who makes the file itself and puts it in the place of one that is there: refuses a file that
 * exists (unless forced), that is an input, or no regular one. False with the message given. */
bool out_may_create(const struct out_options *options, struct operands inputs);

struct out {
    int fd;
    int os_errno; /* of the first failed write, 0 if none */
    bool discarded;
    const char *name;   /* for messages */
    const char *unlink; /* the file that we created, to be removed if it cannot be written */
    const char
        *unnamed;  /* what the file, which has no name yet, is to be called when it is whole */
    bool replaces; /* a file that has this name */
    char *buffer;
    size_t used;
    char last; /* byte that left the buffer; 0: none did */
    /* Where bytes go instead of to the descriptor: a layer that changes them and hands on what it
     * made with out_write. NULL: none. */
    void (*layer)(struct out *out, const char *bytes, size_t count);
    void *layer_state;
};

/*
 * Opens the output. Refuses a file that exists (unless forced) and one that is also among the
 * inputs. False with the message given.
 */
bool out_open(struct out *out, const struct out_options *options, struct operands inputs);

/* There is no output after all: what is not written yet never is, and a file that out_open made
 * goes with out_close. */
void out_discard(struct out *out);

/* Writes what is left and closes. EXIT_BAD_DATA, with the message given, if anything failed. */
enum exit_code out_close(struct out *out);

static inline bool out_failed(const struct out *out)
{
    return out->os_errno != 0;
}

/* What was to be written could not be made: an errno. Nothing is written any more, and out_close
 * says why. */
static inline void out_give_up(struct out *out, int reason)
{
    if (!out->os_errno)
        out->os_errno = reason;
}

/* Hands the buffer to the system, or to the layer. */
void out_flush(struct out *out);

/* The same as out_bytes of what is as large as makes a write of its own worth it: it is not copied
 * first. */
void out_large(struct out *out, const char *bytes, size_t count);

/* Part of a file, by the system alone where it can. False if it cannot be read: errno says why, 0
 * of one that is too short. */
bool out_from_file(struct out *out, int fd, uint64_t offset, uint64_t bytes);

/* At least bytes (at most OUT_BUFFER_BYTES) of room; write there, then out_end with the end. */
static inline char *out_room(struct out *out, size_t bytes)
{
    if (OUT_BUFFER_BYTES - out->used < bytes)
        out_flush(out);
    return out->buffer + out->used;
}
static inline void out_end(struct out *out, const char *end)
{
    out->used = (size_t)(end - out->buffer);
}

/* The byte that was put last, 0 at the beginning. */
static inline char out_last(const struct out *out)
{
    return out->used ? out->buffer[out->used - 1] : out->last;
}

/* The side of out_bytes for what does not fit. */
void out_bytes_slow(struct out *out, const char *bytes, size_t count);

/* Inline, so that the length of a literal is a constant to memcpy. */
static inline void out_bytes(struct out *out, const char *bytes, size_t count)
{
    if (OUT_BUFFER_BYTES - out->used < count) {
        out_bytes_slow(out, bytes, count);
        return;
    }
    memcpy(out->buffer + out->used, bytes, count);
    out->used += count;
}
static inline void out_text(struct out *out, const char *text)
{
    out_bytes(out, text, strlen(text));
}
static inline void out_u64(struct out *out, uint64_t value)
{
    out_end(out, put_u64(out_room(out, DIGITS_MAX), value));
}
static inline void out_i64(struct out *out, int64_t value)
{
    out_end(out, put_i64(out_room(out, DIGITS_MAX), value));
}
/* For short pieces (below 1 KiB) outside loops over records. */
void out_format(struct out *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A layer of struct out that compresses: RFC 1952, one member.
 *
 * The output is cut into pieces that are compressed for themselves, on
 * several threads if there are; their blocks follow each other in one member,
 * so that even the simplest reader sees one stream. It is the same whatever
 * the number of threads. */

/* True when a file of this name is expected to be gzip. NULL is none. */
bool out_gzip_wanted(const char *path);

/* As out_open and out_close; what goes into a file of such a name is compressed. EXIT_PARTIAL, with
 * the message given, if something of it is missing. */
bool out_open_packed(struct out *out, const struct out_options *options, struct operands inputs,
                     struct job_threads *threads);
enum exit_code out_close_packed(struct out *out);

#endif /* OUT_H */
