/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Methods are tried in the order of the table at the end, against each source
 * that is placed already, until no more can be placed.
 */
#include "align.h"

#include "align_clocks.h"
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- offsets of clocks that somebody measured ------------------------------------------------ */
/*
 * A text file of lines "NODE TIME [ERROR]": the clock of the node is ahead of
 * the reference by TIME (1500, +20us, -1.5ms), at most ERROR wrong. Blank
 * lines and what follows # are comments.
 *
 * Offsets from a file, line by line.
 */

struct align_offset {
    uint32_t node;
    bool has_error;
    int64_t ahead_ns;
    uint64_t error_ns;
};
struct align_offsets {
    struct align_offset *list;
    uint32_t count, room;
};

static void align_offsets_free(struct align_offsets *offsets);

/* A time with or without sign, at most 2^60 ns (36 years). */
static bool align_parse_time(const char *text, int64_t *ns_out, struct option_error *error)
{
    bool negative = text[0] == '-';
    if (!filter_parse_duration(text + (negative || text[0] == '+'), ns_out, error))
        return false;
    if (*ns_out > INT64_C(1) << 60)
        return option_wrong(error, "is too large");
    *ns_out = negative ? -*ns_out : *ns_out;
    return true;
}

static bool align_add(struct align_offsets *offsets, const struct align_offset *offset)
{
    if (!GROW_ARRAY(offsets->list, offsets->room, offsets->count + 1))
        return false;
    offsets->list[offsets->count++] = *offset;
    return true;
}

static bool parse_line(char *line, struct align_offset *offset, struct option_error *error)
{
    char *rest, *end, *word = strtok_r(line, " \t\r\n", &rest);
    unsigned long node = strtoul(word, &end, 10);
    snprintf(error->text, sizeof error->text, "is not 'NODE TIME [ERROR]'");
    if (*end || word[0] < '0' || word[0] > '9' || node > UINT32_MAX)
        return false;
    *offset = (struct align_offset){.node = (uint32_t)node};
    word = strtok_r(NULL, " \t\r\n", &rest);
    if (!word || !align_parse_time(word, &offset->ahead_ns, error))
        return false;
    word = strtok_r(NULL, " \t\r\n", &rest);
    if (!word)
        return true;
    int64_t error_ns;
    offset->has_error = true;
    if (!filter_parse_duration(word, &error_ns, error))
        return false;
    offset->error_ns = (uint64_t)error_ns;
    return strtok_r(NULL, " \t\r\n", &rest) == NULL;
}

/* False with the message given. */
static bool align_offsets_read(struct align_offsets *offsets, const char *path)
{
    char line[256];
    bool good = true;
    FILE *file = fopen(path, "re");
    if (!file)
        return message_fail("%s: cannot be opened: %s", path, strerror(errno));
    for (unsigned number = 1; good && fgets(line, sizeof line, file); number++) {
        struct align_offset offset;
        struct option_error error;
        line[strcspn(line, "#")] = '\0';
        if (line[strspn(line, " \t\r\n")] == '\0')
            continue;
        good = parse_line(line, &offset, &error) && align_add(offsets, &offset);
        if (!good)
            message("%s: line %u %s", path, number, error.text);
    }
    fclose(file);
    if (!good)
        align_offsets_free(offsets);
    return good;
}

/* NULL if none is given. */
static const struct align_offset *align_offset_of(const struct align_offsets *offsets,
                                                  uint32_t node)
{
    for (uint32_t i = 0; i < offsets->count; i++)
        if (offsets->list[i].node == node)
            return &offsets->list[i];
    return NULL;
}

static void align_offsets_free(struct align_offsets *offsets)
{
    free(offsets->list);
    *offsets = (struct align_offsets){0};
}

/* ---- align ----------------------------------------------------------------------------------- */

static bool store_shift(void *value, const char *text, struct option_error *error)
{
    struct align_options *options = value;
    int64_t ns;
    const char *equals = strrchr(text, '=');
    if (!equals || equals == text)
        return option_wrong(error, "is not FILE=+TIME or FILE=-TIME");
    if (!align_parse_time(equals + 1, &ns, error))
        return false;
    if (options->shift_count == ALIGN_SHIFTS_MAX)
        return option_wrong(error, "is one shift too many");
    options->shifts[options->shift_count++] = text;
    return true;
}

const struct option align_option_table[] = {
    {"align", 0, "METHOD", "auto clocks monotonic zero realtime messages start",
     "how files come onto one time axis (auto)", offsetof(struct align_options, method),
     option_store_text},
    {"shift", 0, "FILE=TIME", NULL, "add TIME (+2ms, -150us) to all times of FILE", 0, store_shift},
    {"offsets", 0, "FILE", NULL, "lines 'NODE TIME [ERROR]': a node's clock is ahead by TIME",
     offsetof(struct align_options, offsets), NULL},
    {"force-merge", 0, NULL, NULL, "merge files that cannot belong together",
     offsetof(struct align_options, force), NULL},
    {0},
};

/* Of more files they are reported together. */
enum { TOLD_EACH = 8 };

struct aligner {
    const struct trace_source *sources;
    int count, reference;
    const struct align_options *options;
    struct alignment *alignments;
    struct align_offsets offsets;
    struct clock_group clocks;
    char reason[256]; /* why the last one could not be placed; empty: nothing to go by */
};

/* ---- what sources have in common ------------------------------------------------- */

/* Where relative times of other files count from, on the axis. */
static int64_t common_zero_ns(const struct aligner *aligner)
{
    const struct trace_facts *facts = &aligner->sources[aligner->reference].facts;
    int64_t zero_ns = facts->run_zero_ns ? facts->run_zero_ns : facts->first_ns;
    return zero_ns + aligner->alignments[aligner->reference].axis.shift_ns;
}

static bool same_node(const struct trace_facts *a, const struct trace_facts *b)
{
    return a->has_node && b->has_node && a->node == b->node;
}

/* One clock serves both. Hosts may have the same name: what a machine was given when it was
 * started says more. */
static bool same_host(const struct trace_facts *a, const struct trace_facts *b)
{
    if (a->identity.has_boot && b->identity.has_boot)
        return memcmp(a->identity.boot_id, b->identity.boot_id, sizeof a->identity.boot_id) == 0;
    return (a->host.bytes > 0 && trace_text_same(a->host, b->host)) ||
           (same_node(a, b) && !(a->host.bytes && b->host.bytes));
}

static bool names_its_process(const struct trace_facts *facts)
{
    return facts->identity.os_id && (facts->identity.has_boot || facts->host.bytes);
}

/* Where one of them does not say which process it is of, nodes decide: one has one process. */
static bool same_process(const struct trace_facts *a, const struct trace_facts *b)
{
    const struct trace_identity *left = &a->identity, *right = &b->identity;
    if (!names_its_process(a) || !names_its_process(b))
        return same_node(a, b);
    return same_host(a, b) && same_node(a, b) && left->os_id == right->os_id &&
           (left->start_ns == right->start_ns || !left->start_ns || !right->start_ns);
}

/* The same recording. A process may record several times, and its files may share a zero time. */
static bool same_session(const struct trace_facts *a, const struct trace_facts *b)
{
    if (!same_process(a, b))
        return false;
    if (names_its_process(a) && names_its_process(b))
        return a->identity.session_ns && a->identity.session_ns == b->identity.session_ns;
    return a->run_zero_ns && a->run_zero_ns == b->run_zero_ns;
}

/* Both have clocks that were watched, and the same one is behind them. */
static void bound(struct alignment *made, const struct trace_facts *a, const struct trace_facts *b,
                  const struct alignment *other, uint64_t more_ns)
{
    made->bounded = same_host(a, b) && other->bounded;
    made->error_ns = a->error_ns + other->error_ns + more_ns; /* which has those of b */
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* False, and the reason noted, when two sources do not run at the same time. */
static bool overlap(struct aligner *aligner, int i, int64_t shift_ns, int j)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    int64_t other_ns = aligner->alignments[j].axis.shift_ns;
    if (a->last_ns == 0 || b->last_ns == 0)
        return true;
    int64_t gap_ns = b->first_ns + other_ns - (a->last_ns + shift_ns);
    if (gap_ns < a->first_ns + shift_ns - (b->last_ns + other_ns))
        gap_ns = a->first_ns + shift_ns - (b->last_ns + other_ns);
    if (gap_ns <= 0)
        return true;
    snprintf(aligner->reason, sizeof aligner->reason,
             "it shares no time with %.120s (%.3f s apart)", aligner->sources[j].name,
             seconds(gap_ns));
    return false;
}

/* ---- methods: whether source i is placed by its relation to j --------------------- */

static bool by_zero(struct aligner *aligner, int i, int j, struct alignment *made)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    if (a->run_zero_ns == 0 || b->run_zero_ns == 0)
        return false;
    if (a->run_zero_ns != b->run_zero_ns) {
        snprintf(aligner->reason, sizeof aligner->reason,
                 "its run began %+.9f s from that of %.120s",
                 seconds(a->run_zero_ns - b->run_zero_ns), aligner->sources[j].name);
        return false;
    }
    made->axis.shift_ns = aligner->alignments[j].axis.shift_ns;
    bound(made, a, b, &aligner->alignments[j], 0);
    return true;
}

static bool is_told_to_start_equal(const struct aligner *aligner)
{
    return aligner->options->method && strcmp(aligner->options->method, "start") == 0;
}

/* A node has one zero time: another zero time is another run. A process that is known by itself may
 * record several times. */
static bool contradicts(struct aligner *aligner, int i)
{
    for (int j = 0; j < aligner->count && !is_told_to_start_equal(aligner); j++) {
        const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
        if (!aligner->alignments[j].placed || (names_its_process(a) && names_its_process(b)) ||
            !same_node(a, b) || a->run_zero_ns == 0 || b->run_zero_ns == 0 ||
            a->run_zero_ns == b->run_zero_ns)
            continue;
        snprintf(
            aligner->reason, sizeof aligner->reason,
            "it is of node %" PRIu32 " as %.100s is, but of another run: they began %.9f s apart",
            a->node, aligner->sources[j].name, seconds(llabs(a->run_zero_ns - b->run_zero_ns)));
        return true;
    }
    return false;
}

/* The clock that counts since the machine was started is one for all its processes, at any time. */
static bool by_monotonic(struct aligner *aligner, int i, int j, struct alignment *made)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    if (!a->has_monotonic || !b->has_monotonic || !a->identity.has_boot || !b->identity.has_boot ||
        !same_host(a, b))
        return false;
    made->axis.shift_ns =
        aligner->alignments[j].axis.shift_ns + a->monotonic_shift_ns - b->monotonic_shift_ns;
    bound(made, a, b, &aligner->alignments[j], a->monotonic_error_ns + b->monotonic_error_ns);
    return true;
}

/* One of them says that its times are of that clock, but not on which machine. When both have time
 * in common there, it is taken to be the same one. */
static bool by_monotonic_name(struct aligner *aligner, int i, int j, struct alignment *made)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    if (!a->has_monotonic || !b->has_monotonic || (a->identity.has_boot && b->identity.has_boot))
        return false;
    made->axis.shift_ns =
        aligner->alignments[j].axis.shift_ns + a->monotonic_shift_ns - b->monotonic_shift_ns;
    return overlap(aligner, i, made->axis.shift_ns, j);
}

static bool by_realtime(struct aligner *aligner, int i, int j, struct alignment *made)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    if (!a->has_realtime || !b->has_realtime)
        return false;
    made->axis.shift_ns =
        aligner->alignments[j].axis.shift_ns + a->realtime_shift_ns - b->realtime_shift_ns;
    bound(made, a, b, &aligner->alignments[j], a->realtime_error_ns + b->realtime_error_ns);
    bool again = names_its_process(a) && names_its_process(b) && same_process(a, b);
    return again || overlap(aligner, i, made->axis.shift_ns, j);
}

/* The axis of one of them is the wall clock; that of the other was set by it when it began. */
static bool by_wall_clock(struct aligner *aligner, int i, int j, struct alignment *made)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    if (!(a->wall_clock && b->has_zero) && !(b->wall_clock && a->has_zero))
        return false;
    made->axis.shift_ns =
        aligner->alignments[j].axis.shift_ns + a->realtime_shift_ns - b->realtime_shift_ns;
    return overlap(aligner, i, made->axis.shift_ns, j);
}

static const struct trace_latency *latency_from(const struct trace_facts *facts, uint32_t node)
{
    for (uint32_t i = 0; i < facts->latency_count; i++)
        if (facts->latencies[i].from_node == node)
            return &facts->latencies[i];
    return NULL;
}

/* With one message each way, half the difference of their times is how far the clocks are apart,
 * and half the sum bounds the error. */
static bool by_messages(struct aligner *aligner, int i, int j, struct alignment *made)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    const struct trace_latency *to_a = latency_from(a, b->node), *to_b = latency_from(b, a->node);
    if (!a->has_node || !b->has_node || !to_a || !to_b)
        return false;
    int64_t sum_ns = to_a->least_ns + to_b->least_ns;
    if (sum_ns < 0) {
        snprintf(aligner->reason, sizeof aligner->reason,
                 "messages to and from %.120s take less than no time together",
                 aligner->sources[j].name);
        return false;
    }
    int64_t ahead_ns = (to_a->least_ns - to_b->least_ns) / 2;
    made->axis.shift_ns =
        b->run_zero_ns - a->run_zero_ns + aligner->alignments[j].axis.shift_ns - ahead_ns;
    made->bounded = aligner->alignments[j].bounded;
    made->error_ns = (uint64_t)(sum_ns + 1) / 2 + aligner->alignments[j].error_ns;
    return true;
}

/* Runs whose nodes take their zero time between two barriers begin at one instant. */
static bool by_start(struct aligner *aligner, int i, int j, struct alignment *made)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    bool known = (a->run_zero_ns || a->from_run_zero) && (b->run_zero_ns || b->from_run_zero);
    made->axis.shift_ns = b->run_zero_ns - a->run_zero_ns + aligner->alignments[j].axis.shift_ns;
    return known;
}

/* Nobody wants clocks of one job to be corrected. */
static bool by_wish(struct aligner *aligner, int i, int j, struct alignment *made)
{
    const struct trace_facts *a = &aligner->sources[i].facts, *b = &aligner->sources[j].facts;
    made->axis.shift_ns = aligner->alignments[j].axis.shift_ns;
    return aligner->options->no_clocks && a->job.ranks && trace_same_job(&a->job, &b->job);
}

static const struct {
    const char *option, *name;
    bool in_auto;
    bool (*place)(struct aligner *aligner, int i, int j, struct alignment *made);
} methods[] = {
    {"monotonic", "MONOTONIC pairs", true, by_monotonic},
    {"zero", "equal zero time", true, by_zero},
    {"realtime", "REALTIME pairs", true, by_realtime},
    {"messages", "message latencies", true, by_messages},
    {"realtime", "wall clock", true, by_wall_clock},
    {"monotonic", "MONOTONIC clock, if it is the same machine's", true, by_monotonic_name},
    {"clocks", "its own clock, as it was told", true, by_wish},
    {"start", "equal start", false, by_start},
};
/* 73 years. */
#define TIME_LIMIT (INT64_C(1) << 61)
enum { METHODS = sizeof methods / sizeof methods[0] };

/* ---- what the user says ---------------------------------------------------------- */

/* Times that count from an unknown zero are taken to count from the run's. */
static void place_given(const struct aligner *aligner, int i, const char *method, int64_t shift_ns,
                        uint64_t error_ns, bool bounded)
{
    const struct trace_facts *facts = &aligner->sources[i].facts;
    bool relative = !facts->has_zero && i != aligner->reference;
    aligner->alignments[i] = (struct alignment){
        .placed = true,
        .method = method,
        .axis = {.shift_ns = shift_ns + (relative ? common_zero_ns(aligner) : 0)},
        .bounded = bounded,
        .error_ns = error_ns + facts->error_ns};
}

static bool place_as_told(struct aligner *aligner, int i)
{
    const struct trace_source *source = &aligner->sources[i];
    const struct align_options *options = aligner->options;
    for (unsigned at = 0; at < options->shift_count; at++) {
        int64_t ns;
        struct option_error error;
        const char *equals = strrchr(options->shifts[at], '=');
        size_t bytes = (size_t)(equals - options->shifts[at]);
        if (strlen(source->name) != bytes || memcmp(source->name, options->shifts[at], bytes) != 0)
            continue;
        (void)align_parse_time(equals + 1, &ns, &error);
        place_given(aligner, i, "--shift", ns, 0, false);
        return true;
    }
    const struct align_offset *offset =
        source->facts.has_node ? align_offset_of(&aligner->offsets, source->facts.node) : NULL;
    if (offset)
        place_given(aligner, i, "measured offsets", -offset->ahead_ns, offset->error_ns,
                    offset->has_error);
    return offset;
}

static bool shifts_are_used(const struct aligner *aligner)
{
    for (unsigned at = 0; at < aligner->options->shift_count; at++) {
        const char *text = aligner->options->shifts[at];
        size_t bytes = (size_t)(strrchr(text, '=') - text);
        bool found = false;
        for (int i = 0; i < aligner->count; i++)
            found |= strlen(aligner->sources[i].name) == bytes &&
                     memcmp(aligner->sources[i].name, text, bytes) == 0;
        if (!found) {
            message_usage("--shift %s: '%.*s' is none of the files", text, (int)bytes, text);
            return false;
        }
    }
    return true;
}

/* ---- all together ---------------------------------------------------------------- */

/* Files of one process have one clock, whatever is chosen for the others. */
static bool may_try(const struct aligner *aligner, int method, int i, int j)
{
    const char *wanted = aligner->options->method;
    if (methods[method].place == by_zero &&
        same_process(&aligner->sources[i].facts, &aligner->sources[j].facts))
        return true;
    if (!wanted || strcmp(wanted, "auto") == 0)
        return methods[method].in_auto;
    return strcmp(wanted, methods[method].option) == 0;
}

static bool align_place(struct aligner *aligner, int i)
{
    aligner->reason[0] = '\0';
    if (contradicts(aligner, i))
        return false;
    for (int method = 0; method < METHODS; method++)
        for (int j = 0; j < aligner->count; j++) {
            struct alignment made = {.placed = true, .method = methods[method].name};
            if (aligner->alignments[j].placed && may_try(aligner, method, i, j) &&
                methods[method].place(aligner, i, j, &made) &&
                llabs(made.axis.shift_ns) < TIME_LIMIT) {
                aligner->alignments[i] = made;
                return true;
            }
        }
    return false;
}

/* So that no sum of them overflows. */
static bool times_are_possible(const struct trace_source *source)
{
    const int64_t times[] = {source->facts.run_zero_ns, source->facts.first_ns,
                             source->facts.last_ns};
    for (int i = 0; i < 3; i++) {
        if (times[i] > -TIME_LIMIT && times[i] < TIME_LIMIT)
            continue;
        return message_fail("%s: its times are impossible: it cannot be merged", source->name);
    }
    return true;
}

/* Node numbers and sizes of the job must fit; the same file twice does not. */
static bool fit_together(const struct aligner *aligner, int i)
{
    const struct trace_source *a = &aligner->sources[i];
    for (int j = 0; j < i; j++) {
        const struct trace_source *b = &aligner->sources[j];
        if (a->facts.nodes && b->facts.nodes && a->facts.nodes != b->facts.nodes)
            return message_fail("%s: is of a job of %" PRIu32 " nodes, but %s of one of %" PRIu32,
                                a->name, a->facts.nodes, b->name, b->facts.nodes);
        if (made_of_same(a, b))
            return message_fail("%s: has the recording that %s is, or has: it would count twice",
                                a->name, b->name);
        if (a->format == b->format && same_session(&a->facts, &b->facts))
            return message_fail(
                "%s: is of the same %s as %s; is it given twice?", a->name,
                names_its_process(&a->facts) ? "process and session" : "node and run", b->name);
    }
    return true;
}

static void align_report(const struct aligner *aligner, int i)
{
    const struct alignment *made = &aligner->alignments[i];
    const struct trace_source *source = &aligner->sources[i];
    char process[40] = "", node[32] = "", error[64] = "no bound on the error";
    bool is_process = names_its_process(&source->facts);
    if (is_process)
        snprintf(process, sizeof process, ", process %" PRIu64, source->facts.identity.os_id);
    if (source->facts.has_node && !(is_process && source->facts.nodes <= 1))
        snprintf(node, sizeof node, ", node %" PRIu32, source->facts.node);
    if (made->bounded)
        snprintf(error, sizeof error, "error at most %" PRIu64 " ns", made->error_ns);
    message_plain("%s: %s%s%s: aligned by %s, shift %+" PRId64 " ns, %s", source->name,
                  source->format->name, process, node, made->method, made->axis.shift_ns, error);
}

/* Of many, a line a method: how many there are, and the worst of what is reported of one. */
static void report_together(const struct aligner *aligner, int first)
{
    const char *method = aligner->alignments[first].method;
    int64_t least_ns = INT64_MAX, most_ns = INT64_MIN;
    uint64_t error_ns = 0;
    char error[64] = "no bound on the error";
    bool bounded = true;
    int count = 0;
    for (int i = 0; i < aligner->count; i++) {
        const struct alignment *made = &aligner->alignments[i];
        if (strcmp(made->method, method) != 0)
            continue;
        if (i < first)
            return; /* reported before */
        count++;
        least_ns = made->axis.shift_ns < least_ns ? made->axis.shift_ns : least_ns;
        most_ns = made->axis.shift_ns > most_ns ? made->axis.shift_ns : most_ns;
        bounded &= made->bounded;
        error_ns = made->error_ns > error_ns ? made->error_ns : error_ns;
    }
    if (bounded)
        snprintf(error, sizeof error, "error at most %" PRIu64 " ns", error_ns);
    message_plain("%d file%s: aligned by %s, shift %+" PRId64 " to %+" PRId64 " ns, %s", count,
                  count == 1 ? "" : "s", method, least_ns, most_ns, error);
}

static int find_reference(const struct trace_source *sources, int count,
                          const struct clock_group *clocks)
{
    if (clocks->first >= 0)
        return clocks->root >= 0 ? clocks->root : clocks->first;
    for (int i = 0; i < count; i++)
        if (sources[i].facts.run_zero_ns)
            return i;
    for (int i = 0; i < count; i++)
        if (sources[i].facts.has_zero)
            return i;
    return 0;
}

/* Only what would not be refused again. */
static void advise(struct aligner *aligner, int i)
{
    bool starts = !is_told_to_start_equal(aligner);
    for (int j = 0; starts && j < aligner->count; j++) {
        struct alignment made;
        starts = i == j || by_start(aligner, i, j, &made);
    }
    message_plain(
        "rbwp merge can be told where it belongs: --shift FILE=TIME, --offsets FILE%s, or "
        "--force-merge",
        starts ? ", --align start" : "");
}

static bool align_refuse(struct aligner *aligner, int i)
{
    if (align_place(aligner, i)) /* for the reason; or by one that was forced */
        return true;
    message("%s: cannot be brought onto one axis with the others: %s", aligner->sources[i].name,
            *aligner->reason ? aligner->reason : "nothing in it tells when it was");
    if (aligner->options->force) {
        place_given(aligner, i, "force", 0, 0, false);
        return true;
    }
    advise(aligner, i);
    return false;
}

static bool place_by_clocks(struct aligner *aligner, int i)
{
    struct alignment made;
    const struct alignment *root =
        aligner->clocks.root < 0 ? NULL : &aligner->alignments[aligner->clocks.root];
    if (!clock_group_has(&aligner->clocks, aligner->sources, i) ||
        !align_by_clocks(&aligner->sources[i], root ? root->axis.shift_ns : 0, &made))
        return false;
    made.error_ns += root ? root->error_ns : 0;
    struct alignment better = {.placed = true, .method = methods[0].name};
    if (root && root->placed && may_try(aligner, 0, i, aligner->clocks.root) &&
        by_monotonic(aligner, i, aligner->clocks.root, &better) && better.bounded &&
        better.error_ns < made.error_ns) {
        free(made.points);
        made = better;
    }
    aligner->alignments[i] = made;
    return true;
}

static void place_reference(struct aligner *aligner)
{
    int i = aligner->reference;
    if (!place_as_told(aligner, i) && !place_by_clocks(aligner, i))
        place_given(aligner, i, "being the reference", 0, 0, true);
    /* What was given for the reference moves the axis and is no error. */
    aligner->alignments[i].bounded = true;
}

static bool align(struct aligner *aligner)
{
    bool good = true;
    for (int i = 0; i < aligner->count; i++) {
        if (!times_are_possible(&aligner->sources[i]))
            return false;
        good &= fit_together(aligner, i) || aligner->options->force;
    }
    place_reference(aligner);
    for (int i = 0; i < aligner->count; i++)
        if (i != aligner->reference && !place_as_told(aligner, i))
            (void)place_by_clocks(aligner, i);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < aligner->count; i++)
            if (!aligner->alignments[i].placed && align_place(aligner, i))
                more = true;
    }
    for (int i = 0; i < aligner->count; i++)
        if (!aligner->alignments[i].placed)
            good &= align_refuse(aligner, i);
    for (int i = 0; good && i < aligner->count && !aligner->options->quiet; i++)
        if (aligner->count > TOLD_EACH)
            report_together(aligner, i);
        else
            align_report(aligner, i);
    return good;
}

bool align_sources(const struct trace_source *sources, int count,
                   const struct align_options *options, struct alignment *alignments,
                   bool *usage_out)
{
    struct clock_group clocks = {.first = -1, .root = -1};
    if (!options->no_clocks && (!options->method || strcmp(options->method, "auto") == 0 ||
                                strcmp(options->method, "clocks") == 0))
        clocks = clock_group_find(sources, count);
    struct aligner aligner = {.sources = sources,
                              .count = count,
                              .reference = find_reference(sources, count, &clocks),
                              .clocks = clocks,
                              .options = options,
                              .alignments = alignments};
    *usage_out = true;
    memset(alignments, 0, (size_t)count * sizeof *alignments);
    if (!shifts_are_used(&aligner) ||
        (options->offsets && !align_offsets_read(&aligner.offsets, options->offsets)))
        return false;
    *usage_out = false;
    bool good = true;
    bool by_clocks =
        options->method && strcmp(options->method, "clocks") == 0; /* of one file, too */
    if (count > 1 || options->shift_count || options->offsets || by_clocks)
        good = align(&aligner);
    align_offsets_free(&aligner.offsets);
    return good;
}

void align_free(struct alignment *alignments, int count)
{
    for (int i = 0; alignments && i < count; i++)
        free(alignments[i].points);
    free(alignments);
}

void align_add_facts(struct trace *trace, const struct trace_source *sources, int count,
                     const struct alignment *alignments)
{
    char key[64];
    for (int i = 0; i < count && alignments[i].placed; i++) {
        const struct alignment *made = &alignments[i];
        snprintf(key, sizeof key, "alignment.%d.file", i);
        trace_add_fact(trace, key, "%s", sources[i].name);
        snprintf(key, sizeof key, "alignment.%d.method", i);
        trace_add_fact(trace, key, "%s", made->method);
        snprintf(key, sizeof key, "alignment.%d.shift_ns", i);
        trace_add_fact(trace, key, "%" PRId64, made->axis.shift_ns);
        snprintf(key, sizeof key, "alignment.%d.error_ns", i);
        if (made->bounded)
            trace_add_fact(trace, key, "%" PRIu64, made->error_ns);
        else
            trace_add_fact(trace, key, "not known");
    }
}
