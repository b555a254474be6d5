/* SPDX-License-Identifier: Apache-2.0 */
#include "legion_names.h"
#include "legion_ids.h"

#include <inttypes.h>
#include <stdio.h>

enum table { TASKS = 1, VARIANTS, METAS, RUNTIME_CALLS, MAPPER_CALLS, PROVENANCES, MEMORIES };

static void note_name(struct legion_names *names, const struct legion_record *record)
{
    static const uint8_t tables[LEGION_OTHER + 1] = {[LEGION_TASK_KIND] = TASKS,
                                                     [LEGION_TASK_VARIANT] = VARIANTS,
                                                     [LEGION_META] = METAS,
                                                     [LEGION_RUNTIME_CALL_KIND] = RUNTIME_CALLS,
                                                     [LEGION_MAPPER_CALL_KIND] = MAPPER_CALLS,
                                                     [LEGION_PROVENANCE] = PROVENANCES};
    bool by_task = record->kind == LEGION_TASK_KIND || record->kind == LEGION_TASK_VARIANT;
    uint64_t id = record->value[by_task                             ? LEGION_TASK_ID
                                : record->kind == LEGION_PROVENANCE ? LEGION_VALUE
                                                                    : LEGION_KIND];
    if (tables[record->kind])
        id_texts_set(&names->texts, tables[record->kind], id, record->value[LEGION_VARIANT_ID],
                     record->text);
}

static void note_memory(struct legion_names *names, const struct legion_record *record)
{
    static const char *const kinds[] = {"no memory", "Global",      "System",      "Registered",
                                        "Socket",    "Zero-copy",   "Framebuffer", "Disk",
                                        "HDF5",      "File",        "L3",          "L2",
                                        "L1",        "GPU managed", "GPU dynamic"};
    char name[64];
    uint64_t id = record->value[LEGION_MEM_ID], kind = record->value[LEGION_KIND];
    const char *kind_name = kind < sizeof kinds / sizeof kinds[0] ? kinds[kind] : "Memory";
    if (id >> 56 == 0x1e)
        snprintf(name, sizeof name, "%s %u.%u", kind_name, (unsigned)(id >> 40 & 0xffff),
                 (unsigned)(id & 0xff));
    else
        snprintf(name, sizeof name, "%s 0x%" PRIx64, kind_name, id);
    id_texts_set(&names->texts, MEMORIES, id, 0, trace_text(name));
}

void legion_names_note(struct legion_names *names, const struct legion_record *record)
{
    if (record->kind == LEGION_MEM)
        note_memory(names, record);
    else
        note_name(names, record);
}

struct trace_text legion_names_memory(const struct legion_names *names, uint64_t id, char *made,
                                      size_t room)
{
    struct trace_text name = id_texts_get(&names->texts, MEMORIES, id, 0);
    if (name.bytes)
        return name;
    snprintf(made, room, "Memory 0x%" PRIx64, id);
    return trace_text(made);
}

void legion_names_free(struct legion_names *names)
{
    id_texts_free(&names->texts);
}

static uint32_t add_text(struct trace *trace, struct trace_text text, const char *kind, uint64_t id)
{
    char made[64];
    if (text.bytes)
        return trace_add_name(trace, text.text, text.bytes);
    int bytes = snprintf(made, sizeof made, "%s %" PRIu64, kind, id);
    return trace_add_name(trace, made, (uint32_t)bytes);
}

bool legion_names_is_call(const struct legion_names *names, const struct legion_record *record)
{
    uint64_t id = record->value[LEGION_TASK_ID];
    struct trace_text variant =
        id_texts_get(&names->texts, VARIANTS, id, record->value[LEGION_VARIANT_ID]);
    return legion_is_own_task(id) && variant.bytes == strlen(LEGION_CALL_VARIANT) &&
           memcmp(variant.text, LEGION_CALL_VARIANT, variant.bytes) == 0;
}

/* A variant is told when its name is not that of its task; ours are categories. */
static uint32_t task_name(const struct legion_names *names, struct trace *trace,
                          const struct legion_record *record)
{
    char made[512];
    uint64_t id = record->value[LEGION_TASK_ID];
    struct trace_text task = id_texts_get(&names->texts, TASKS, id, 0);
    struct trace_text variant =
        id_texts_get(&names->texts, VARIANTS, id, record->value[LEGION_VARIANT_ID]);
    if (!task.bytes || !variant.bytes || legion_is_own_task(id) ||
        (task.bytes == variant.bytes && memcmp(task.text, variant.text, task.bytes) == 0))
        return add_text(trace, task.bytes ? task : variant, "task", id);
    int bytes = snprintf(made, sizeof made, "%.*s [%.*s]", task.bytes < 240 ? (int)task.bytes : 240,
                         task.text, variant.bytes < 240 ? (int)variant.bytes : 240, variant.text);
    return trace_add_name(trace, made, (uint32_t)bytes);
}

uint32_t legion_names_row(const struct legion_names *names, struct trace *trace,
                          const struct legion_record *record)
{
    const struct id_texts *texts = &names->texts;
    uint64_t kind = record->value[LEGION_KIND], lg_id = record->value[LEGION_LG_ID];
    uint64_t provenance = record->value[LEGION_PROVENANCE_ID];
    switch (record->kind) {
    case LEGION_META_TASK:
    case LEGION_MESSAGE:
        return add_text(trace, id_texts_get(texts, METAS, lg_id, 0), "meta task", lg_id);
    case LEGION_PROF_TASK:
        return trace_add_name(trace, "profiling response", 18);
    case LEGION_RUNTIME_CALL:
        return add_text(trace, id_texts_get(texts, RUNTIME_CALLS, kind, 0), "runtime call", kind);
    case LEGION_MAPPER_CALL:
        return add_text(trace, id_texts_get(texts, MAPPER_CALLS, kind, 0), "mapper call", kind);
    case LEGION_APPLICATION_CALL:
        return add_text(trace, id_texts_get(texts, PROVENANCES, provenance, 0), "application call",
                        provenance);
    case LEGION_COPY:
        return trace_add_name(trace, "copy", 4);
    case LEGION_FILL:
        return trace_add_name(trace, "fill", 4);
    case LEGION_PARTITION:
        return trace_add_name(trace, "partition", 9);
    default:
        return task_name(names, trace, record);
    }
}
