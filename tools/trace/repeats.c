/* SPDX-License-Identifier: Apache-2.0 */
/* Each file is opened for its facts alone; those of one run are joined pair by pair. */
#include "repeats.h"

#include "input_folder.h"
#include "message.h"
#include "recordings.h"
#include "trace_source.h"

#include <stdlib.h>
#include <string.h>

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

static void close_all(struct trace_source *sources, int count)
{
    struct message_held held = {0};
    message_hold(&held);
    for (int i = 0; i < count; i++)
        (void)trace_source_close(&sources[i]);
    message_hold(NULL);
    free(held.text);
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
    if (sources)
        close_all(sources, opened);
    free(sources);
    free(first);
    return good;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool one_of_word(struct repeats *repeats, const char *word)
{
    return repeats_add_run(repeats) && input_words_copy(&repeats->runs[repeats->count - 1], word);
}

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
        return one_of_word(repeats, word);
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
