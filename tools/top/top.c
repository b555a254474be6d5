/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks again and again. A terminal is written over, a pipe gets one block after the other. Who
 * comes is found at the next look, and who has gone is told of once by being left out.
 */
#include "top.h"

#include "controlled.h"
#include "input_list.h"
#include "json_text.h"
#include "live_path.h"
#include "message.h"
#include "out.h"
#include "quantity.h"
#include "stacks.h"
#include "text_name.h"
#include "top_sample.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL_NS UINT64_C(2000000000)
#define NAME_COLUMNS 32

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

/* ---- which files ---------------------------------------------------------------------- */

struct files {
    char **list;
    size_t count, room;
};

static bool add_file(struct files *files, char *file)
{
    if (file && files->count == files->room) {
        char **more = realloc(files->list, (files->room = 2 * files->room + 16) * sizeof *more);
        files->list = more ? more : files->list;
        if (!more) {
            free(file);
            file = NULL;
        }
    }
    if (file)
        files->list[files->count++] = file;
    return file != NULL;
}

static void free_files(struct files *files)
{
    for (size_t i = 0; i < files->count; i++)
        free(files->list[i]);
    free(files->list);
    *files = (struct files){0};
}

static bool is_pid(const char *word)
{
    return word[0] && word[strspn(word, "0123456789")] == '\0' && access(word, F_OK) != 0;
}

static bool is_live(const char *file)
{
    char *live = live_path(file);
    bool there = live && access(live, F_OK) == 0;
    free(live);
    return there;
}

/* A file as it is; of a folder those that are written. */
static bool add_named(struct files *files, char *word)
{
    const struct input_options none = {0};
    struct operands found;
    bool usage, whole = input_list_open(&none, (struct operands){&word, 1}, &found, &usage);
    for (int i = 0; whole && i < found.count; i++)
        if (found.count == 1 || is_live(found.words[i]))
            whole = add_file(files, strdup(found.words[i]));
    input_list_close(&found);
    return whole;
}

/* All that this user may see: those that listen, as far as they record. */
static bool add_all(struct files *files)
{
    struct controlled *list;
    size_t count;
    if (!controlled_list(&list, &count))
        return false;
    for (size_t i = 0; i < count; i++) {
        char pid[24];
        struct message_held held = {0};
        snprintf(pid, sizeof pid, "%ld", list[i].pid);
        if (i > 0 && list[i].pid == list[i - 1].pid)
            continue;
        message_hold(&held); /* it records nothing now, or has gone */
        (void)add_file(files, stacks_file_of(pid));
        message_hold(NULL);
        free(held.text);
    }
    free(list);
    if (files->count == 0)
        message("no process of this user records now");
    return true;
}

static bool find_files(struct files *files, struct operands words)
{
    bool whole = words.count > 0 || add_all(files);
    for (int i = 0; i < words.count; i++)
        whole &= is_pid(words.words[i]) ? add_file(files, stacks_file_of(words.words[i]))
                                        : add_named(files, words.words[i]);
    return whole;
}

/* ---- order ------------------------------------------------------------------------------ */

static enum top_order order;

static uint64_t mean_of(const struct top_item *item)
{
    return item->ended ? item->total_ns / item->ended : 0;
}

static uint64_t rank(const struct top_item *item)
{
    switch (order) {
    case TOP_CALLS:
        return item->ended;
    case TOP_MEAN:
        return mean_of(item);
    case TOP_MAX:
        return item->max_ns;
    case TOP_OPEN:
        return item->open_ns;
    case TOP_BUSY:
    case TOP_NAME:
        break;
    }
    return item->busy_ns + item->waits_ns;
}

static int compare(const void *left, const void *right)
{
    const struct top_item *a = left, *b = right;
    int by_name = strcmp(a->name, b->name);
    if (order == TOP_NAME && by_name != 0)
        return by_name;
    uint64_t of_a = rank(a), of_b = rank(b);
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return by_name ? by_name : (a->program > b->program) - (a->program < b->program);
}

/* ---- telling ------------------------------------------------------------------------------ */

static double seconds(const struct top_sample *sample)
{
    return (double)(sample->to_ns - sample->from_ns) / 1e9;
}

static void head(struct out *out, const struct top_sample *sample, const struct colors *colors)
{
    uint64_t busy_ns = 0;
    uint32_t threads = 0;
    for (uint32_t i = 0; i < sample->program_count; i++) {
        busy_ns += sample->programs[i].busy_ns;
        threads += sample->programs[i].threads;
    }
    out_format(out, "%s%u program%s, %u thread%s with calls, %.2f busy, last %.1f s%s\n",
               colors->bold, sample->program_count, sample->program_count == 1 ? "" : "s", threads,
               threads == 1 ? "" : "s", (double)busy_ns / 1e9 / seconds(sample), seconds(sample),
               colors->off);
    out_format(out, "%s%7s %7s %10s %10s %10s %5s %10s  %-*s %s%s\n", colors->dim, "busy", "waits",
               "ended/s", "mean", "max", "open", "for", NAME_COLUMNS, "name", "program",
               colors->off);
}

static void item_line(struct out *out, const struct top_sample *sample, const struct top_item *item)
{
    char mean[QUANTITY_BYTES] = "-", max[QUANTITY_BYTES] = "-", open[QUANTITY_BYTES] = "-";
    const char *program = sample->programs[item->program].name;
    if (item->ended) {
        quantity_rough(mean, mean_of(item), 3);
        quantity_rough(max, item->max_ns, 3);
    }
    if (item->open)
        quantity_rough(open, item->open_ns, 3);
    out_format(out, "%6.1f%% %6.1f%% %10.1f %10s %10s %5u %10s  ",
               100 * (double)item->busy_ns / 1e9 / seconds(sample),
               100 * (double)item->waits_ns / 1e9 / seconds(sample),
               (double)item->ended / seconds(sample), mean, max, item->open, open);
    unsigned indent = item->is_call ? 0 : 2;
    out_format(out, "%*s", (int)indent, "");
    unsigned used = text_name_fit(out, item->name, strlen(item->name), NAME_COLUMNS - indent);
    out_format(out, "%*s ", (int)(NAME_COLUMNS - indent - used), "");
    text_name(out, program, strlen(program));
    out_text(out, "\n");
}

static void item_json(struct out *out, const struct top_sample *sample, const struct top_item *item)
{
    const struct top_program *program = &sample->programs[item->program];
    out_format(out, "{\"from\":%" PRId64 ",\"to\":%" PRId64 ",", sample->from_ns, sample->to_ns);
    json_name(out, "program", program->name, strlen(program->name));
    out_text(out, ",");
    json_name(out, "file", program->file, strlen(program->file));
    out_text(out, ",");
    json_name(out, "name", item->name, strlen(item->name));
    out_format(out,
               ",\"call\":%s,\"ended\":%" PRIu64 ",\"total\":%" PRIu64 ",\"max\":%" PRIu64
               ",\"busy\":%" PRIu64 ",\"waiting\":%" PRIu64 ",\"open\":%u,\"open_for\":%" PRIu64
               "}\n",
               item->is_call ? "true" : "false", item->ended, item->total_ns, item->max_ns,
               item->busy_ns, item->waits_ns, item->open, item->open_ns);
}

/* Rows of the terminal; 0: it is none. */
static uint32_t rows_of(int fd)
{
    struct winsize size;
    return isatty(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

static void tell(const struct top_options *options, struct out *out, struct top_sample *sample)
{
    const struct colors colors = terminal_colors(&options->terminal, out->fd);
    uint32_t rows = options->once ? 0 : rows_of(out->fd), shown = options->lines;
    if (!shown)
        shown = rows > 4 ? rows - 3 : UINT32_MAX;
    if (sample->item_count)
        qsort(sample->items, sample->item_count, sizeof *sample->items, compare);
    if (rows && !options->json)
        out_text(out, "\033[H\033[2J");
    if (!options->json)
        head(out, sample, &colors);
    for (uint32_t i = 0; i < sample->item_count && i < shown; i++)
        if (options->json)
            item_json(out, sample, &sample->items[i]);
        else
            item_line(out, sample, &sample->items[i]);
    if (!rows && !options->once && !options->json)
        out_text(out, "\n");
    out_flush(out);
}

/* ---- again and again ---------------------------------------------------------------------- */

static int64_t wall_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Only a first look that finds nothing at all is a failure: programs come and go. */
static bool look(const struct top_options *options, struct operands words, struct out *out)
{
    struct files files = {0};
    struct top_sample sample = {.to_ns = wall_ns()};
    sample.from_ns = sample.to_ns - (int64_t)options->interval_ns;
    bool whole = find_files(&files, words);
    for (size_t i = 0; i < files.count; i++)
        whole &= top_sample_add(&sample, files.list[i]);
    if (whole || sample.program_count > 0)
        tell(options, out, &sample);
    top_sample_free(&sample);
    free_files(&files);
    return whole;
}

static void wait_for(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
    while (!interrupted && nanosleep(&left, &left) != 0)
        ;
}

enum exit_code top_show(const struct top_options *asked, struct operands words)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct top_options options = *asked;
    struct out out;
    options.interval_ns = options.interval_ns ? options.interval_ns : INTERVAL_NS;
    options.times = options.once ? 1 : options.times;
    order = (enum top_order)options.order;
    if (!out_open(&out, &(struct out_options){0}, (struct operands){0}))
        return EXIT_BAD_DATA;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    enum exit_code code = look(&options, words, &out) ? EXIT_GOOD : EXIT_BAD_DATA;
    for (uint32_t i = 1; code == EXIT_GOOD && i != options.times && !out_failed(&out); i++) {
        wait_for(options.interval_ns);
        if (interrupted || !look(&options, words, &out))
            break;
    }
    return exit_worse(code, out_close(&out));
}
