/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thrift_compact.h - writes Thrift's compact protocol, as far as Parquet's
 * metadata needs it.
 *
 * A struct is a run of fields with ascending ids, each of which says by how
 * much its id is above the one before; hence the stack of last ids.
 */
#ifndef THRIFT_COMPACT_H
#define THRIFT_COMPACT_H

#include "parquet_bytes.h"

enum thrift_type {
    THRIFT_I8 = 3,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_STRUCT = 12
};

enum { THRIFT_DEPTH = 8 };

struct thrift {
    struct parquet_bytes *to;
    int last_id[THRIFT_DEPTH];
    int depth;
};

/* Inside a list or at the top: no field stands before it. */
void thrift_begin(struct thrift *thrift);
void thrift_end(struct thrift *thrift);

void thrift_struct(struct thrift *thrift, int id); /* then its fields and thrift_end */
void thrift_i8(struct thrift *thrift, int id, int8_t value);
void thrift_i32(struct thrift *thrift, int id, int32_t value);
void thrift_i64(struct thrift *thrift, int id, int64_t value);
void thrift_bool(struct thrift *thrift, int id, bool value);
void thrift_binary(struct thrift *thrift, int id, const void *bytes, size_t count);
void thrift_text(struct thrift *thrift, int id, const char *text);
/* Then count elements. */
void thrift_list(struct thrift *thrift, int id, enum thrift_type type, size_t count);
void thrift_i32_element(struct thrift *thrift, int32_t value);
void thrift_text_element(struct thrift *thrift, const char *text);

#endif /* THRIFT_COMPACT_H */
