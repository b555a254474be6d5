/* SPDX-License-Identifier: Apache-2.0 */
/* A line for each process, in the depth of its generation. */
#include "processes.h"

#include "family.h"
#include "json_text.h"
#include "message.h"
#include "quantity.h"
#include "text_name.h"

#include <inttypes.h>
#include <stdio.h>

enum { NAME_COLUMNS = 36, DEPTH_SHOWN = 10 };

struct view {
    const struct family *family;
    struct out *out;
    struct colors colors;
    bool json;
    int64_t zero_ns; /* the first start of all */
};

static void name_column(const struct view *view, const struct family_member *member, uint32_t depth)
{
    char name[256];
    unsigned indent = 2 * (depth < DEPTH_SHOWN ? depth : DEPTH_SHOWN);
    snprintf(name, sizeof name, "%" PRIu64 " %s", member->pid,
             member->title ? member->title : "(name not known)");
    out_format(view->out, "%*s", (int)indent, "");
    unsigned used =
        text_name_fit(view->out, member->pid ? name : "(process not known)",
                      strlen(member->pid ? name : "(process not known)"), NAME_COLUMNS - indent);
    out_format(view->out, "%*s", (int)(NAME_COLUMNS - indent - used), "");
}

static void time_column(const struct view *view, const struct family_member *member, int64_t ns)
{
    char text[QUANTITY_BYTES] = "?";
    if (member->start_ns)
        quantity_time(text, ns, view->zero_ns);
    out_format(view->out, "  %15s", text);
}

static uint32_t count_files(const struct family *family, const struct family_member *member)
{
    uint32_t count = 1;
    while (member->next_file != FAMILY_NONE) {
        member = &family->members[member->next_file];
        count++;
    }
    return count;
}

static void line(const struct view *view, const struct family_member *member, uint32_t depth)
{
    struct out *out = view->out;
    char records[QUANTITY_BYTES];
    uint32_t files = count_files(view->family, member);
    name_column(view, member, depth);
    time_column(view, member, member->start_ns);
    if (member->end == FAMILY_ENDED)
        time_column(view, member, member->last_ns);
    else
        out_format(out, "  %s%15s%s", member->end == FAMILY_DIED ? view->colors.red : "",
                   member->end == FAMILY_RUNS ? "runs" : "died", view->colors.off);
    if (member->counted)
        out_format(out, "  %7" PRIu64 "  %13s  ", member->threads,
                   quantity_grouped(records, member->records));
    else
        out_format(out, "  %7s  %13s  ", "-", "-");
    text_name(out, member->file, strlen(member->file));
    if (files > 1)
        out_format(out, " and %" PRIu32 " more", files - 1);
    out_text(out, "\n");
}

static void optional_name(struct out *out, const char *key, const char *text)
{
    if (text)
        json_name(out, key, text, strlen(text));
    else
        json_null(out, key);
}

static void json_line(const struct view *view, const struct family_member *member, uint32_t depth)
{
    static const char *const end_names[] = {"ended", "runs", "died"};
    struct out *out = view->out;
    const struct family *family = view->family;
    out_text(out, "{");
    json_u64(out, "process", member->pid);
    json_known_i64(out, "parent", member->elder > 0, member->elder);
    json_u64(out, "depth", depth);
    optional_name(out, "name", member->title);
    optional_name(out, "host", member->host);
    json_plain(out, "state", end_names[member->end]);
    json_i64(out, "start", member->start_ns);
    json_i64(out, "last", member->last_ns);
    json_known_u64(out, "threads", member->counted, member->threads);
    json_known_u64(out, "records", member->counted, member->records);
    json_open(out, "files", '[');
    json_string(out, member->file, strlen(member->file));
    for (uint32_t i = member->next_file; i != FAMILY_NONE; i = family->members[i].next_file) {
        out_text(out, ",");
        json_string(out, family->members[i].file, strlen(family->members[i].file));
    }
    out_text(out, "]}\n");
}

/* The eldest and all who descend from it, each before its children. */
static void show_tree(const struct view *view, uint32_t eldest)
{
    const struct family_member *members = view->family->members;
    uint32_t at = eldest, depth = 0;
    for (;;) {
        (view->json ? json_line : line)(view, &members[at], depth);
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

static void show(struct view *view)
{
    const struct family *family = view->family;
    for (uint32_t i = 0; i < family->count && view->zero_ns == 0; i++)
        view->zero_ns = family->members[i].start_ns;
    if (!view->json)
        out_format(view->out, "%s%-*s  %15s  %15s  %7s  %13s  file%s\n", view->colors.bold,
                   NAME_COLUMNS, "process", "start", "end", "threads", "records", view->colors.off);
    for (uint32_t i = 0; i < family->count && !out_failed(view->out); i++)
        if (family->members[i].parent == FAMILY_NONE && !family->members[i].further)
            show_tree(view, i);
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
            code = EXIT_PARTLY;
            continue;
        }
        bool taken = family_add(family, &input);
        input_leave(&input);
        if (!taken) {
            message("out of memory");
            return EXIT_BAD_DATA;
        }
    }
    return family->count || files.count == 0 ? code : EXIT_BAD_DATA;
}

enum exit_code processes_show(const struct processes_options *options, struct operands files)
{
    struct family family = {0};
    struct out out;
    if (!out_open(&out, &options->output, files))
        return EXIT_BAD_DATA;
    struct view view = {.family = &family,
                        .out = &out,
                        .colors = terminal_colors(&options->terminal, out.fd),
                        .json = options->json};
    enum exit_code code = processes_gather(&family, files);
    if (code == EXIT_BAD_DATA) {
        out_discard(&out);
    } else {
        family_join(&family);
        show(&view);
    }
    family_free(&family);
    return exit_worse(code, out_close(&out));
}
