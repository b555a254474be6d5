/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Process ids are given again, so that parent and child are of one machine, and of several
 * processes with the parent's id it is the youngest that is not younger than the child. Files may
 * hold anything: nobody becomes his own ancestor.
 */
#include "family.h"

#include "grow.h"
#include "recorded_command.h"

#include <stdlib.h>

/* ---- what a file tells ------------------------------------------------------------------ */

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

bool family_add(struct family *family, const struct input *input)
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
    if (a->start_ns != b->start_ns)
        return a->start_ns < b->start_ns ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
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

void family_join(struct family *family)
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

void family_free(struct family *family)
{
    for (uint32_t i = 0; i < family->count; i++) {
        free(family->members[i].title);
        free(family->members[i].host);
    }
    free(family->members);
    *family = (struct family){0};
}
