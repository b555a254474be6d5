/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_tables.h - what the log of a live file says of tables: schemas, and names by number.
 *
 * The first word about a number counts. Bounded, whatever the log has in it.
 */
#ifndef LIVE_TABLES_H
#define LIVE_TABLES_H

#include "rbwp_table.h"

#define LIVE_NAMES_MAX (1u << 20)
#define LIVE_TABLE_NAME_BYTES_MAX (32u << 20) /* of all of them */
#define LIVE_SCHEMA_BYTES_MAX (16u << 20)     /* the same */

/* Zeros are a valid start. */
struct live_tables {
    struct rbwp_schema **schemas;
    uint32_t schema_count, schema_room;
    struct rbwp_text *names; /* by number - 1; text is NULL where none is known */
    uint32_t name_count, name_room;
    uint64_t schema_bytes, name_bytes;
};
void live_tables_free(struct live_tables *tables);

/* Payload of an entry. RBWP_OK, RBWP_E_CORRUPT (cannot be), RBWP_E_LIMIT, RBWP_E_MEMORY. */
enum rbwp_status live_tables_schema(struct live_tables *tables, const uint8_t *payload,
                                    size_t count);
enum rbwp_status live_tables_name(struct live_tables *tables, const uint8_t *payload, size_t count);

/* NULL: not known. */
const struct rbwp_schema *live_tables_find(const struct live_tables *tables, uint32_t table);

#endif /* LIVE_TABLES_H */
