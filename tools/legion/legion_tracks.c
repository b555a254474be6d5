/* SPDX-License-Identifier: Apache-2.0 */
#include "legion_tracks.h"

#include "legion_ids.h"
#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what a Legion Prof log calls its tasks, calls and memories ------------------------------ */
/* Descriptions may stand anywhere in the log, so all are taken before a row is named. */

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

/* "System 3.0"; room for what is made up if the log does not say. */
static struct trace_text legion_names_memory(const struct legion_names *names, uint64_t id,
                                             char *made, size_t room)
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
    return legion_is_own_task(id) && trace_text_is(variant, LEGION_CALL_VARIANT);
}

/* A variant is shown when its name is not that of its task; ours are categories. */
static uint32_t task_name(const struct legion_names *names, struct trace *trace,
                          const struct legion_record *record)
{
    char made[512];
    uint64_t id = record->value[LEGION_TASK_ID];
    struct trace_text task = id_texts_get(&names->texts, TASKS, id, 0);
    struct trace_text variant =
        id_texts_get(&names->texts, VARIANTS, id, record->value[LEGION_VARIANT_ID]);
    if (!task.bytes || !variant.bytes || legion_is_own_task(id) || trace_text_same(task, variant))
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

/* ---- legion tracks --------------------------------------------------------------------------- */

static void legion_tracks_fail(struct legion_tracks *tracks)
{
    message_once(&tracks->failed, "%s: too many processors or out of memory; spans are missing",
                 tracks->name);
}

/* ---- processors ------------------------------------------------------------------ */

struct legion_proc *legion_tracks_proc(struct legion_tracks *tracks, uint64_t id)
{
    uint32_t number = thread_map_place(&tracks->proc_map, id, &tracks->procs, &tracks->proc_room,
                                       sizeof *tracks->procs);
    if (number == THREAD_NONE) {
        legion_tracks_fail(tracks);
        return NULL;
    }
    tracks->procs[number].id = id;
    return &tracks->procs[number];
}

void legion_tracks_note(struct legion_tracks *tracks, const struct legion_record *record)
{
    static const uint64_t on_processor =
        UINT64_C(1) << LEGION_TASK | 1 << LEGION_IMPLICIT_TASK | 1 << LEGION_GPU_TASK |
        1 << LEGION_META_TASK | 1 << LEGION_MESSAGE | 1 << LEGION_PROF_TASK |
        1 << LEGION_RUNTIME_CALL | 1 << LEGION_MAPPER_CALL | 1 << LEGION_APPLICATION_CALL;
    bool described = record->kind == LEGION_PROC;
    if (!described && !(on_processor >> record->kind & 1))
        return;
    struct legion_proc *proc = legion_tracks_proc(tracks, record->value[LEGION_PROC_ID]);
    if (!proc)
        return;
    if (described)
        proc->kind = (uint32_t)record->value[LEGION_KIND];
    bool device = record->kind == LEGION_GPU_TASK;
    bool host = !device || !legion_is_own_task(record->value[LEGION_TASK_ID]);
    proc->host_used |= !described && host;
    proc->device_used |= device;
}

static const char *proc_kind_name(uint32_t kind)
{
    static const char *const kinds[] = {"Processor", "GPU", "CPU",    "Utility", "IO",
                                        "Group",     "Set", "OpenMP", "Python"};
    return kinds[kind < sizeof kinds / sizeof kinds[0] ? kind : 0];
}

static uint32_t add_proc_track(struct legion_tracks *tracks, const struct legion_proc *proc,
                               enum trace_track_kind kind)
{
    char name[96];
    const char *suffix = kind == TRACE_PROCESSOR && proc->kind == 1 ? " host" : "";
    if (proc->id >> 56 == 0x1d)
        snprintf(name, sizeof name, "%s %u.%u%s", proc_kind_name(proc->kind),
                 (unsigned)(proc->id >> 40 & 0xffff), (unsigned)(proc->id & 0xfff), suffix);
    else
        snprintf(name, sizeof name, "%s 0x%" PRIx64 "%s", proc_kind_name(proc->kind), proc->id,
                 suffix);
    return trace_add_track(tracks->trace, (struct trace_track){.process = tracks->process,
                                                               .kind = kind,
                                                               .id = proc->id,
                                                               .name = trace_text(name)});
}

static int proc_order(const struct legion_proc *proc)
{
    static const uint8_t order[] = {8, 1, 0, 4, 5, 6, 7, 2, 3};
    return proc->kind < sizeof order ? order[proc->kind] : 9;
}

static int by_kind_and_id(const void *a, const void *b)
{
    const struct legion_proc *left = *(struct legion_proc *const *)a,
                             *right = *(struct legion_proc *const *)b;
    if (proc_order(left) != proc_order(right))
        return proc_order(left) - proc_order(right);
    return left->id < right->id ? -1 : left->id > right->id;
}

/* Processors that do something, by kind and index: CPUs, GPUs, then what serves them. Devices are
 * behind all of them, so that who launches comes before what was launched. */
static void add_procs(struct legion_tracks *tracks)
{
    uint32_t count = tracks->proc_map.count;
    struct legion_proc **sorted = malloc((count + 1) * sizeof *sorted);
    if (!sorted || count > tracks->proc_room) {
        free(sorted);
        legion_tracks_fail(tracks);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        sorted[i] = &tracks->procs[i];
    qsort(sorted, count, sizeof *sorted, by_kind_and_id);
    for (uint32_t i = 0; i < count; i++)
        if (sorted[i]->host_used)
            sorted[i]->host_track = add_proc_track(tracks, sorted[i], TRACE_PROCESSOR);
    for (uint32_t i = 0; i < count; i++)
        if (sorted[i]->device_used)
            sorted[i]->device_track = add_proc_track(tracks, sorted[i], TRACE_GPU);
    free(sorted);
}

void legion_tracks_start(struct legion_tracks *tracks, struct trace *trace,
                         const struct legion_names *names, uint32_t process)
{
    tracks->trace = trace;
    tracks->names = names;
    tracks->process = process;
    add_procs(tracks);
}

/* ---- channels -------------------------------------------------------------------- */

static struct trace_text memory_name(const struct legion_tracks *tracks, uint32_t number,
                                     char *made, size_t room)
{
    return number == LEGION_NO_MEMORY
               ? trace_text("")
               : legion_names_memory(tracks->names, tracks->memory_map.ids[number], made, room);
}

/* A fill has no source; LEGION_NO_MEMORY as destination: not known. */
static uint32_t add_channel(struct legion_tracks *tracks, uint64_t key, uint32_t src, uint32_t dst)
{
    char name[256], made[2][64];
    bool known = dst != LEGION_NO_MEMORY && dst != LEGION_PARTITIONING;
    struct trace_text from = memory_name(tracks, src, made[0], sizeof made[0]);
    struct trace_text to = known ? memory_name(tracks, dst, made[1], sizeof made[1]) : from;
    if (!known)
        snprintf(name, sizeof name, dst == LEGION_PARTITIONING ? "partitioning" : "copies");
    else if (src == LEGION_NO_MEMORY)
        snprintf(name, sizeof name, "fill %.*s", (int)to.bytes, to.text);
    else
        snprintf(name, sizeof name, "%.*s to %.*s", (int)from.bytes, from.text, (int)to.bytes,
                 to.text);
    return trace_add_track(tracks->trace, (struct trace_track){.process = tracks->process,
                                                               .kind = TRACE_CHANNEL,
                                                               .id = key,
                                                               .name = trace_text(name)});
}

uint32_t legion_tracks_channel(struct legion_tracks *tracks, uint32_t src, uint32_t dst)
{
    uint64_t key = (uint64_t)src << 32 | dst;
    uint32_t known = tracks->channel_map.count;
    uint32_t number = thread_map_place(&tracks->channel_map, key, &tracks->channel_tracks,
                                       &tracks->channel_room, sizeof *tracks->channel_tracks);
    if (number == THREAD_NONE) {
        legion_tracks_fail(tracks);
        return 0;
    }
    if (number == known)
        tracks->channel_tracks[number] = add_channel(tracks, key, src, dst);
    return tracks->channel_tracks[number];
}

uint32_t legion_tracks_memory(struct legion_tracks *tracks, uint64_t id)
{
    return id ? thread_map_number(&tracks->memory_map, id) : LEGION_NO_MEMORY;
}

void legion_tracks_stop(struct legion_tracks *tracks)
{
    thread_map_free(&tracks->channel_map);
    free(tracks->channel_tracks);
}

void legion_tracks_free(struct legion_tracks *tracks)
{
    thread_map_free(&tracks->proc_map);
    thread_map_free(&tracks->memory_map);
    free(tracks->procs);
}
