/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.h - the rules of SPEC.md by number, and the bounds they name.
 *
 * A number is what error messages and `rbwp check` cite, so it never changes
 * its meaning.
 */
#ifndef RULES_H
#define RULES_H

#include "rbwp_format.h"

enum rule {
    RULE_HEADER_SIZE = 1,
    RULE_MAGIC = 2,
    RULE_VERSION = 3,
    RULE_HEADER_FLAGS = 4,
    RULE_DESCRIPTOR_OFFSET = 5,
    RULE_COUNTS_UNFINALISED = 6,

    RULE_BLOCK_HEADER = 10,
    RULE_BLOCK_PAYLOAD = 11,
    RULE_BLOCK_BYTES = 12,
    RULE_RECORDS_FIT = 13,
    RULE_EXPANSION = 14,
    RULE_ZLIB = 15,
    RULE_RECORD_COUNT = 16,
    RULE_RECORD_KIND = 17,
    RULE_RECORD_CUT = 18,
    RULE_BASE_TIME = 19,
    RULE_SEQUENCE_ONCE = 20,
    RULE_TURNS = 21,
    RULE_FINE_LEVEL = 22,

    RULE_TABLES_WHOLE = 30,
    RULE_TABLES_BYTES = 31,
    RULE_SLOT_RANGE = 32,
    RULE_SLOT_ONCE = 33,
    RULE_SUB_ITEM_ONCE = 34,
    RULE_BEHIND_TABLES = 35,

    RULE_OPAQUE_SIZE = 40,
    RULE_OPAQUE_TAG = 41,
    RULE_OPAQUE_REFUSE = 42,
    RULE_GPU_EXTRAS = 43,
    RULE_SCHEMA = 44,
    RULE_SCHEMA_ONCE = 45,
    RULE_SCHEMA_ROWS_OF = 46,
    RULE_NAMES = 47,
    RULE_ROWS_FILL = 48,
    RULE_ROWS_REFER = 49,

    RULE_TRAILER_PLACE = 50,
    RULE_TRAILER_SUM = 51,
    RULE_TRAILER_BYTES = 52,
    RULE_FOOTER_FLAGS = 53,
    RULE_SECTION_REFUSE = 54,
    RULE_SECTIONS_FILL = 55,
    RULE_SECTION_ONCE = 56,
    RULE_SECTION_LENGTH = 57,
    RULE_SECTION_TABLE = 58,
    RULE_SECTION_NAMES = 59,
    RULE_THREAD_RECORDS = 60,
    RULE_TABLES_TWICE = 61,
    RULE_INDEX_RANGES = 62,
    RULE_INDEX_VALUES = 63,
    RULE_INDEX_SUM = 64
};

#define ZLIB_EXPANSION_MAX 1032u      /* R14 */
#define TABLES_BYTES_MAX (64u << 20)  /* R31 */
#define TABLE_ENTRIES_MAX 65536u      /* R31 */
#define TRAILER_BYTES_MAX (64u << 20) /* R52 */
#define TIME_MASK ((UINT64_C(1) << RBWP_TIME_BITS) - 1)

#endif /* RULES_H */
