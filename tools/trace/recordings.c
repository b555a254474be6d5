/* SPDX-License-Identifier: Apache-2.0 */
#include "recordings.h"
#include "input_folder.h"
#include "message.h"
#include "repeats.h"
#include "sorted.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs in a folder ------------------------------------------------------------------------ */
/* Each file is opened for its facts alone; those of one run are joined pair by pair. */

/* ---- two files ------------------------------------------------------------------------------- */

static bool is_child(const struct trace_facts *child, const struct trace_facts *parent)
{
    const struct trace_identity *own = &child->identity, *other = &parent->identity;
    return own->parent && own->parent == other->os_id && other->start_ns <= own->start_ns &&
           memcmp(own->boot_id, other->boot_id, sizeof own->boot_id) == 0;
}

/* One without an end, as of a program that died, counts with its beginning. */
static bool at_same_time(const struct trace_facts *a, const struct trace_facts *b)
{
    const int64_t a_last = a->last_ns > a->first_ns ? a->last_ns : a->first_ns;
    const int64_t b_last = b->last_ns > b->first_ns ? b->last_ns : b->first_ns;
    return a->first_ns <= b_last && b->first_ns <= a_last;
}

static bool of_one_run(const struct trace_facts *a, const struct trace_facts *b)
{
    if (a->job.id.bytes && b->job.id.bytes)
        return trace_same_job(&a->job, &b->job);
    return !a->has_zero || !b->has_zero || (a->run_zero_ns && a->run_zero_ns == b->run_zero_ns) ||
           recordings_same(a, b) || is_child(a, b) || is_child(b, a) || at_same_time(a, b);
}

/* ---- files of a folder ----------------------------------------------------------------------- */

/* The first file of each one's run, by its number. */
static void join_pairs(const struct trace_source *sources, int count, int *first)
{
    for (int i = 0; i < count; i++) {
        first[i] = i;
        for (int j = 0; j < i; j++) {
            if (first[j] == first[i] || !of_one_run(&sources[i].facts, &sources[j].facts))
                continue;
            const int low = first[i] < first[j] ? first[i] : first[j];
            const int high = first[i] < first[j] ? first[j] : first[i];
            for (int k = 0; k <= i; k++)
                first[k] = first[k] == high ? low : first[k];
        }
    }
}

static bool repeats_add_run(struct repeats *repeats)
{
    struct operands *moved =
        realloc(repeats->runs, ((size_t)repeats->count + 1) * sizeof *repeats->runs);
    if (!moved)
        return message_fail("out of memory");
    repeats->runs = moved;
    repeats->runs[repeats->count++] = (struct operands){0};
    return true;
}

static bool add_runs(struct repeats *repeats, struct operands files, const int *first)
{
    bool good = true;
    for (int i = 0; i < files.count && good; i++) {
        if (first[i] != i)
            continue;
        good = repeats_add_run(repeats);
        for (int j = i; j < files.count && good; j++)
            if (first[j] == i)
                good = input_words_copy(&repeats->runs[repeats->count - 1], files.words[j]);
    }
    return good;
}

/* What is said of a file that can be opened is said again when it is read. */
static bool open_one(struct trace_source *source, const char *path)
{
    struct message_held held = {0};
    message_hold(&held);
    const bool opened = trace_source_open(source, path, false);
    if (opened)
        trace_source_rest(source); /* so that few are open together */
    message_hold(NULL);
    if (!opened && !held.bytes)
        message("%s: out of memory", path); /* for a held message, too */
    if (!opened)
        message_tell(&held);
    free(held.text);
    return opened;
}

static bool divide(struct repeats *repeats, struct operands files)
{
    struct trace_source *sources = calloc((size_t)files.count + 1, sizeof *sources);
    int *first = calloc((size_t)files.count + 1, sizeof *first), opened = 0;
    bool good = sources && first;
    if (!good)
        message("out of memory");
    while (good && opened < files.count && open_one(&sources[opened], files.words[opened]))
        opened++;
    good = good && opened == files.count;
    if (good) {
        join_pairs(sources, files.count, first);
        good = add_runs(repeats, files, first);
    }
    if (sources) {
        struct message_held held = {0};
        message_hold(&held);
        for (int i = 0; i < opened; i++)
            (void)trace_source_close(&sources[i]);
        message_hold(NULL);
        free(held.text);
    }
    free(sources);
    free(first);
    return good;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool folders_below(struct repeats *repeats, struct operands folders)
{
    bool good = true;
    for (int i = 0; i < folders.count && good; i++) {
        good = repeats_add_run(repeats) &&
               input_folder_add(&repeats->runs[repeats->count - 1], folders.words[i]);
        if (good)
            repeats->files += (uint32_t)repeats->runs[repeats->count - 1].count;
    }
    repeats->folders = (uint32_t)folders.count;
    return good;
}

static void free_words(struct operands *words)
{
    for (int i = 0; i < words->count; i++)
        free(words->words[i]);
    free(words->words);
}

bool repeats_find(struct repeats *repeats, const char *word, bool one_run)
{
    *repeats = (struct repeats){0};
    struct operands words = {0};
    if (one_run || !input_is_folder(word))
        return repeats_add_run(repeats) &&
               input_words_copy(&repeats->runs[repeats->count - 1], word);
    bool good = input_folder_below(&words, word);
    if (good && words.count) {
        good = folders_below(repeats, words);
    } else if (good) {
        good = input_folder_add(&words, word) && divide(repeats, words);
        repeats->files = (uint32_t)words.count;
    }
    free_words(&words);
    return good;
}

void repeats_free(struct repeats *repeats)
{
    for (uint32_t i = 0; i < repeats->count; i++)
        free_words(&repeats->runs[i]);
    free(repeats->runs);
    *repeats = (struct repeats){0};
}

/* ---- recordings ------------------------------------------------------------------------------ */
/* Sources of one recording come together by sorting, in the order in which they were written. */

static int compare_texts(struct trace_text a, struct trace_text b)
{
    SORTED_BY(&a, &b, bytes);
    return a.bytes ? memcmp(a.text, b.text, a.bytes) : 0;
}

/* 0: they are of one recording. */
static int compare_recordings(const struct trace_facts *a, const struct trace_facts *b)
{
    const struct trace_identity *left = &a->identity, *right = &b->identity;
    SORTED_BY(left, right, os_id);
    SORTED_BY(left, right, session_ns);
    SORTED_BY(left, right, start_ns);
    SORTED_BY(a, b, node);
    int order = memcmp(left->boot_id, right->boot_id, sizeof left->boot_id);
    return order ? order : compare_texts(a->host, b->host);
}

bool recordings_same(const struct trace_facts *a, const struct trace_facts *b)
{
    return a->identity.session_ns && compare_recordings(a, b) == 0;
}

/* 0: they are the same file. */
static int compare_places(const struct trace_facts *a, const struct trace_facts *b)
{
    SORTED_BY(a, b, last_ns);
    SORTED_BY(a, b, identity.part);
    SORTED_BY(a, b, identity.from_ns);
    SORTED_BY(a, b, identity.why);
    return 0;
}

static int recordings_compare(const void *left, const void *right)
{
    const struct trace_source *a = *(struct trace_source *const *)left;
    const struct trace_source *b = *(struct trace_source *const *)right;
    int order = compare_recordings(&a->facts, &b->facts);
    order = order ? order : compare_places(&a->facts, &b->facts);
    return order ? order : (a > b) - (a < b);
}

bool recordings_began_before(const struct trace_identity *first)
{
    return first->part > 1 && first->why != RBWP_KEPT_SPLIT;
}

enum pair_join recordings_follow(const struct trace_identity *before, int64_t until_ns,
                                 const struct trace_identity *next)
{
    if (next->from_ns > until_ns || (before->part && next->part > before->part + 1))
        return PAIR_JOIN_GAP;
    return before->part && next->part != before->part ? PAIR_JOIN_NEXT : PAIR_JOIN_OVERLAP;
}

static bool is_gap(const struct trace_source *before, const struct trace_source *next)
{
    return recordings_follow(&before->facts.identity, before->facts.last_ns,
                             &next->facts.identity) == PAIR_JOIN_GAP;
}

/* False: a part is missing between them. */
static bool report_gap(const struct trace_source *before, const struct trace_source *next)
{
    const struct trace_identity *a = &before->facts.identity, *b = &next->facts.identity;
    if (!is_gap(before, next))
        return true;
    if (a->part && b->part > a->part + 1)
        return message_fail("%s: goes on with part %" PRIu32 " of a recording, after part %" PRIu32
                            " in %s: what is in the parts between is dropped",
                            next->name, b->part, a->part, before->name);
    message_plain("%s: nothing is known of %.3f s between it and %s", next->name,
                  (double)(b->from_ns - before->facts.last_ns) / 1e9, before->name);
    return true;
}

/* Whether a later file has all that this one has: a dump of what is in a part as well, or one of
 * which no more had been dropped. */
static bool is_covered(struct trace_source *const *parts, int count, int at)
{
    if (parts[at]->facts.identity.part || parts[at]->facts.identity.why == RBWP_KEPT_SPLIT)
        return false;
    for (int i = at + 1; i < count; i++)
        if (parts[i]->facts.identity.part ||
            parts[i]->facts.identity.from_ns <= parts[at]->facts.identity.from_ns)
            return true;
    return false;
}

/* The first of the command line becomes the last of the recording, with the others. */
static enum exit_code join(struct trace_source **parts, int count, bool *gone,
                           const struct trace_source *sources)
{
    enum exit_code code = EXIT_GOOD;
    struct trace_source last = *parts[count - 1], *first = parts[0], *before = NULL;
    last.earlier = calloc((size_t)count, sizeof *last.earlier);
    if (!last.earlier) {
        message("out of memory");
        return EXIT_PARTIAL;
    }
    for (int i = 0; i < count; i++) {
        const bool covered = is_covered(parts, count, i);
        if (!covered && before && !report_gap(before, parts[i]))
            code = exit_worse(code, EXIT_PARTIAL);
        last.has_gap |= !covered && before && is_gap(before, parts[i]);
        before = covered ? before : parts[i];
        last.number = parts[i]->number < last.number ? parts[i]->number : last.number;
        gone[parts[i] - sources] = true;
        first = parts[i] < first ? parts[i] : first;
        if (covered)
            code = exit_worse(code, trace_source_close(parts[i]));
        else if (i + 1 < count)
            last.earlier[last.earlier_count++] = *parts[i];
    }
    *first = last;
    gone[first - sources] = false;
    return code;
}

static enum exit_code join_all(struct trace_source *sources, struct trace_source **order, int kept,
                               bool *gone)
{
    enum exit_code code = EXIT_GOOD;
    for (int at = 0, end; at < kept; at = end) {
        int parts = 1; /* those that are the same file stay behind, and are refused */
        for (end = at + 1; end < kept; end++) {
            if (compare_recordings(&order[at]->facts, &order[end]->facts) != 0)
                break;
            if (compare_places(&order[at + parts - 1]->facts, &order[end]->facts) != 0)
                order[at + parts++] = order[end];
        }
        /* A part alone is read as what it is: older ones may have been removed to make room. */
        if (recordings_began_before(&order[at]->facts.identity))
            message_plain("%s: begins with part %" PRIu32
                          " of a recording: what is in the parts before is dropped",
                          order[at]->name, order[at]->facts.identity.part);
        if (parts > 1)
            code = exit_worse(code, join(order + at, parts, gone, sources));
    }
    return code;
}

enum exit_code recordings_join(struct trace_source *sources, int *count)
{
    int kept = 0, left = 0;
    struct trace_source **order = calloc((size_t)*count + 1, sizeof *order);
    bool *gone = calloc((size_t)*count + 1, sizeof *gone);
    enum exit_code code = EXIT_PARTIAL;
    for (int i = 0; order && i < *count; i++)
        if (sources[i].facts.identity.kept && sources[i].facts.identity.session_ns)
            order[kept++] = &sources[i];
    if (order && gone) {
        qsort(order, (size_t)kept, sizeof *order, recordings_compare);
        code = join_all(sources, order, kept, gone);
        for (int i = 0; i < *count; i++)
            if (!gone[i])
                sources[left++] = sources[i];
        *count = left;
    } else {
        message("out of memory");
    }
    free(order);
    free(gone);
    return code;
}
