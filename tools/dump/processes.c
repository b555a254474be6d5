/* SPDX-License-Identifier: Apache-2.0 */
/* A line for each process, in the depth of its generation. */
#include "processes.h"

#include "grow.h"
#include "input.h"
#include "json_text.h"
#include "message.h"
#include "recorded_command.h"
#include "sorted.h"
#include "text_name.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Processes as their files describe them, and who is whose parent. */

/* Process ids are given again, so that parent and child are of one machine, and of several
 * processes with the parent's id it is the youngest that is not younger than the child. Files may
 * hold anything: nobody becomes his own ancestor. */

#define FAMILY_NONE UINT32_MAX

enum family_end {
    FAMILY_ENDED, /* its recording did, in order */
    FAMILY_RUNS,
    FAMILY_DIED
};

/* A process, or a further file of one. */
struct family_member {
    const char *file;
    char *title;   /* what it calls itself, else its program; NULL: not known */
    char *host;    /* NULL: not known */
    uint64_t pid;  /* 0: not known */
    int64_t elder; /* process id of its parent; 0: not known */
    uint8_t boot_id[16];
    int64_t born_ns; /* when it was started, since its machine was; 0: not known */
    /* Of its recording. Not known: both 0. Files of the first one's machine are on one axis. */
    int64_t start_ns, last_ns;
    enum family_end end;
    bool counted; /* the following are known */
    uint64_t records, threads;
    uint32_t parent, first_child, next_child; /* FAMILY_NONE: there is none */
    uint32_t depth;                           /* below the eldest */
    uint32_t next_file;                       /* of the same process; FAMILY_NONE: none */
    uint32_t further_files;
    bool further; /* it is one of those, and nobody's child */
};

struct family {
    struct family_member *members;
    uint32_t count, room;
    /* Of the machine of the first file that has one: wall clock - monotonic clock. */
    bool has_axis;
    uint8_t boot_id[16];
    int64_t ahead_ns;
    struct result_rows shown; /* parents before their children */
};

/* ---- what a file says ------------------------------------------------------------------- */

/* False without memory. */
static bool take_text(char **text_out, const char *text, size_t bytes)
{
    *text_out = bytes ? strndup(text, bytes) : NULL;
    return *text_out || bytes == 0;
}

/* What the process calls itself, else its program's name without folders. */
static bool take_title(struct family_member *member, const struct rbwp_trailer *trailer)
{
    struct recorded_command arguments = recorded_command_of(trailer);
    const char *text;
    size_t bytes;
    if (trailer->process_count && trailer->processes->title_bytes)
        return take_text(&member->title, trailer->processes->title,
                         trailer->processes->title_bytes);
    if (!recorded_command_next(&arguments, &text, &bytes) || bytes == 0)
        return true;
    const char *slash = memrchr(text, '/', bytes);
    size_t folders = slash ? (size_t)(slash + 1 - text) : 0;
    return take_text(&member->title, text + folders, bytes - folders);
}

static bool take_identity(struct family_member *member, const struct rbwp_trailer *trailer)
{
    member->pid = trailer->process_id;
    if (trailer->process_count) {
        memcpy(member->boot_id, trailer->processes->boot_id, sizeof member->boot_id);
        member->born_ns = trailer->processes->start_ns;
    }
    for (uint32_t i = 0; i < trailer->job_fact_count && !member->elder; i++)
        if (trailer->job_facts[i].what == RBWP_JOB_PARENT)
            member->elder = trailer->job_facts[i].number;
    return take_text(&member->host, trailer->host, trailer->host_bytes) &&
           take_title(member, trailer);
}

static bool is_known(const uint8_t boot_id[16])
{
    static const uint8_t unknown[16];
    return memcmp(boot_id, unknown, sizeof unknown) != 0;
}

static int64_t minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

/* By the wall clock, as the first file of its machine had it: that may be set, and the record times
 * of two processes count from clocks that were read one after the other. */
static void take_times(struct family *family, struct family_member *member,
                       const struct rbwp_trailer *trailer)
{
    int64_t shift_ns = 0;
    if (trailer->sample_count && is_known(member->boot_id)) {
        const struct rbwp_clock_sample *sample = &trailer->samples[0];
        int64_t ahead_ns = minus(sample->realtime_ns, sample->monotonic_ns);
        if (!family->has_axis) {
            family->has_axis = true;
            family->ahead_ns = ahead_ns;
            memcpy(family->boot_id, member->boot_id, sizeof family->boot_id);
        }
        if (memcmp(family->boot_id, member->boot_id, sizeof family->boot_id) == 0)
            ahead_ns = family->ahead_ns;
        shift_ns = minus(minus(sample->time_ns, sample->monotonic_ns), ahead_ns);
    }
    member->start_ns = minus(trailer->start_ns, shift_ns);
    member->last_ns = minus(trailer->stop_ns, shift_ns);
}

static void take_counts(struct family_member *member, const struct rbwp_trailer *trailer)
{
    member->counted = true;
    member->threads = trailer->thread_count;
    for (uint32_t i = 0; i < trailer->thread_count; i++)
        member->records += trailer->threads[i].records;
    for (uint32_t i = 0; i < trailer->left_count; i++)
        if (trailer->left[i].kind == RBWP_LEFT_THREADS) {
            member->threads += trailer->left[i].entries;
            member->records += trailer->left[i].records;
        }
}

/* False without memory. */
static bool family_add(struct family *family, const struct input *input)
{
    const struct rbwp_trailer *trailer = rbwp_reader_trailer(input->reader);
    bool finished = input_is_finished(input);
    struct family_member member = {.file = input->name,
                                   .parent = FAMILY_NONE,
                                   .first_child = FAMILY_NONE,
                                   .next_child = FAMILY_NONE,
                                   .next_file = FAMILY_NONE};
    if (!grow_array32(&family->members, &family->room, family->count + 1, sizeof member))
        return false;
    if (input_has_died(input))
        member.end = FAMILY_DIED;
    else if (!finished)
        member.end = FAMILY_RUNS;
    struct family_member *kept = &family->members[family->count++];
    *kept = member;
    if (!trailer)
        return true;
    if (finished)
        take_counts(kept, trailer);
    if (!take_identity(kept, trailer))
        return false;
    take_times(family, kept, trailer);
    return true;
}

/* ---- who belongs to whom ------------------------------------------------------------------ */

static int compare_starts(const void *left, const void *right)
{
    const struct family_member *a = left, *b = right;
    SORTED_BY(a, b, start_ns);
    SORTED_BY(a, b, pid);
    return strcmp(a->file, b->file);
}

static bool same_machine(const struct family_member *a, const struct family_member *b)
{
    if (is_known(a->boot_id) || is_known(b->boot_id))
        return memcmp(a->boot_id, b->boot_id, sizeof a->boot_id) == 0;
    return a->host && b->host && strcmp(a->host, b->host) == 0;
}

static bool same_process(const struct family_member *a, const struct family_member *b)
{
    return a->pid && a->pid == b->pid && a->born_ns && a->born_ns == b->born_ns &&
           same_machine(a, b);
}

/* Member number, which comes later than those before it, may be of a process that is there. */
static void join_files(struct family *family, uint32_t number)
{
    struct family_member *member = &family->members[number];
    for (uint32_t i = 0; i < number && !member->further; i++) {
        struct family_member *first = &family->members[i];
        if (first->further || !same_process(first, member))
            continue;
        member->next_file = first->next_file;
        first->next_file = number;
        first->further_files++;
        member->further = true;
        first->end = member->end;
        if (first->last_ns < member->last_ns)
            first->last_ns = member->last_ns;
        first->counted = first->counted && member->counted;
        first->records += member->records;
        if (first->threads < member->threads)
            first->threads = member->threads;
    }
}

static bool descends(const struct family *family, uint32_t from, uint32_t ancestor)
{
    while (from != FAMILY_NONE && from != ancestor)
        from = family->members[from].parent;
    return from == ancestor;
}

static uint32_t family_parent_of(const struct family *family, uint32_t number)
{
    const struct family_member *child = &family->members[number];
    uint32_t found = FAMILY_NONE;
    for (uint32_t i = 0; child->elder > 0 && i < family->count; i++) {
        const struct family_member *other = &family->members[i];
        if (other->pid == (uint64_t)child->elder && !other->further &&
            other->born_ns <= child->born_ns && same_machine(other, child) &&
            (found == FAMILY_NONE || family->members[found].born_ns <= other->born_ns))
            found = i;
    }
    return found == FAMILY_NONE || descends(family, found, number) ? FAMILY_NONE : found;
}

/* Puts them in the order of their starts, and says who belongs to whom. */
static void family_join(struct family *family)
{
    if (family->count)
        qsort(family->members, family->count, sizeof *family->members, compare_starts);
    for (uint32_t i = 0; i < family->count; i++)
        join_files(family, i);
    /* From the last on: each child is put before those that began later. */
    for (uint32_t i = family->count; i-- > 0;) {
        struct family_member *member = &family->members[i];
        if (member->further || (member->parent = family_parent_of(family, i)) == FAMILY_NONE)
            continue;
        member->next_child = family->members[member->parent].first_child;
        family->members[member->parent].first_child = i;
    }
}

static void family_free(struct family *family)
{
    for (uint32_t i = 0; i < family->count; i++) {
        free(family->members[i].title);
        free(family->members[i].host);
    }
    free(family->members);
    free(family->shown.order);
    *family = (struct family){0};
}

/* ---- columns -------------------------------------------------------------------------------- */

enum { NAME_COLUMNS = 36, DEPTH_SHOWN = 10 };

static void show_process(struct out *out, const struct result_at *at)
{
    const struct family_member *member = at->row;
    char name[256] = "(process not known)";
    unsigned indent = 2 * (member->depth < DEPTH_SHOWN ? member->depth : DEPTH_SHOWN);
    if (member->pid)
        snprintf(name, sizeof name, "%" PRIu64 " %s", member->pid,
                 member->title ? member->title : "(name not known)");
    out_format(out, "%*s", (int)indent, "");
    text_name_column(out, name, strlen(name), NAME_COLUMNS - indent);
}

static void put_files(struct out *out, const struct result_at *at)
{
    const struct family *family = at->all;
    json_open(out, "files", '[');
    for (const struct family_member *member = at->row;;
         member = &family->members[member->next_file]) {
        json_separate(out);
        json_string(out, member->file, strlen(member->file));
        if (member->next_file == FAMILY_NONE)
            break;
    }
    out_text(out, "]");
}

static const char *const end_names[] = {"ended", "runs", "died"};
enum { START, END, THREADS, RECORDS };
RESULT_MAKES(member_parent, family_member,
             row->elder > 0 ? result_i64(row->elder) : result_nothing())
RESULT_MAKES(member_time, family_member,
             what == END && row->end != FAMILY_ENDED ? result_word(end_names[row->end])
             : row->start_ns == 0                    ? result_word("?")
                                  : result_i64(what == END ? row->last_ns : row->start_ns))
RESULT_MAKES(member_count, family_member,
             row->counted ? result_u64(what == THREADS ? row->threads : row->records)
                          : result_nothing())

#define MEMBER(field) RESULT_FIELD(struct family_member, field)
static const struct result_column member_columns[] = {
    {"process", "process", -NAME_COLUMNS, RESULT_ID, MEMBER(pid), .show = show_process},
    {NULL, "start", 17, RESULT_TIME, RESULT_MADE(member_time, START)},
    {NULL, "end", 17, RESULT_TIME, RESULT_MADE(member_time, END)},
    {"parent", NULL, 0, RESULT_ID, RESULT_MADE(member_parent, 0), .nullable = true},
    {"depth", NULL, 0, RESULT_COUNT, MEMBER(depth)},
    {"name", NULL, 0, RESULT_STRING, MEMBER(title), .nullable = true},
    {"host", NULL, 0, RESULT_STRING, MEMBER(host), .nullable = true},
    {"state", NULL, 0, RESULT_CHOICE, MEMBER(end), .words = end_names, .what = 3},
    {"start", NULL, 0, RESULT_TIME, MEMBER(start_ns)},
    {"last", NULL, 0, RESULT_TIME, MEMBER(last_ns)},
    {"threads", "threads", 9, RESULT_ID, RESULT_MADE(member_count, THREADS), .nullable = true},
    {"records", "records", 15, RESULT_COUNT, RESULT_MADE(member_count, RECORDS), .nullable = true},
    {"files", "file", 0, RESULT_STRING, MEMBER(file), .put = put_files,
     .form = "{\"type\":\"array\",\"items\":{\"type\":\"string\"}}"},
    RESULT_LAST};
static const struct result_table members_table = {
    "processes", NULL, member_columns, "process,start,end,threads,records,file", NULL, 0};

const struct result_column processes_columns[] = {
    {"processes", NULL, 0, RESULT_LIST, .list = &members_table, RESULT_ROWS(struct family, shown)},
    RESULT_LAST};

/* ---- lines ---------------------------------------------------------------------------------- */

/* The eldest and all who descend from it, each before its children. */
static void order_tree(struct family *family, uint32_t eldest)
{
    struct family_member *members = family->members;
    uint32_t at = eldest, depth = 0;
    for (;;) {
        members[at].depth = depth;
        family->shown.order[family->shown.count++] = at;
        if (members[at].first_child != FAMILY_NONE) {
            at = members[at].first_child;
            depth++;
            continue;
        }
        while (at != eldest && members[at].next_child == FAMILY_NONE) {
            at = members[at].parent;
            depth--;
        }
        if (at == eldest)
            return;
        at = members[at].next_child;
    }
}

static void show_further(const struct result_view *view, const struct result_at *at)
{
    const struct family_member *member = at->row;
    if (member->further_files)
        out_format(view->out, " and %" PRIu32 " more", member->further_files);
}

static const char *color_of_end(const struct colors *colors, const void *row)
{
    return ((const struct family_member *)row)->end == FAMILY_DIED ? colors->red : "";
}

static void show_processes(struct out *out, struct family *family,
                           const struct processes_options *options)
{
    struct result_view view = {
        out, terminal_colors(&options->terminal, out->fd), UINT16_MAX, false, 0, NULL};
    struct result_layout layout = result_layout(&view, &members_table, NULL, 0);
    layout.color = color_of_end;
    family->shown = result_ordered(family->members, sizeof *family->members, family->count);
    family->shown.count = 0;
    for (uint32_t i = 0; i < family->count && family->shown.order; i++)
        if (family->members[i].parent == FAMILY_NONE && !family->members[i].further)
            order_tree(family, i);
    for (uint32_t i = 0; i < family->count && view.zero_ns == 0; i++)
        view.zero_ns = family->members[i].start_ns;
    if (!family->shown.order)
        out_give_up(out, ENOMEM);
    if (options->json || options->csv)
        result_lines(out, processes_columns, options->csv, true, family);
    else
        result_text(&view, &members_table, &layout, &family->shown, family, show_further);
}

/* A program that stops meanwhile finishes its file, then takes FILE.live away: the file is looked
 * at again before it is called that of one who died. */
static bool open_settled(struct input *input, const char *path)
{
    if (!input_open(input, path, true))
        return false;
    if (rbwp_reader_header(input->reader)->descriptor_offset || input->live ||
        strcmp(path, "-") == 0)
        return true;
    input_leave(input);
    return input_open(input, path, true);
}

static enum exit_code processes_gather(struct family *family, struct operands files)
{
    enum exit_code code = EXIT_GOOD;
    for (int i = 0; i < files.count; i++) {
        struct input input;
        if (!open_settled(&input, files.words[i])) {
            code = EXIT_PARTIAL;
            continue;
        }
        bool taken = family_add(family, &input);
        input_leave(&input);
        if (!taken)
            return message_bad_data("out of memory");
    }
    return family->count || files.count == 0 ? code : EXIT_BAD_DATA;
}

enum exit_code processes_show(const struct processes_options *options, struct operands files)
{
    struct family family = {0};
    struct out out;
    if (!out_open(&out, &options->output, files))
        return EXIT_BAD_DATA;
    enum exit_code code = processes_gather(&family, files);
    if (code == EXIT_BAD_DATA) {
        out_discard(&out);
    } else {
        family_join(&family);
        show_processes(&out, &family, options);
    }
    family_free(&family);
    return exit_worse(code, out_close(&out));
}
