/* SPDX-License-Identifier: Apache-2.0 */
#include "legion_tracks.h"
#include "sorted.h"

#include "message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- how a record of a Legion Prof log is read ----------------------------------------------- */
/*
 * What the log declares of its kind, corrected where writers are known to declare what they do not
 * write.
 *
 * Declarations become layouts: lists of steps that a record is read by.
 */

enum { STEP_NOT_WANTED = LEGION_FIELDS, STEP_WANTED_TEXT = LEGION_FIELDS + 1 };

enum step_shape { STEP_FIXED, STEP_TEXT, STEP_POINT, STEP_ARRAY, STEP_UUID };

struct step {
    char name[24];
    uint8_t shape; /* enum step_shape */
    uint8_t field; /* enum legion_field, STEP_NOT_WANTED or STEP_WANTED_TEXT */
    bool only_reduce;
    uint32_t bytes; /* of STEP_FIXED */
};

struct legion_layout {
    uint32_t id;
    enum legion_kind kind;
    char name[48];
    enum legion_layout_state { LAYOUT_USED, LAYOUT_LEFT_OUT, LAYOUT_UNKNOWN, LAYOUT_LACKS } state;
    uint64_t lacks; /* fields, as bits; of LAYOUT_LACKS those without which it is dropped */
    uint64_t records;
    uint32_t count;
    struct step *steps;
};

#define F(field) (UINT64_C(1) << LEGION_##field)
#define T (UINT64_C(1) << 63) /* a text */
#define TIMES (F(START) | F(STOP))

/* Kinds that rows are made of, and what must be declared for that. */
static const struct {
    const char *name;
    uint64_t needed;
    bool by_place; /* of few fields, whose names say little */
    uint64_t used; /* of use, where they are declared */
} kinds[LEGION_OTHER] = {
    [LEGION_MACHINE] = {"MachineDesc", F(NODE_ID) | F(NUM_NODES), false, T | F(PROCESS_ID)},
    [LEGION_ZERO_TIME] = {"ZeroTime", F(VALUE), true, 0},
    [LEGION_CALIBRATION_ERROR] = {"CalibrationErr", F(VALUE), true, 0},
    [LEGION_MAX_DIM] = {"MaxDimDesc", F(VALUE), true, 0},
    [LEGION_PROC] = {"ProcDesc", F(PROC_ID) | F(KIND), false, 0},
    [LEGION_MEM] = {"MemDesc", F(MEM_ID) | F(KIND), false, 0},
    [LEGION_TASK_KIND] = {"TaskKind", F(TASK_ID) | T, false, 0},
    [LEGION_TASK_VARIANT] = {"TaskVariant", F(TASK_ID) | F(VARIANT_ID) | T, false, 0},
    [LEGION_META] = {"MetaDesc", F(KIND) | T, false, 0},
    [LEGION_RUNTIME_CALL_KIND] = {"RuntimeCallDesc", F(KIND) | T, false, 0},
    [LEGION_MAPPER_CALL_KIND] = {"MapperCallDesc", F(KIND) | T, false, 0},
    [LEGION_PROVENANCE] = {"Provenance", F(VALUE) | T, true, 0},
    [LEGION_TASK] = {"TaskInfo", F(OP_ID) | F(TASK_ID) | F(VARIANT_ID) | F(PROC_ID) | TIMES, false,
                     0},
    [LEGION_IMPLICIT_TASK] = {"ImplicitTaskInfo",
                              F(OP_ID) | F(TASK_ID) | F(VARIANT_ID) | F(PROC_ID) | TIMES, false, 0},
    [LEGION_GPU_TASK] = {"GPUTaskInfo",
                         F(OP_ID) | F(TASK_ID) | F(VARIANT_ID) | F(PROC_ID) | TIMES | F(GPU_START) |
                             F(GPU_STOP),
                         false, 0},
    [LEGION_META_TASK] = {"MetaInfo", F(OP_ID) | F(LG_ID) | F(PROC_ID) | TIMES, false, 0},
    [LEGION_MESSAGE] = {"MessageInfo", F(OP_ID) | F(LG_ID) | F(PROC_ID) | TIMES, false,
                        F(SPAWN) | F(CREATE) | F(CREATOR)},
    [LEGION_PROF_TASK] = {"ProfTaskInfo", F(PROC_ID) | TIMES, false, 0},
    [LEGION_TASK_WAIT] = {"TaskWaitInfo", F(OP_ID) | F(WAIT_START) | F(WAIT_READY) | F(WAIT_END),
                          false, 0},
    [LEGION_META_WAIT] = {"MetaWaitInfo",
                          F(OP_ID) | F(LG_ID) | F(WAIT_START) | F(WAIT_READY) | F(WAIT_END), false,
                          0},
    [LEGION_RUNTIME_CALL] = {"RuntimeCallInfo", F(KIND) | F(PROC_ID) | TIMES, false, 0},
    [LEGION_MAPPER_CALL] = {"MapperCallInfo", F(KIND) | F(PROC_ID) | TIMES, false, 0},
    [LEGION_APPLICATION_CALL] = {"ApplicationCallInfo", F(PROVENANCE_ID) | F(PROC_ID) | TIMES,
                                 false, 0},
    [LEGION_COPY] = {"CopyInfo", TIMES, false, F(FEVENT)},
    [LEGION_COPY_INST] = {"CopyInstInfo", F(FEVENT) | F(SRC) | F(DST), false, 0},
    [LEGION_FILL] = {"FillInfo", TIMES, false, F(FEVENT)},
    [LEGION_FILL_INST] = {"FillInstInfo", F(FEVENT) | F(DST), false, 0},
    [LEGION_PARTITION] = {"PartitionInfo", TIMES, false, 0},
};

static const char *const field_names[LEGION_FIELDS] = {
    [LEGION_OP_ID] = "op_id",
    [LEGION_TASK_ID] = "task_id",
    [LEGION_VARIANT_ID] = "variant_id",
    [LEGION_LG_ID] = "lg_id",
    [LEGION_KIND] = "kind",
    [LEGION_PROC_ID] = "proc_id",
    [LEGION_MEM_ID] = "mem_id",
    [LEGION_READY] = "ready",
    [LEGION_START] = "start",
    [LEGION_STOP] = "stop",
    [LEGION_GPU_START] = "gpu_start",
    [LEGION_GPU_STOP] = "gpu_stop",
    [LEGION_SPAWN] = "spawn",
    [LEGION_CREATE] = "create",
    [LEGION_CREATOR] = "creator",
    [LEGION_FEVENT] = "fevent",
    [LEGION_WAIT_START] = "wait_start",
    [LEGION_WAIT_READY] = "wait_ready",
    [LEGION_WAIT_END] = "wait_end",
    [LEGION_PROVENANCE_ID] = "provenance",
    [LEGION_SRC] = "src",
    [LEGION_DST] = "dst",
    [LEGION_NODE_ID] = "node_id",
    [LEGION_NUM_NODES] = "num_nodes",
    [LEGION_VERSION] = "version",
    [LEGION_PROCESS_ID] = "process_id",
    [LEGION_PRIVILEGE] = "privilege",
    [LEGION_VALUE] = "",
};

/* Kinds that say nothing of when something ran; a version may have others. */
static const char *const passed_over[] = {
    "MapperName",
    "OpDesc",
    "RuntimeConfig",
    "OperationInstance",
    "MultiTask",
    "SliceOwner",
    "InstTimelineInfo",
    "ProcMDesc",
    "IndexSpacePointDesc",
    "IndexSpaceRectDesc",
    "IndexSpaceEmptyDesc",
    "FieldDesc",
    "FieldSpaceDesc",
    "PartDesc",
    "IndexPartitionDesc",
    "IndexSpaceDesc",
    "IndexSubSpaceDesc",
    "LogicalRegionDesc",
    "PhysicalInstRegionDesc",
    "PhysicalInstLayoutDesc",
    "PhysicalInstDimOrderDesc",
    "PhysicalInstanceUsage",
    "IndexSpaceSizeDesc",
    "BacktraceDesc",
    "EventWaitInfo",
    "EventMergerInfo",
    "EventTriggerInfo",
    "EventPoisonInfo",
    "BarrierArrivalInfo",
    "ReservationAcquireInfo",
    "InstanceReadyInfo",
    "InstanceRedistrictInfo",
    "CompletionQueueInfo",
    "SpawnInfo",
    "ExternalEventInfo",
    "AsyncEffectInfo",
    "PhysicalInstanceSpaces",
    "PartitionInstInfo",
    "MakeValidInfo",
    "FetchMetadataInfo",
};

static bool is_passed_over(const char *name)
{
    size_t i = 0, count = sizeof passed_over / sizeof passed_over[0];
    while (i < count && strcmp(passed_over[i], name) != 0)
        i++;
    return i < count;
}

static enum legion_kind kind_named(const char *name)
{
    int i = 0;
    while (i < LEGION_OTHER && strcmp(kinds[i].name, name) != 0)
        i++;
    return (enum legion_kind)i;
}

static uint8_t field_named(const char *name)
{
    int i = 0;
    while (i < LEGION_VALUE && strcmp(field_names[i], name) != 0)
        i++;
    return (uint8_t)(i < LEGION_VALUE ? i : STEP_NOT_WANTED);
}

/* ---- declarations ---------------------------------------------------------------- */

static bool parse_u32(const char **at, uint32_t *value_out)
{
    char *end;
    if (**at < '0' || **at > '9')
        return false;
    unsigned long long value = strtoull(*at, &end, 10);
    *at = end;
    *value_out = (uint32_t)value;
    return value <= UINT32_MAX;
}

static void copy_name(char *to, size_t room, const char *from, size_t bytes)
{
    snprintf(to, room, "%.*s", (int)(bytes < room ? bytes : room - 1), from);
}

/* "name:type:size" up to ", " or "}". The type may hold blanks, the size is decimal or -1. */
static bool parse_step(const char **at, struct step *step)
{
    const char *name_end = strchr(*at, ':');
    const char *type_end = name_end ? strchr(name_end + 1, ':') : NULL;
    if (!type_end)
        return false;
    size_t type_bytes = (size_t)(type_end - name_end - 1);
    copy_name(step->name, sizeof step->name, *at, (size_t)(name_end - *at));
    step->field = field_named(step->name);
    *at = type_end + 1;
    if (strncmp(*at, "-1", 2) == 0) {
        *at += 2;
        step->shape = STEP_TEXT;
        return true;
    }
    static const struct {
        const char *type;
        enum step_shape shape;
    } shapes[] = {{"point", STEP_POINT}, {"array", STEP_ARRAY}, {"uuid", STEP_UUID}};
    step->shape = STEP_FIXED;
    for (int i = 0; i < 3; i++)
        if (strlen(shapes[i].type) == type_bytes &&
            strncmp(shapes[i].type, name_end + 1, type_bytes) == 0)
            step->shape = (uint8_t)shapes[i].shape;
    return parse_u32(at, &step->bytes);
}

/* "index" is found as index_id, too. */
static struct step *find_step(struct legion_layout *layout, const char *name)
{
    size_t bytes = strlen(name);
    for (uint32_t i = 0; i < layout->count; i++) {
        const char *found = layout->steps[i].name;
        if (strncmp(found, name, bytes) == 0 &&
            (!found[bytes] || strcmp(found + bytes, "_id") == 0))
            return &layout->steps[i];
    }
    return NULL;
}

/* The declaration lacks "collective", which is written before fill_expr. */
static void correct_fill(struct legion_layout *layout)
{
    struct step *expression = find_step(layout, "fill_expr");
    if (!expression || find_step(layout, "collective") || layout->count == LEGION_FIELDS_MAX)
        return;
    struct step *end = layout->steps + layout->count++;
    memmove(expression + 1, expression, (size_t)(end - expression) * sizeof *expression);
    *expression = (struct step){.name = "collective", .field = STEP_NOT_WANTED, .bytes = 4};
}

/* Written in the order index_expr, field, index, privilege; redop only for reductions. */
static void correct_usage(struct legion_layout *layout)
{
    static const char *const order[] = {"index_expr", "field", "index", "privilege", "redop"};
    struct step moved[LEGION_FIELDS_MAX];
    uint32_t count = 0;
    struct step *redop = find_step(layout, "redop"), *privilege = find_step(layout, "privilege");
    if (!redop || !privilege)
        return;
    redop->only_reduce = true;
    for (uint32_t i = 0; i < layout->count; i++) {
        bool listed = false;
        for (int j = 0; j < 5; j++)
            listed |= find_step(layout, order[j]) == &layout->steps[i];
        if (!listed)
            moved[count++] = layout->steps[i];
    }
    for (int j = 0; j < 5; j++) {
        struct step *step = find_step(layout, order[j]);
        if (step)
            moved[count++] = *step;
    }
    memcpy(layout->steps, moved, count * sizeof *moved);
}

/* Declarations that are known not to be what is written, by the first version that has them. */
static const struct {
    uint32_t from_version;
    const char *kind;
    void (*correct)(struct legion_layout *layout);
} corrections[] = {{1009, "FillInfo", correct_fill},
                   {1009, "PhysicalInstanceUsage", correct_usage}};

/* Which fields of a kind that is known are wanted; those that are declared, as bits. */
static uint64_t choose_fields(struct legion_layout *layout, bool by_place)
{
    uint64_t declared = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        struct step *step = &layout->steps[i];
        if (by_place && step->shape == STEP_FIXED && !(declared & F(VALUE)))
            step->field = LEGION_VALUE;
        if (step->shape == STEP_TEXT)
            step->field = declared & T ? STEP_NOT_WANTED : STEP_WANTED_TEXT;
        else if (step->shape != STEP_FIXED || step->bytes > 8)
            step->field = STEP_NOT_WANTED;
        if (step->field != STEP_NOT_WANTED)
            declared |= step->field == STEP_WANTED_TEXT ? T : UINT64_C(1) << step->field;
    }
    return declared;
}

/* A kind without what it needs is none. */
static void judge_layout(struct legion_layout *layout)
{
    enum legion_kind kind = layout->kind;
    bool known = kind != LEGION_OTHER;
    uint64_t declared = choose_fields(layout, known && kinds[kind].by_place);
    if (!known) {
        layout->state = is_passed_over(layout->name) ? LAYOUT_LEFT_OUT : LAYOUT_UNKNOWN;
    } else if (kinds[kind].needed & ~declared) {
        layout->state = LAYOUT_LACKS;
        layout->lacks = kinds[kind].needed & ~declared;
        layout->kind = LEGION_OTHER;
    } else {
        layout->lacks = kinds[kind].used & ~declared;
    }
}

static const char *parse_fields(const char *at, struct legion_layout *layout)
{
    while (strncmp(at, ", ", 2) == 0) {
        at += 2;
        if (layout->count == LEGION_FIELDS_MAX)
            return "too many fields";
        if (!parse_step(&at, &layout->steps[layout->count++]))
            return "a field that is not name:type:size";
    }
    return strcmp(at, "}") == 0 ? NULL : "a declaration that does not end with }";
}

/* "Name {id:NUMBER, field, field}", terminated. NULL, or what is wrong with it. The caller frees
 * layout_out->steps. */
static const char *legion_layout_parse(const char *line, uint32_t version,
                                       struct legion_layout *layout_out)
{
    const char *at = strstr(line, " {id:");
    struct legion_layout layout = {0};
    *layout_out = layout;
    if (!at)
        return "no record kind";
    copy_name(layout.name, sizeof layout.name, line, (size_t)(at - line));
    layout.kind = kind_named(layout.name);
    at += strlen(" {id:");
    if (!parse_u32(&at, &layout.id))
        return "a record kind without a number";
    layout.steps = calloc(LEGION_FIELDS_MAX, sizeof *layout.steps);
    if (!layout.steps)
        return "out of memory";
    const char *wrong = parse_fields(at, &layout);
    for (size_t i = 0; !wrong && i < sizeof corrections / sizeof corrections[0]; i++)
        if (version >= corrections[i].from_version && strcmp(corrections[i].kind, layout.name) == 0)
            corrections[i].correct(&layout);
    judge_layout(&layout);
    *layout_out = layout;
    return wrong;
}

/* ---- what is missing ------------------------------------------------------------- */

struct list {
    char text[900];
    size_t used;
    uint32_t more; /* kinds that found no room */
};

static void put_count(struct list *list, const struct legion_layout *layout)
{
    if (list->used > sizeof list->text - 100)
        list->more++;
    else
        list->used += (size_t)snprintf(list->text + list->used, sizeof list->text - list->used,
                                       "%s%" PRIu64 " %s", list->used ? ", " : "", layout->records,
                                       layout->name);
}

static void report_kinds(const char *name, const struct legion_layout *layouts, uint32_t count,
                         enum legion_layout_state state, const char *what)
{
    struct list list = {0};
    for (uint32_t i = 0; i < count; i++)
        if (layouts[i].records && layouts[i].state == state)
            put_count(&list, &layouts[i]);
    if (list.used && list.more)
        message("%s: %s, by kind: %s and %" PRIu32 " kinds more", name, what, list.text, list.more);
    else if (list.used)
        message("%s: %s, by kind: %s", name, what, list.text);
}

/* "spawn, creator" */
static void list_fields(char *text, size_t room, uint64_t fields)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i <= LEGION_FIELDS && used + 32 < room; i++) {
        bool lacks = i < LEGION_FIELDS ? fields >> i & 1 : (fields & T) != 0;
        const char *field = i == LEGION_FIELDS  ? "text"
                            : i == LEGION_VALUE ? "value"
                                                : field_names[i];
        if (lacks)
            used += (size_t)snprintf(text + used, room - used, "%s%s", used ? ", " : "", field);
    }
}

/* Of the records that were read: what is left out, and what is missing, by kind. */
static void legion_layouts_report(const char *name, const struct legion_layout *layouts,
                                  uint32_t count)
{
    char fields[512];
    report_kinds(name, layouts, count, LAYOUT_LEFT_OUT, "records dropped");
    report_kinds(name, layouts, count, LAYOUT_UNKNOWN, "records dropped that nothing is known of");
    for (uint32_t i = 0; i < count; i++) {
        if (!layouts[i].records || !layouts[i].lacks)
            continue;
        list_fields(fields, sizeof fields, layouts[i].lacks);
        if (layouts[i].state == LAYOUT_LACKS)
            message("%s: %" PRIu64 " %s are dropped: they are declared without %s", name,
                    layouts[i].records, layouts[i].name, fields);
        else
            message("%s: %" PRIu64 " %s are declared without %s", name, layouts[i].records,
                    layouts[i].name, fields);
    }
}

/* ---- legion log ------------------------------------------------------------------------------ */

enum { LINE_MAX_BYTES = 16 << 10, NEWEST_VERSION = 1011 };

/* ---- declarations ---------------------------------------------------------------- */

static bool legion_log_refuse(const struct legion_log *log, const char *what, const char *where)
{
    return message_fail("%s: no Legion Prof log that can be read: %s%s%.60s", log->name, what,
                        *where ? " in: " : "", where);
}

/* Terminated, without the line feed; false when there is none. */
static bool read_line(struct legion_log *log, char *line)
{
    for (size_t bytes = 0; bytes < LINE_MAX_BYTES; bytes++) {
        int byte = unpack_byte(&log->bytes);
        if (byte <= 0)
            return legion_log_refuse(log, "its declarations are cut", "");
        line[bytes] = (char)byte;
        if (byte == '\n') {
            line[bytes] = '\0';
            return true;
        }
    }
    return legion_log_refuse(log, "a line of its declarations does not end", "");
}

static bool add_declaration(struct legion_log *log, const char *line)
{
    if (log->layout_count == LEGION_KINDS_MAX)
        return legion_log_refuse(log, "too many record kinds", "");
    if (!GROW_ARRAY(log->layouts, log->layout_room, log->layout_count + 1))
        return legion_log_refuse(log, "out of memory", "");
    const char *wrong = legion_layout_parse(line, log->version, &log->layouts[log->layout_count++]);
    return !wrong || legion_log_refuse(log, wrong, line);
}

SORTED_COMPARE(by_id, struct legion_layout, it->id)

static bool legion_log_read_head(struct legion_log *log, char *line)
{
    if (!read_line(log, line))
        return false;
    const char *version = line + strlen(LEGION_MAGIC);
    if (strncmp(line, LEGION_MAGIC, strlen(LEGION_MAGIC)) != 0)
        return legion_log_refuse(log, "it does not begin with " LEGION_MAGIC, "");
    log->dialect_b = !strchr(version, '.');
    if (!log->dialect_b)
        return true;
    char *end;
    unsigned long number = strtoul(version, &end, 10);
    if (*version < '0' || *version > '9' || *end || number > UINT32_MAX)
        return legion_log_refuse(log, "its version is no number", line);
    log->version = (uint32_t)number;
    return read_line(log, line); /* free text: which Legion it was */
}

static bool read_declarations(struct legion_log *log)
{
    char *line = malloc(LINE_MAX_BYTES);
    if (!line)
        return message_fail("out of memory");
    bool good = legion_log_read_head(log, line);
    while (good && (good = read_line(log, line)) && *line)
        good = add_declaration(log, line);
    free(line);
    if (!good)
        return false;
    if (log->layout_count)
        qsort(log->layouts, log->layout_count, sizeof *log->layouts, by_id);
    for (uint32_t i = 1; i < log->layout_count; i++)
        if (log->layouts[i].id == log->layouts[i - 1].id)
            return legion_log_refuse(log, "two record kinds have the same number", "");
    return true;
}

bool legion_log_open(struct legion_log *log, int fd, const char *name)
{
    *log = (struct legion_log){.name = name, .max_dim = 3};
    log->text = malloc(LEGION_TEXT_MAX);
    if (!log->text || !unpack_start(&log->bytes, fd)) {
        free(log->text);
        return message_fail("out of memory");
    }
    if (read_declarations(log))
        return true;
    legion_log_close(log);
    return false;
}

void legion_log_close(struct legion_log *log)
{
    for (uint32_t i = 0; i < log->layout_count; i++)
        free(log->layouts[i].steps);
    free(log->layouts);
    free(log->text);
    unpack_stop(&log->bytes);
}

/* ---- records --------------------------------------------------------------------- */

static uint64_t little_endian(const uint8_t *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static bool read_text(struct legion_log *log, struct legion_record *record, bool wanted)
{
    uint32_t bytes = 0;
    for (int byte; (byte = unpack_byte(&log->bytes)) != 0;) {
        if (byte < 0)
            return false;
        if (bytes < LEGION_TEXT_MAX && wanted)
            log->text[bytes++] = (char)byte;
    }
    if (wanted)
        record->text = (struct trace_text){log->text, bytes};
    return true;
}

static bool read_fixed(struct legion_log *log, struct legion_record *record,
                       const struct step *step, uint64_t *last)
{
    uint8_t bytes[8];
    if (step->bytes > sizeof bytes)
        return unpack_skip(&log->bytes, step->bytes);
    if (!unpack_bytes(&log->bytes, bytes, step->bytes))
        return false;
    *last = little_endian(bytes, step->bytes);
    if (step->field != STEP_NOT_WANTED)
        record->value[step->field] = *last;
    return true;
}

/* A uuid has as many bytes as the number before it says. */
static bool read_fields(struct legion_log *log, const struct legion_layout *layout,
                        struct legion_record *record)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < layout->count; i++) {
        const struct step *step = &layout->steps[i];
        bool good = true;
        if (step->only_reduce && record->value[LEGION_PRIVILEGE] != 4)
            continue;
        switch ((enum step_shape)step->shape) {
        case STEP_FIXED:
            good = read_fixed(log, record, step, &last);
            break;
        case STEP_TEXT:
            good = read_text(log, record, step->field == STEP_WANTED_TEXT);
            break;
        case STEP_POINT:
            good = unpack_skip(&log->bytes, UINT64_C(8) * log->max_dim);
            break;
        case STEP_ARRAY:
            good = unpack_skip(&log->bytes, UINT64_C(16) * log->max_dim);
            break;
        case STEP_UUID:
            good = unpack_skip(&log->bytes, last);
            break;
        }
        if (!good)
            return false;
    }
    return true;
}

/* The end came inside a record, which began at start. */
static bool legion_log_cut(struct legion_log *log, uint64_t start)
{
    log->cut_bytes = unpack_offset(&log->bytes) - start;
    snprintf(log->problem, sizeof log->problem,
             "cut: the last %" PRIu64 " bytes are no whole record%s%s", log->cut_bytes,
             log->bytes.problem ? "; " : "", log->bytes.problem ? log->bytes.problem : "");
    return false;
}

static bool undeclared(struct legion_log *log, uint32_t id, uint64_t start)
{
    snprintf(log->problem, sizeof log->problem,
             "record kind %" PRIu32 " at byte %" PRIu64
             " is not declared; what follows cannot be read",
             id, start);
    return false;
}

bool legion_log_next(struct legion_log *log, struct legion_record *record)
{
    uint8_t bytes[4];
    uint64_t start = unpack_offset(&log->bytes);
    if (unpack_peek(&log->bytes) < 0) {
        if (log->bytes.problem)
            snprintf(log->problem, sizeof log->problem, "%s", log->bytes.problem);
        return false;
    }
    if (!unpack_bytes(&log->bytes, bytes, sizeof bytes))
        return legion_log_cut(log, start);
    struct legion_layout key = {.id = (uint32_t)little_endian(bytes, sizeof bytes)};
    struct legion_layout *layout =
        log->layout_count
            ? bsearch(&key, log->layouts, log->layout_count, sizeof *log->layouts, by_id)
            : NULL;
    if (!layout)
        return undeclared(log, key.id, start);
    memset(record->value, 0, sizeof record->value);
    record->kind = layout->kind;
    record->text = (struct trace_text){"", 0};
    if (!read_fields(log, layout, record))
        return legion_log_cut(log, start);
    log->records++;
    layout->records++;
    log->skipped += layout->kind == LEGION_OTHER;
    if (layout->kind == LEGION_MAX_DIM)
        log->max_dim = (uint32_t)record->value[LEGION_VALUE];
    if (layout->kind == LEGION_MACHINE && !log->dialect_b)
        log->version = (uint32_t)record->value[LEGION_VERSION];
    return true;
}

void legion_log_report(const struct legion_log *log)
{
    if (log->version > NEWEST_VERSION)
        message("%s: version %" PRIu32 " is newer than what is known (%d): it is read by what it "
                "declares",
                log->name, log->version, NEWEST_VERSION);
    legion_layouts_report(log->name, log->layouts, log->layout_count);
}
