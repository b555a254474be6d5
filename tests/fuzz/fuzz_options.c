/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools' command line, and the filter that it makes, against a file: parsing ends in one of
 * its results, operands keep their order, and of the records the filter takes just those that its
 * times, kinds and thread numbers allow.
 *
 * The input is words, each ended by a zero byte.
 */
#include "filter.h"
#include "fuzz.h"
#include "out.h"
#include "rbwp_writer.h"

#include <stdlib.h>
#include <string.h>

#define ZERO_NS 1000000
#define THREADS 3

struct config {
    struct filter_options filter;
    struct out_options output;
};

static const struct option_group groups[] = {
    {"Filter", filter_option_table, offsetof(struct config, filter)},
    {"Output", out_option_table, offsetof(struct config, output)},
    {0},
};

/* ---- the file: a few calls on three threads ------------------------------ */

static uint8_t file[8192];
static size_t file_bytes;

static enum rbwp_status append(void *context, const void *bytes, size_t count)
{
    (void)context;
    REQUIRE(count <= sizeof file - file_bytes);
    memcpy(file + file_bytes, bytes, count);
    file_bytes += count;
    return RBWP_OK;
}

static enum rbwp_status overwrite(void *context, uint64_t offset, const void *bytes, size_t count)
{
    (void)context;
    memcpy(file + offset, bytes, count);
    return RBWP_OK;
}

static void put(struct rbwp_block_encoder *encoder, int64_t time_ns, unsigned kind, unsigned id)
{
    REQUIRE(rbwp_block_encoder_put(encoder, time_ns, kind, id) == RBWP_OK);
}

static void write_thread(struct rbwp_writer *writer, struct rbwp_block_encoder *encoder,
                         unsigned thread)
{
    struct rbwp_sealed_block block;
    int64_t time_ns = ZERO_NS + 10 * thread;
    for (unsigned i = 0; i < 20; i++, time_ns += 1000 + 300 * i) {
        put(encoder, time_ns, RBWP_COARSE_BEGIN, i % 4);
        put(encoder, time_ns + 100, RBWP_FINE_BEGIN, i % 3);
        put(encoder, time_ns + 200, RBWP_FINE_END, 0);
        put(encoder, time_ns + 300 + 100 * i, RBWP_COARSE_END, 0);
    }
    REQUIRE(rbwp_block_encoder_seal(encoder, thread, 0, &block) == RBWP_OK);
    REQUIRE(rbwp_writer_add_block(writer, &block) == RBWP_OK);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    static const struct rbwp_work_item_name items[] = {
        {0, 5, "flush"}, {1, 7, "compact"}, {2, 4, "copy"}, {3, 0, ""}};
    static const struct rbwp_thread_info threads[THREADS] = {
        {.thread_id = 0, .records = 80, .name = "main", .name_bytes = 4},
        {.thread_id = 1, .records = 80, .name = "worker 1", .name_bytes = 8},
        {.thread_id = 2, .records = 80, .name = "worker 2", .name_bytes = 8}};
    struct rbwp_trailer trailer = {.level = 2, .threads = threads, .thread_count = THREADS};
    struct rbwp_sink sink = {NULL, append, overwrite};
    struct rbwp_writer *writer;
    struct rbwp_block_encoder *encoder;
    REQUIRE(rbwp_writer_new(&sink, 0, ZERO_NS, true, &writer) == RBWP_OK);
    REQUIRE(rbwp_block_encoder_new(0, 0, &encoder) == RBWP_OK);
    for (unsigned thread = 0; thread < THREADS; thread++)
        write_thread(writer, encoder, thread);
    REQUIRE(rbwp_writer_finish(writer, items, 4, NULL, 0, &trailer) == RBWP_OK);
    rbwp_block_encoder_free(encoder);
    rbwp_writer_free(writer);
    return 0;
}

/* ---- the filter ----------------------------------------------------------- */

static bool time_allows(const struct filter_options *options, int64_t time_ns)
{
    const struct filter_time *from = &options->from, *to = &options->to;
    if (from->set && time_ns - (from->relative ? ZERO_NS : 0) < from->ns)
        return false;
    return !to->set || time_ns - (to->relative ? ZERO_NS : 0) < to->ns;
}

static bool thread_allows(const struct filter_options *options, uint64_t thread)
{
    for (unsigned i = 0; i < options->threads.count; i++)
        if (options->threads.list[i].is_number && options->threads.list[i].number == thread)
            return true;
    return options->threads.count == 0;
}

static bool kind_allows(const struct filter_options *options, unsigned kind)
{
    unsigned bit = kind == RBWP_COARSE_BEGIN ? FILTER_COARSE_BEGIN
                   : kind == RBWP_COARSE_END ? FILTER_COARSE_END
                   : kind == RBWP_FINE_BEGIN ? FILTER_FINE_BEGIN
                                             : FILTER_FINE_END;
    return !options->kinds || options->kinds & bit;
}

static void filter_block_records(struct filter *filter, const struct filter_options *options,
                                 const struct rbwp_block *block)
{
    struct rbwp_record_iterator iterator;
    struct rbwp_record record;
    bool wanted = filter_block(filter, block), by_name = filter_needs_names(options);
    rbwp_record_first(block, &iterator);
    while (rbwp_record_next(&iterator, &record)) {
        bool takes = wanted && filter_record(filter, &record);
        bool allowed = time_allows(options, record.time_ns) && kind_allows(options, record.kind) &&
                       (by_name || thread_allows(options, block->header.thread_id));
        REQUIRE(!takes || allowed);
        if (!by_name && !options->slots.count)
            REQUIRE(takes == allowed);
    }
}

static void filter_file(const struct filter_options *options)
{
    struct rbwp_reader *reader;
    struct rbwp_block block;
    struct names names;
    struct filter filter;
    REQUIRE(rbwp_reader_open_memory(file, file_bytes, NULL, &reader, NULL) == RBWP_OK);
    REQUIRE(names_load(&names, reader));
    filter_start(&filter, options, reader, &names);
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        filter_block_records(&filter, options, &block);
    filter_stop(&filter);
    names_free(&names);
    rbwp_reader_close(reader);
}

/* ---- the command line ------------------------------------------------------ */

static void check_operands(const struct words *before, const struct words *after)
{
    REQUIRE(after->count >= 0 && after->count <= before->count);
    for (int i = 0, from = 0; i < after->count; i++, from++) {
        while (from < before->count && before->word[from] != after->word[i])
            from++;
        REQUIRE(from < before->count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config config;
    struct words words = words_split(data, size), left = words;
    struct option_error error = {""};
    config = (struct config){0};
    switch (options_parse(groups, &config, left.word, &left.count, &error)) {
    case OPTIONS_WRONG:
        REQUIRE(error.text[0] && memchr(error.text, '\0', sizeof error.text));
        break;
    case OPTIONS_DONE:
        check_operands(&words, &left);
        filter_file(&config.filter);
        break;
    case OPTIONS_HELP:
    case OPTIONS_VERSION:
        break;
    }
    words_free(&words);
    return 0;
}
