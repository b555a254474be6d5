/* SPDX-License-Identifier: Apache-2.0 */
#include "live_tables.h"

#include "table_schema.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

void live_tables_free(struct live_tables *tables)
{
    for (uint32_t i = 0; i < tables->schema_count; i++)
        free(tables->schemas[i]);
    for (uint32_t i = 0; i < tables->name_count; i++)
        free((char *)(uintptr_t)tables->names[i].text);
    free(tables->schemas);
    free(tables->names);
    *tables = (struct live_tables){0};
}

const struct rbwp_schema *live_tables_find(const struct live_tables *tables, uint32_t table)
{
    for (uint32_t i = 0; i < tables->schema_count; i++)
        if (tables->schemas[i]->table == table)
            return tables->schemas[i];
    return NULL;
}

static enum rbwp_status keep_schema(struct live_tables *tables, const struct rbwp_schema *schema)
{
    if (!grow_array32(&tables->schemas, &tables->schema_room, tables->schema_count + 1,
                      sizeof(struct rbwp_schema *)))
        return RBWP_E_MEMORY;
    struct rbwp_schema *own = schema_copy(schema);
    if (!own)
        return RBWP_E_MEMORY;
    tables->schemas[tables->schema_count++] = own;
    return RBWP_OK;
}

enum rbwp_status live_tables_schema(struct live_tables *tables, const uint8_t *payload,
                                    size_t count)
{
    bool memory;
    struct rbwp_schema *schema = schema_decode(payload, count, &memory);
    if (!schema)
        return memory ? RBWP_E_MEMORY : RBWP_E_CORRUPT;
    enum rbwp_status status = RBWP_OK;
    bool known = live_tables_find(tables, schema->table);
    if (!known && count > LIVE_SCHEMA_BYTES_MAX - tables->schema_bytes)
        status = RBWP_E_LIMIT;
    else if (!known)
        status = keep_schema(tables, schema);
    if (!known && status == RBWP_OK)
        tables->schema_bytes += count;
    free(schema);
    return status;
}

/* Room for a name of this number; those below it that were never told are not known. */
static bool live_tables_reach(struct live_tables *tables, uint32_t number)
{
    if (!grow_array32(&tables->names, &tables->name_room, number, sizeof *tables->names))
        return false;
    for (; tables->name_count < number; tables->name_count++)
        tables->names[tables->name_count] = (struct rbwp_text){0};
    return true;
}

enum rbwp_status live_tables_name(struct live_tables *tables, const uint8_t *payload, size_t count)
{
    uint32_t number;
    if (count < sizeof number || count > sizeof number + RBWP_NAME_BYTES_MAX)
        return RBWP_E_CORRUPT;
    memcpy(&number, payload, sizeof number);
    size_t bytes = count - sizeof number;
    if (number < 1)
        return RBWP_E_CORRUPT;
    if (number <= tables->name_count && tables->names[number - 1].text)
        return RBWP_OK; /* said twice */
    if (number > LIVE_NAMES_MAX || bytes > LIVE_TABLE_NAME_BYTES_MAX - tables->name_bytes)
        return RBWP_E_LIMIT;
    char *text = malloc(bytes + 1);
    if (!text || !live_tables_reach(tables, number)) {
        free(text);
        return RBWP_E_MEMORY;
    }
    memcpy(text, payload + sizeof number, bytes);
    tables->names[number - 1] = (struct rbwp_text){text, (uint32_t)bytes};
    tables->name_bytes += bytes;
    return RBWP_OK;
}
