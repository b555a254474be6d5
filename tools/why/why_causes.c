/* SPDX-License-Identifier: Apache-2.0 */
#include "why_causes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum {
    ROOT_STEPS = 8,
    HOLDERS = 64,       /* of a lock while one waits */
    BUSY_PARTS = 8,     /* of a stretch, a thread else did something in each of so many */
    ARGUMENT_LEAST = 3, /* slow calls with a value */
    PERIODS_LEAST = 4,
    ARGUMENTS = 4096
};
#define CHANCE 0.001 /* of the whole search for an argument */
#define PERIOD_SPREAD 0.15

static const struct why_by nobody = {TRACE_NONE, TRACE_NONE, TRACE_NONE, false, 0};

/* ---- waits ------------------------------------------------------------------------------------
 */

static bool has_part(struct trace_text text, const char *part)
{
    return text.bytes && memmem(text.text, text.bytes, part, strlen(part));
}

enum why_cause_number why_cause_of_wait(const struct why_calls *calls, const struct why_call *call,
                                        const struct why_part *part)
{
    const bool looks = part->kind == WHY_WAITING_ITEM && call->look.in_call;
    static const char *const io[] = {"read", "write", "fsync", "file lock"};
    const struct trace_text name = trace_name_of(*calls->trace, part->name);
    if (has_part(name, "lock") || has_part(name, "mutex") || trace_text_is(name, "semaphore set") ||
        (looks && 2 * call->look.locked >= call->look.in_call))
        return WHY_CAUSE_LOCK;
    if (looks && 2 * call->look.in_io > call->look.in_call)
        return WHY_CAUSE_IO;
    if (part->kind == WHY_WAIT && trace_word_number(io, 4, name) < 4)
        return WHY_CAUSE_IO;
    return WHY_CAUSE_WAIT;
}

/* The span of the thread that has most of that time, at least half; calls, or waits. */
static const struct why_meanwhile *longest_of(const struct why_calls *calls, uint32_t thread,
                                              bool waits, int64_t from_ns, int64_t to_ns)
{
    uint32_t count;
    const struct why_meanwhile *list = why_calls_of_thread(calls, thread, &count), *best = NULL;
    int64_t best_ns = (to_ns - from_ns) / 2;
    for (uint32_t i = 0; i < count; i++) {
        const int64_t ns = why_overlap_ns(list[i].start_ns, list[i].stop_ns, from_ns, to_ns);
        if ((list[i].kind == WHY_WAIT) == waits && ns > best_ns) {
            best = &list[i];
            best_ns = ns;
        }
    }
    return best;
}

/* So much of that time it was ready to run and had no CPU: behind waits and in run intervals, or in
 * calls, which have their waits inside. */
static uint64_t starved_ns(const struct why_calls *calls, uint32_t thread, int64_t from_ns,
                           int64_t to_ns)
{
    uint64_t sums_ns[2] = {0, 0};
    uint32_t count;
    const struct why_meanwhile *list = why_calls_of_thread(calls, thread, &count);
    for (uint32_t i = 0; i < count; i++) {
        const struct why_meanwhile *one = &list[i];
        const bool wait = one->kind == WHY_WAIT;
        const uint64_t runnable_ns = wait || one->has_cpu ? one->runnable_ns : 0;
        const int64_t since_ns = wait ? one->stop_ns - (int64_t)runnable_ns : one->start_ns;
        const uint64_t ns = (uint64_t)why_overlap_ns(since_ns, one->stop_ns, from_ns, to_ns);
        sums_ns[!wait && !why_is_run(trace_name_of(*calls->trace, one->name))] +=
            ns < runnable_ns ? ns : runnable_ns;
    }
    return sums_ns[0] > sums_ns[1] ? sums_ns[0] : sums_ns[1];
}

/* Those who had the lock meanwhile, from the last one back, each since its own wait for it: most of
 * that time they were ready to run and had no CPU. */
static bool were_starved(const struct why_calls *calls, const struct why_part *part)
{
    uint64_t sum_ns = 0;
    int64_t until_ns = part->stop_ns;
    uint32_t thread = part->waker;
    for (unsigned step = 0; thread != TRACE_NONE && step < HOLDERS; step++) {
        uint32_t count;
        const struct why_meanwhile *list = why_calls_of_thread(calls, thread, &count), *got = NULL;
        for (uint32_t i = 0; i < count; i++)
            if (list[i].kind == WHY_WAIT && list[i].object == part->object &&
                list[i].stop_ns > part->start_ns && list[i].stop_ns < until_ns)
                got = &list[i];
        const int64_t since_ns = got ? got->stop_ns - (int64_t)got->runnable_ns : part->start_ns;
        sum_ns += starved_ns(calls, thread, since_ns, until_ns);
        thread = got ? got->waker : TRACE_NONE;
        until_ns = since_ns;
    }
    return sum_ns > ((uint64_t)part->stop_ns - (uint64_t)part->start_ns) / 2;
}

/* Who waits itself for what another one has leads to that one; who waits for the same as the one
 * before holds nothing. */
static struct why_by by_root(const struct why_calls *calls, uint32_t thread, uint64_t object,
                             int64_t from_ns, int64_t to_ns)
{
    struct why_by by = nobody;
    uint32_t holder = 0;
    for (unsigned step = 0; thread != TRACE_NONE && step < ROOT_STEPS; step++) {
        /* What takes at least half of that time. */
        const struct why_meanwhile *wait = longest_of(calls, thread, true, from_ns, to_ns);
        const struct why_meanwhile *call = longest_of(calls, thread, false, from_ns, to_ns);
        by = (struct why_by){thread, call ? call->name : TRACE_NONE, wait ? wait->name : TRACE_NONE,
                             starved_ns(calls, thread, from_ns, to_ns) >
                                 ((uint64_t)to_ns - (uint64_t)from_ns) / 2,
                             holder};
        if (!wait || wait->waker == thread)
            break;
        holder = wait->object != object ? thread + 1 : holder;
        object = wait->object;
        thread = wait->waker;
    }
    return by;
}

/* Of a sub-item that waits, or a call that is blocked, nobody says who ended it. It was a call of
 * another thread that lasted as long and ended with it, if there is exactly one; others of the same
 * name waited, too. */
static struct why_by by_of_item(const struct why_calls *calls, uint32_t thread,
                                const struct why_part *part)
{
    struct why_by by = nobody;
    const int64_t length_ns = part->stop_ns - part->start_ns;
    for (uint32_t i = 0, found = 0; i < calls->meanwhile_count; i++) {
        const struct why_meanwhile *other = &calls->meanwhile[i];
        const int64_t late_ns = other->stop_ns - part->stop_ns;
        const int64_t ns =
            why_overlap_ns(other->start_ns, other->stop_ns, part->start_ns, part->stop_ns);
        if (other->thread == thread || other->kind == WHY_WAIT ||
            other->name == calls->name->number || ns * 10 < length_ns * 8 ||
            late_ns > length_ns / 10 || late_ns < -length_ns / 10)
            continue;
        by = found++ ? nobody : by_root(calls, other->thread, 0, part->start_ns, part->stop_ns);
    }
    return by;
}

static bool was_in_mpi(const struct why_calls *calls, uint32_t thread, const struct why_part *part)
{
    int64_t sum_ns = 0;
    uint32_t count;
    const struct why_meanwhile *list = why_calls_of_thread(calls, thread, &count);
    for (uint32_t i = 0; i < count; i++)
        if (why_is_mpi(trace_name_of(*calls->trace, list[i].name)))
            sum_ns +=
                why_overlap_ns(list[i].start_ns, list[i].stop_ns, part->start_ns, part->stop_ns);
    return 2 * sum_ns >= part->stop_ns - part->start_ns;
}

/* A call of MPI ends when those have come whom it needs. Of all that call MPI one alone was not in
 * it meanwhile: it came late. Of several nobody knows which of them this call needs. */
static struct why_by by_late_peer(const struct why_calls *calls, uint32_t thread,
                                  const struct why_part *part)
{
    uint32_t late = TRACE_NONE;
    for (uint32_t i = 0; i < calls->tracks.count && i < calls->activity_room; i++) {
        const struct why_activity *activity = &calls->activity[i];
        if (!calls->tracks.list[i].mpi || i == thread || !activity->events ||
            activity->first_ns > part->start_ns || activity->last_ns < part->stop_ns ||
            was_in_mpi(calls, i, part))
            continue;
        if (late != TRACE_NONE)
            return nobody;
        late = i;
    }
    return by_root(calls, late, 0, part->start_ns, part->stop_ns);
}

struct why_by why_by_of_look(const struct why_calls *calls, const struct why_call *call,
                             int64_t from_ns, int64_t to_ns)
{
    const struct why_look *look = &call->look;
    return by_root(calls, why_calls_thread_of_id(calls, call->thread, look->holder), look->object,
                   from_ns, to_ns);
}

struct why_by why_by_of(const struct why_calls *calls, const struct why_call *call,
                        const struct why_part *part)
{
    if (part->kind == WHY_WAIT && why_is_mpi(trace_name_of(*calls->trace, part->name)))
        return by_late_peer(calls, call->thread, part);
    if (part->kind == WHY_WAIT) {
        /* Who ended it may be one that waited as well; a look has who held it. */
        const bool seen = part->object && call->look.locked && call->look.object == part->object;
        struct why_by by =
            seen ? why_by_of_look(calls, call, part->start_ns, part->stop_ns)
                 : by_root(calls, part->waker, part->object, part->start_ns, part->stop_ns);
        by.starved |= part->object && why_cause_of_wait(calls, call, part) == WHY_CAUSE_LOCK &&
                      were_starved(calls, part);
        return by;
    }
    if (call->look.locked)
        return why_by_of_look(calls, call, part->start_ns, part->stop_ns);
    return by_of_item(calls, call->thread, part);
}

bool why_is_awaited(const struct why_calls *calls, const struct why_call *call)
{
    for (uint32_t at = call->parts; at; at = calls->parts[at - 1].next) {
        const struct why_part *part = &calls->parts[at - 1];
        int64_t sum_ns = 0;
        uint32_t count;
        if (part->kind != WHY_WAIT || part->name != calls->name->number)
            continue;
        const struct why_by by =
            by_root(calls, part->waker, part->object, part->start_ns, part->stop_ns);
        const struct why_meanwhile *list = why_calls_of_thread(calls, by.thread, &count);
        for (uint32_t i = 0; i < count; i++)
            if (list[i].kind != WHY_WAIT ||
                !why_is_idle(trace_name_of(*calls->trace, list[i].name)))
                sum_ns += why_overlap_ns(list[i].start_ns, list[i].stop_ns, part->start_ns,
                                         part->stop_ns);
        return by.thread == TRACE_NONE || 2 * sum_ns > part->stop_ns - part->start_ns;
    }
    return false;
}

struct why_by why_by_of_blocked(const struct why_calls *calls, const struct why_call *call)
{
    const struct why_part wait = {.start_ns = call->end_ns - (int64_t)call->cpu.waiting_ns,
                                  .stop_ns = call->end_ns};
    return call->look.system_call == SYS_futex + 1 ? by_of_item(calls, call->thread, &wait)
                                                   : nobody;
}

bool why_message_of(const struct why_calls *calls, const struct why_part *part, struct why_by *by)
{
    const struct why_message *message = &part->message;
    const int64_t half_ns = (int64_t)(part->longest_ns / 2);
    if (message->count != 1 || message->sender == TRACE_NONE)
        return false;
    if (why_overlap_ns(part->start_ns, part->stop_ns, part->start_ns, message->sent_ns) >=
        half_ns) {
        *by = by_root(calls, message->sender, 0, part->start_ns, message->sent_ns);
        if (message->in != TRACE_NONE)
            by->name = message->in;
        return true;
    }
    *by = (struct why_by){message->sender, TRACE_NONE, TRACE_NONE, true, 0};
    return why_overlap_ns(part->start_ns, part->stop_ns, message->sent_ns, message->arrived_ns) >=
           half_ns;
}

/* ---- all stand still ---------------------------------------------------------------------------
 */

static bool is_set(const uint64_t *cells, uint64_t cell)
{
    return cells[cell / 64] >> cell % 64 & 1;
}

/* The longest row of cells in which nobody began or ended anything. */
static uint64_t longest_silence(const uint64_t *cells, uint64_t from, uint64_t to,
                                uint64_t *begin_out)
{
    uint64_t best = 0, length = 0;
    for (uint64_t cell = from; cell <= to; cell++) {
        length = is_set(cells, cell) ? 0 : length + 1;
        if (length > best) {
            best = length;
            *begin_out = cell + 1 - length;
        }
    }
    return best;
}

/* Threads of the process that else do something all the time. */
static unsigned busy_threads(const struct why_calls *calls, uint32_t process, int64_t from_ns,
                             int64_t to_ns)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < calls->tracks.count && i < calls->activity_room; i++) {
        const struct why_activity *activity = &calls->activity[i];
        const uint64_t lived_ns = (uint64_t)activity->last_ns - (uint64_t)activity->first_ns;
        count += calls->tracks.list[i].track.process == process && activity->events > BUSY_PARTS &&
                 activity->first_ns < from_ns && activity->last_ns > to_ns &&
                 lived_ns / activity->events < (uint64_t)(to_ns - from_ns) / BUSY_PARTS;
    }
    return count;
}

/* Some thread was on a CPU, or it is not known of a long call whether it was. */
static bool any_ran(const struct why_calls *calls, uint32_t process, int64_t from_ns, int64_t to_ns)
{
    for (uint32_t i = 0; i < calls->meanwhile_count; i++) {
        const struct why_meanwhile *other = &calls->meanwhile[i];
        const int64_t ns = why_overlap_ns(other->start_ns, other->stop_ns, from_ns, to_ns);
        const uint64_t stopped_ns =
            (uint64_t)(other->stop_ns - other->start_ns) - other->running_ns;
        if (other->kind != WHY_WAIT && calls->tracks.list[other->thread].track.process == process &&
            2 * ns > to_ns - from_ns && (!other->has_cpu || stopped_ns < (uint64_t)ns / 2))
            return true;
    }
    return false;
}

int64_t why_stood_still(const struct why_calls *calls, const struct why_call *call)
{
    const uint32_t process = calls->tracks.list[call->thread].track.process;
    const uint64_t *cells = process < calls->process_room ? calls->cells[process] : NULL;
    const uint64_t first = ((uint64_t)call->queued_ns - (uint64_t)calls->first_ns) / calls->cell_ns;
    const uint64_t last = ((uint64_t)call->end_ns - (uint64_t)calls->first_ns) / calls->cell_ns;
    uint64_t begin = 0;
    if (!cells || last >= calls->cell_count ||
        (!calls->name->wait && (!call->has_cpu || !call->cpu.waiting_ns)))
        return 0;
    const uint64_t silent = longest_silence(cells, first, last, &begin);
    const int64_t from_ns = calls->first_ns + (int64_t)(begin * calls->cell_ns);
    const int64_t to_ns = from_ns + (int64_t)(silent * calls->cell_ns);
    const int64_t length_ns = call->end_ns - call->queued_ns;
    if (silent < 2 || 2 * (to_ns - from_ns) < length_ns ||
        busy_threads(calls, process, from_ns, to_ns) < 2 || any_ran(calls, process, from_ns, to_ns))
        return 0;
    return to_ns - from_ns + (int64_t)calls->cell_ns; /* it began and ended inside of cells */
}

/* ---- an argument ------------------------------------------------------------------------------
 */

struct value {
    uint32_t key, value, slow, ordinary;
    uint64_t excess_ns;
};

static struct value *value_of(struct value *values, uint32_t *count, const struct why_arg *arg)
{
    for (uint32_t i = 0; i < *count; i++)
        if (values[i].key == arg->key && values[i].value == arg->value)
            return &values[i];
    if (*count == ARGUMENTS)
        return NULL;
    values[*count] = (struct value){.key = arg->key, .value = arg->value};
    return &values[(*count)++];
}

/* From the most likely number of hits on, each by the one beside it: no power runs out of digits.
 */
double why_chance(uint32_t hits, uint32_t tries, double chance)
{
    if (chance >= 1 || chance <= 0)
        return chance >= 1 || !hits ? 1 : 0;
    const uint32_t middle = (uint32_t)((tries + 1.0) * chance);
    const double odds = chance / (1 - chance);
    double all = 0, wanted = 0, weight = 1;
    for (uint32_t i = middle; i <= tries; i++) {
        all += weight;
        wanted += i >= hits ? weight : 0;
        weight *= odds * (tries - i) / (i + 1.0);
    }
    weight = 1;
    for (uint32_t i = middle; i > 0; i--) {
        weight *= i / (odds * (tries - i + 1.0));
        all += weight;
        wanted += i > hits ? weight : 0;
    }
    return wanted / all;
}

static void count_values(struct value *values, uint32_t *count, const struct why_calls *calls,
                         bool slow, uint64_t median_ns)
{
    for (uint32_t i = 0; i < calls->count; i++) {
        const struct why_call *call = &calls->list[i];
        const uint64_t length_ns = (uint64_t)call->end_ns - (uint64_t)call->queued_ns;
        if (!call->seen || call->slow != slow)
            continue;
        for (uint32_t at = call->args; at; at = calls->args[at - 1].next) {
            const uint32_t before = *count;
            struct value *value = value_of(values, count, &calls->args[at - 1]);
            if (!slow && *count > before)
                *count = before; /* no slow call has it */
            else if (value && slow) {
                value->slow++;
                value->excess_ns += length_ns > median_ns ? length_ns - median_ns : 0;
            } else if (value)
                value->ordinary++;
        }
    }
}

/* What nothing else explains hangs on the value; of the rest it is said beside. */
static void give_to_argument(struct why_split *split, const struct why_calls *calls,
                             const struct value *value)
{
    const double share = (double)value->excess_ns / (double)split->excess_ns;
    struct why_cause made = {.cause = WHY_CAUSE_ARGUMENT,
                             .name = calls->name->number,
                             .thread = TRACE_NONE,
                             .kind = TRACE_NONE,
                             .calls = value->slow,
                             .by = nobody};
    for (uint32_t i = 0; i < split->count; i++) {
        struct why_cause *cause = &split->list[i];
        cause->key = value->key;
        cause->value = value->value;
        const bool explains = cause->cause != WHY_CAUSE_SELF &&
                              cause->cause != WHY_CAUSE_SUB_ITEM &&
                              cause->cause != WHY_CAUSE_UNKNOWN;
        if (explains && !(cause->cause == WHY_CAUSE_WAIT && cause->kind == TRACE_NONE))
            continue;
        const uint64_t taken_ns = (uint64_t)((double)cause->excess_ns * share);
        made.excess_ns += taken_ns;
        cause->excess_ns -= taken_ns;
        if (cause->evidence_count > made.evidence_count) {
            memcpy(made.evidence, cause->evidence, sizeof made.evidence);
            made.evidence_count = cause->evidence_count;
            made.taken = cause->taken;
        }
        if (cause->cause == WHY_CAUSE_UNKNOWN)
            split->unknown_ns -= taken_ns;
    }
    made.key = value->key;
    made.value = value->value;
    uint32_t left = 0;
    for (uint32_t i = 0; i < split->count; i++)
        if (split->list[i].excess_ns)
            split->list[left++] = split->list[i];
    split->count = left;
    if (!made.excess_ns)
        return;
    if (grow_array32(&split->list, &split->room, split->count + 1, sizeof *split->list))
        split->list[split->count++] = made;
    else
        split->failed = true;
}

void why_find_argument(struct why_split *split, const struct why_calls *calls, uint64_t median_ns)
{
    struct value *values = calloc(ARGUMENTS, sizeof *values), *best = NULL;
    uint32_t count = 0;
    split->failed |= !values;
    if (!values || !split->slow || !split->ordinary) {
        free(values);
        return;
    }
    count_values(values, &count, calls, true, median_ns);
    count_values(values, &count, calls, false, median_ns);
    const double slow = (double)(calls->name->own.bounds.slow + calls->name->queued.bounds.slow);
    const double all = (double)calls->name->own.values.total;
    for (uint32_t i = 0; i < count; i++) {
        struct value *value = &values[i];
        const double in_ordinary = (double)value->ordinary / split->ordinary * (all - slow);
        const double in_slow = (double)value->slow / split->slow * slow;
        const double chance = (in_ordinary + in_slow) / all;
        if (value->slow >= ARGUMENT_LEAST && in_slow >= in_ordinary &&
            (double)value->excess_ns >= NEARLY * (double)split->excess_ns &&
            why_chance(value->slow, split->slow, chance) * count < CHANCE &&
            (!best || value->ordinary < best->ordinary))
            best = value;
    }
    if (best)
        give_to_argument(split, calls, best);
    free(values);
}

/* ---- a period ---------------------------------------------------------------------------------
 */

uint64_t why_period(const int64_t *starts, uint32_t count)
{
    double sum = 0, squares = 0;
    if (count < PERIODS_LEAST + 1)
        return 0;
    for (uint32_t i = 1; i < count; i++) {
        const double gap = (double)(starts[i] - starts[i - 1]);
        sum += gap;
        squares += gap * gap;
    }
    const double mean = sum / (count - 1), spread = squares / (count - 1) - mean * mean;
    const double most = PERIOD_SPREAD * mean;
    return spread <= most * most ? (uint64_t)mean : 0;
}

/* Slow calls that overlap are one time at which something was wrong. */
void why_find_period(struct why_split *split, const struct why_calls *calls)
{
    int64_t *starts = calloc(calls->kept_slow + 1u, sizeof *starts), until_ns = 0, sum_ns = 0;
    uint32_t count = 0;
    int64_t longest_ns = 0;
    split->failed |= !starts;
    for (uint32_t i = 0; i < calls->kept_slow; i++) {
        const struct why_call *call = &calls->list[calls->windows[i].call];
        const int64_t length_ns = call->end_ns - call->queued_ns;
        longest_ns = length_ns > longest_ns ? length_ns : longest_ns;
    }
    for (uint32_t i = 0; starts && i < calls->kept_slow; i++) {
        const struct why_call *call = &calls->list[calls->windows[i].call];
        if (2 * (call->end_ns - call->queued_ns) < longest_ns)
            continue; /* something else made it late */
        if (!count || call->queued_ns > until_ns) {
            starts[count++] = call->queued_ns;
            until_ns = call->end_ns;
            sum_ns += call->end_ns - call->queued_ns;
        } else if (call->end_ns > until_ns) {
            sum_ns += call->end_ns - until_ns;
            until_ns = call->end_ns;
        }
    }
    split->period_ns = starts ? why_period(starts, count) : 0;
    split->for_ns = split->period_ns ? (uint64_t)sum_ns / count : 0;
    free(starts);
}

/* ---- bounds ------------------------------------------------------------------------------------
 */

void why_find_bounds(struct why_split *split, const struct why_calls *calls)
{
    int64_t until_ns = INT64_MIN;
    uint64_t open_ns = 0;
    for (uint32_t i = 0; i < calls->kept_slow; i++) {
        const struct why_call *call = &calls->list[calls->windows[i].call];
        const int64_t from_ns = call->queued_ns > until_ns ? call->queued_ns : until_ns;
        if (call->end_ns > from_ns)
            open_ns += (uint64_t)(call->end_ns - from_ns);
        until_ns = call->end_ns > until_ns ? call->end_ns : until_ns;
    }
    for (uint32_t i = 0; i < split->count; i++)
        split->list[i].bound_ns =
            split->list[i].excess_ns < open_ns ? split->list[i].excess_ns : open_ns;
}
