/* SPDX-License-Identifier: Apache-2.0 */
#include "result_table.h"
#include "histogram.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- cells ------------------------------------------------------------------------------- */

uint64_t result_number(const struct result_column *column, const void *field)
{
    uint16_t narrow;
    uint32_t middle;
    uint64_t wide;
    switch (column->bytes) {
    case 1:
        return *(const uint8_t *)field;
    case sizeof narrow:
        memcpy(&narrow, field, sizeof narrow);
        return narrow;
    case sizeof middle:
        memcpy(&middle, field, sizeof middle);
        return middle;
    default:
        memcpy(&wide, field, sizeof wide);
        return wide;
    }
}

static struct result_cell cell_at(const struct result_column *column, const char *field)
{
    struct trace_text text;
    const char *string;
    double real;
    switch (column->unit) {
    case RESULT_STRING:
        memcpy(&string, field, sizeof string);
        return string ? result_word(string) : result_nothing();
    case RESULT_TEXT:
        memcpy(&text, field, sizeof text);
        return result_bytes(text);
    case RESULT_NAME:
        memcpy(&string, field, sizeof string);
        text.bytes = (uint32_t)result_number(column, field - column->offset + column->count_at);
        return result_bytes((struct trace_text){string, text.bytes});
    case RESULT_HEX:
        return result_bytes((struct trace_text){field, (uint32_t)column->bytes});
    case RESULT_WORD:
        return result_word(column->value_name((unsigned)result_number(column, field)));
    case RESULT_SHARE:
    case RESULT_RATIO:
    case RESULT_REAL:
    case RESULT_DECIMAL:
        memcpy(&real, field, sizeof real);
        return result_f64(real);
    case RESULT_TIME:
    case RESULT_SIGNED:
        return result_i64((int64_t)result_number(column, field));
    default:
        return result_u64(result_number(column, field));
    }
}

struct result_cell result_cell(const struct result_column *column, const struct result_at *at)
{
    struct result_cell cell = column->get ? column->get(at, column->what)
                                          : cell_at(column, (const char *)at->row + column->offset);
    if (column->optional && !column->get &&
        ((cell.kind == RESULT_U64 && cell.u64 == 0) ||
         (cell.kind == RESULT_BYTES && cell.bytes == 0)))
        cell.kind = RESULT_NOTHING;
    return cell;
}

struct result_cell result_file_bytes(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode)
               ? result_u64((uint64_t)status.st_size)
               : result_nothing();
}

struct result_at result_part(const struct result_column *column, const struct result_at *at)
{
    struct result_at part = {.all = at->all, .parent = at->row, .number = at->number};
    const char *field = at->row ? (const char *)at->row + column->offset : NULL;
    if (field && column->rows)
        part.row = column->rows(at).first;
    else if (field && column->unit == RESULT_PART_AT)
        memcpy(&part.row, field, sizeof part.row);
    else
        part.row = field;
    return part;
}

struct result_rows result_list(const struct result_column *column, const struct result_at *at)
{
    if (column->rows)
        return column->rows(at);
    struct result_rows rows = {.stride = column->stride};
    if (column->bytes) {
        memcpy(&rows, (const char *)at->row + column->offset, sizeof rows);
        return rows;
    }
    memcpy(&rows.first, (const char *)at->row + column->offset, sizeof rows.first);
    memcpy(&rows.count, (const char *)at->row + column->count_at, sizeof rows.count);
    return rows;
}

struct result_rows result_ordered(const void *first, size_t stride, uint32_t count)
{
    uint32_t *order = malloc((count + (size_t)1) * sizeof *order);
    for (uint32_t i = 0; order && i < count; i++)
        order[i] = i;
    return (struct result_rows){
        .first = first, .stride = stride, .count = order ? count : 0, .order = order};
}

struct result_at result_row(const struct result_rows *rows, const void *all, const void *parent,
                            uint32_t number)
{
    uint32_t place = rows->order ? rows->order[number] : number;
    const void *row = rows->row     ? rows->row(rows->first, place)
                      : rows->first ? rows->first + place * rows->stride
                                    : NULL;
    return (struct result_at){all, row, parent, place};
}

/* ---- fields of a file ---------------------------------------------------------------------- */

void result_fields(const struct layout *layout, struct result_column *columns_out)
{
    static const enum result_unit units[] = {[FIELD_UNSIGNED] = RESULT_NUMBER,
                                             [FIELD_SIGNED] = RESULT_SIGNED,
                                             [FIELD_BYTES] = RESULT_HEX,
                                             [FIELD_TEXT] = RESULT_NAME};
    for (size_t i = 0; i < layout->count; i++) {
        const struct field *field = &layout->fields[i];
        struct result_column column = {
            field->key,           NULL, 0, units[field->type], .offset = field->member,
            .bytes = field->bytes};
        if (field->type == FIELD_TEXT) {
            column.offset = field->text;
            column.count_at = field->member;
        }
        if (field->key)
            *columns_out++ = column;
        if (field->value_name) {
            column.key = field->word_key;
            column.unit = RESULT_WORD;
            column.value_name = field->value_name;
            *columns_out++ = column;
        }
    }
    *columns_out = (struct result_column)RESULT_LAST;
}

bool result_is_among(const char *only, const char *key)
{
    for (size_t bytes; only && *only; only += bytes + (only[bytes] == ',')) {
        bytes = strcspn(only, ",");
        if (key && strlen(key) == bytes && memcmp(key, only, bytes) == 0)
            return true;
    }
    return !only;
}

/* ---- columns by their names ----------------------------------------------------------------- */

static bool is_called(const char *name, const char *word, size_t bytes)
{
    return name && strlen(name) == bytes && memcmp(name, word, bytes) == 0;
}

static bool find_in(const struct result_column *part, const char *name, size_t bytes,
                    struct result_place *place_out)
{
    size_t prefix = part->key ? strlen(part->key) + 1 : 0;
    if (prefix && (prefix > bytes || !is_called(part->key, name, prefix - 1)))
        return false;
    for (const struct result_column *column = part->part; column->unit != RESULT_END; column++)
        if (is_called(column->key, name + prefix, bytes - prefix) ||
            (!part->key && is_called(column->title, name, bytes))) {
            *place_out = (struct result_place){column, part};
            return true;
        }
    return false;
}

bool result_find(const struct result_column *columns, const char *name, size_t bytes,
                 struct result_place *place_out)
{
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        if (column->part && find_in(column, name, bytes, place_out))
            return true;
        if (!column->part &&
            (is_called(column->title, name, bytes) || is_called(column->key, name, bytes))) {
            *place_out = (struct result_place){column, NULL};
            return true;
        }
    }
    return false;
}

struct result_cell result_place_cell(const struct result_place *place, const struct result_at *at)
{
    if (!place->part)
        return result_cell(place->column, at);
    struct result_at part = result_part(place->part, at);
    return part.row ? result_cell(place->column, &part) : result_nothing();
}

/* ---- rows that become one ---------------------------------------------------------------- */

static void merge_real(const struct result_column *column, char *to, const char *from, bool first)
{
    double a, b;
    memcpy(&a, to, sizeof a);
    memcpy(&b, from, sizeof b);
    bool less = b < a;
    a = column->merge == RESULT_SUM                      ? a + b
        : first || less == (column->merge == RESULT_MIN) ? b
                                                         : a;
    memcpy(to, &a, sizeof a);
}

static void merge_number(const struct result_column *column, char *to, const char *from, bool first)
{
    uint64_t a, b, sum;
    memcpy(&a, to, sizeof a);
    memcpy(&b, from, sizeof b);
    if (column->merge == RESULT_SUM)
        sum = __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
    else
        sum = first || (b < a) == (column->merge == RESULT_MIN) ? b : a;
    memcpy(to, &sum, sizeof sum);
}

bool result_merge(const struct result_column *columns, void *row, const void *from, bool first)
{
    bool good = true;
    for (const struct result_column *column = columns; column->unit != RESULT_END; column++) {
        char *to = (char *)row + column->offset;
        const char *other = (const char *)from + column->offset;
        if (column->unit == RESULT_HISTOGRAM)
            good = histogram_merge((struct histogram *)(void *)to,
                                   (const struct histogram *)(const void *)other) &&
                   good;
        else if (column->merge != RESULT_STAYS)
            (column->unit == RESULT_REAL ? merge_real : merge_number)(column, to, other, first);
    }
    return good;
}

/* ---- order --------------------------------------------------------------------------------- */

/* A row on its way into its place: what it is sorted by is looked up once. */
struct sorted_row {
    const void *row;
    struct result_cell cell;
    uint32_t number;
    bool ascends;
    int (*compare)(const void *left, const void *right);
};

static int compare_sorted(const void *a, const void *b)
{
    const struct sorted_row *left = a, *right = b;
    const struct result_cell *one = &left->cell, *two = &right->cell;
    int order = one->kind == RESULT_BYTES
                    ? trace_text_compare((struct trace_text){one->text, one->bytes},
                                         (struct trace_text){two->text, two->bytes})
                : one->kind == RESULT_F64 ? (one->f64 > two->f64) - (one->f64 < two->f64)
                                          : (one->u64 > two->u64) - (one->u64 < two->u64);
    order = left->ascends ? order : -order;
    return order ? order : left->compare(left->row, right->row);
}

bool result_sort(struct result_rows *rows, const struct result_column *column, const void *all,
                 int (*compare)(const void *left, const void *right))
{
    struct sorted_row *sorted = malloc((rows->count + (size_t)1) * sizeof *sorted);
    bool ascends =
        column->unit == RESULT_ID || column->unit == RESULT_TEXT || column->unit == RESULT_CHOICE;
    for (uint32_t i = 0; sorted && i < rows->count; i++) {
        struct result_at at = result_row(rows, all, NULL, i);
        sorted[i] =
            (struct sorted_row){at.row, result_cell(column, &at), at.number, ascends, compare};
    }
    if (sorted && rows->count)
        qsort(sorted, rows->count, sizeof *sorted, compare_sorted);
    for (uint32_t i = 0; sorted && i < rows->count; i++)
        rows->order[i] = sorted[i].number;
    free(sorted);
    return sorted != NULL;
}
