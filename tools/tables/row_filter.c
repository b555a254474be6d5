/* SPDX-License-Identifier: Apache-2.0 */
#include "row_filter.h"

bool row_filter_start(struct row_filter *filter, const struct filter_options *options,
                      const struct input *input, const struct rbwp_catalog *catalog)
{
    *filter = (struct row_filter){.options = options, .catalog = catalog, .place = {-1, -1}};
    bool loaded = names_load(&filter->names, input->reader);
    filter_start(&filter->filter, options, input->reader, &filter->names);
    return loaded;
}

void row_filter_stop(struct row_filter *filter)
{
    filter_stop(&filter->filter);
    names_free(&filter->names);
}

const char *row_filter_enter(struct row_filter *filter, const struct rbwp_schema *schema)
{
    filter->place = row_place_of(schema);
    filter->label = -1;
    for (int i = schema->column_count; i-- > 0;)
        if (schema->columns[i].role == RBWP_ROLE_LABEL &&
            schema->columns[i].type == RBWP_COLUMN_NAME)
            filter->label = i;
    const struct filter_options *options = filter->options;
    if (filter->place.time < 0 && (options->from.set || options->to.set))
        return "--from and --to";
    return filter->label < 0 && options->labels.count ? "--name" : NULL;
}

static bool takes_time(struct row_filter *filter, int64_t time_ns)
{
    filter_resolve(&filter->filter, time_ns);
    return !(filter->options->from.set && time_ns < filter->filter.from_ns) &&
           !(filter->options->to.set && time_ns >= filter->filter.to_ns);
}

/* Rows of one thread mostly follow each other. */
static bool takes_thread(struct row_filter *filter, uint64_t thread_id, int64_t time_ns)
{
    if (!filter->any_thread || thread_id != filter->thread_id) {
        filter->any_thread = true;
        filter->thread_id = thread_id;
        filter->takes_thread =
            thread_id && filter_takes_thread(&filter->filter, thread_id, time_ns);
    }
    return filter->takes_thread;
}

bool row_filter_takes(struct row_filter *filter, const struct rbwp_rows *rows, uint32_t row)
{
    const struct filter_options *options = filter->options;
    int64_t time_ns = 0;
    if (row_time(&filter->place, rows, row, &time_ns) && !takes_time(filter, time_ns))
        return false;
    if (options->threads.count &&
        !takes_thread(filter, row_thread(&filter->place, rows, row), time_ns))
        return false;
    if (options->labels.count == 0)
        return true;
    uint64_t number = rows->cells[filter->label][row];
    struct rbwp_text name = rbwp_catalog_name(filter->catalog, number);
    return number && filter_patterns_fit(&options->labels, number, name.text, name.bytes);
}
