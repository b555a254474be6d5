/* SPDX-License-Identifier: Apache-2.0 */
/* What rbwp diff found as JUnit's XML, which CI systems show: a test case a row. */
#include "stats_diff.h"

#include "quantity.h"
#include "trace_category.h"
#include "utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- text ------------------------------------------------------------------------------------ */

/* XML has no way to write control characters and two others, which are replaced. */
static bool xml_has(const unsigned char *bytes, size_t length)
{
    return length && !utf8_is_control(bytes, length) &&
           !(length == 3 && bytes[0] == 0xef && bytes[1] == 0xbf && bytes[2] >= 0xbe);
}

static void xml_text(struct out *out, const char *text, size_t count)
{
    const unsigned char *bytes = (const unsigned char *)text;
    for (size_t at = 0, length; at < count; at += length ? length : 1) {
        length = utf8_length(bytes + at, count - at);
        if (!xml_has(bytes + at, length))
            out_text(out, UTF8_REPLACEMENT);
        else if (strchr("&<>\"", bytes[at]))
            out_format(out, "&#%d;", bytes[at]);
        else
            out_bytes(out, text + at, length);
    }
}

/* ---- test cases ------------------------------------------------------------------------------ */

struct junit_case {
    const char *kind;
    struct trace_text name;
    enum diff_verdict verdict;
    uint64_t a, b;
    bool few;
};

static struct junit_case case_of(const struct diff *diff, uint32_t i)
{
    if (i < diff->count) {
        const struct diff_row *row = &diff->rows[i];
        return (struct junit_case){trace_category_name[row->category],
                                   row->name,
                                   row->verdict,
                                   row->of_a.median.value,
                                   row->of_b.median.value,
                                   row->few};
    }
    const struct launch_diff *row = &diff->launches[i - diff->count];
    return (struct junit_case){"launch to start", row->name,    row->verdict,
                               row->a_value,      row->b_value, false};
}

/* Why it was not judged; NULL: it was. */
static const char *skipped(const struct diff *diff, const struct junit_case *row)
{
    return row->few                    ? "too few spans (--min-count)"
           : row->verdict == DIFF_NEW  ? "only after has it"
           : row->verdict == DIFF_GONE ? "only before has it"
           : !diff->judged             ? "too few runs for a verdict"
                                       : NULL;
}

static void case_text(struct out *out, const struct diff *diff, const struct junit_case *row)
{
    char a[QUANTITY_BYTES], b[QUANTITY_BYTES];
    const char *why = skipped(diff, row);
    out_format(out, "<testcase classname=\"%s\" name=\"", row->kind);
    xml_text(out, row->name.text, row->name.bytes);
    out_text(out, "\">");
    if (why)
        out_format(out, "<skipped message=\"%s\"/>", why);
    else if (row->verdict == DIFF_SLOWER)
        out_format(out,
                   "<failure message=\"%s %s, was %s: %.3f times (threshold %.4g %%, error rate "
                   "%.2g %%)%s\"/>",
                   diff_metric_name[diff->metric], quantity_duration(b, row->b),
                   quantity_duration(a, row->a), (double)row->b / (double)row->a,
                   (double)diff->threshold / 1000, 100 * diff->error_rate,
                   diff->turns == TURNS_NOT_TAKEN ? "; the runs were not made by turns" : "");
    out_text(out, "</testcase>\n");
}

void diff_junit(struct out *out, const struct diff *diff)
{
    uint32_t failures = 0, left = 0;
    const uint32_t count = diff->count + diff->launch_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct junit_case row = case_of(diff, i);
        const bool is_skipped = skipped(diff, &row) != NULL;
        left += is_skipped;
        failures += !is_skipped && row.verdict == DIFF_SLOWER;
    }
    out_format(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"rbwp "
               "diff\" tests=\"%" PRIu32 "\" failures=\"%" PRIu32
               "\" errors=\"0\" skipped=\"%" PRIu32 "\">\n",
               count, failures, left);
    for (uint32_t i = 0; i < count; i++) {
        const struct junit_case row = case_of(diff, i);
        case_text(out, diff, &row);
    }
    out_text(out, "</testsuite>\n</testsuites>\n");
}
