/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_matrix.h"
#include "message.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define RAW_BYTES_MAX ((size_t)INT32_MAX)
#define ID_END (UINT32_C(1) << PTX_WIDE_ID_BITS)

void ptx_matrix_free(struct ptx_matrix *matrix)
{
    free(matrix->cells);
    free(matrix->bytes);
    *matrix = (struct ptx_matrix){0};
}

static bool empty(const struct ptx_cell *cell)
{
    return !cell->start && !cell->end && !cell->start_id && !cell->end_id;
}

/* Rows at the end in which nothing stands are none. */
static void trim(struct ptx_matrix *matrix)
{
    while (matrix->rows > 0) {
        const struct ptx_cell *row = ptx_matrix_at(matrix, matrix->rows - 1, 0);
        for (uint32_t lane = 0; lane < matrix->lanes; lane++)
            if (!empty(&row[lane]))
                return;
        matrix->rows--;
    }
}

static bool ptx_matrix_make_cells(struct ptx_matrix *matrix)
{
    size_t count = (size_t)matrix->rows * matrix->lanes;
    matrix->cells = calloc(count ? count : 1, sizeof *matrix->cells);
    if (!matrix->cells)
        message("out of memory");
    return matrix->cells != NULL;
}

/* ---- buffers --------------------------------------------------------------------------- */

struct raw {
    const struct ptx_map *map;
    const char *path;
    const uint8_t *bytes;
    size_t count;
};

static bool refuse_hash(const struct raw *raw, uint64_t hash)
{
    if (hash == raw->map->hash)
        return true;
    message_plain("%s: it has the hash %016" PRIx64
                  ", and the probes of kernel '%s' have %016" PRIx64
                  ": it is of another kernel, or of other options",
                  raw->path, hash, ptx_map_kernel(raw->map), raw->map->hash);
    return false;
}

/* Its size, and the tail if it has one. */
static bool check_raw(const struct raw *raw, struct ptx_matrix *matrix)
{
    uint64_t bytes = raw->map->buffer_bytes;
    if (raw->count != bytes && raw->count != bytes + PTX_TAIL_BYTES) {
        message_plain("%s: it has %zu bytes, and the probes of kernel '%s' (hash %016" PRIx64
                      ") write %" PRIu64 ": it is cut, or of another kernel",
                      raw->path, raw->count, ptx_map_kernel(raw->map), raw->map->hash, bytes);
        return false;
    }
    if (raw->count == bytes)
        return true;
    matrix->dropped = ptx_load_u64(raw->bytes + bytes);
    return refuse_hash(raw, ptx_load_u64(raw->bytes + bytes + 8));
}

static bool check_cell(const struct raw *raw, const struct ptx_cell *cell, uint32_t lane)
{
    uint32_t id = cell->start_id > cell->end_id ? cell->start_id : cell->end_id;
    if (id < raw->map->ids || empty(cell))
        return true;
    message_plain("%s: lane %" PRIu32 " has a record of probe %" PRIu32
                  ", and kernel '%s' (hash %016" PRIx64 ") has %" PRIu32
                  ": it is of another kernel",
                  raw->path, lane, id, ptx_map_kernel(raw->map), raw->map->hash, raw->map->ids);
    return false;
}

static bool take_compat(const struct raw *raw, struct ptx_matrix *matrix)
{
    size_t count = (size_t)matrix->rows * matrix->lanes;
    for (size_t i = 0; i < count; i++) {
        matrix->cells[i] = ptx_compat_cell(raw->bytes + i * PTX_COMPAT_BYTES);
        if (!check_cell(raw, &matrix->cells[i], (uint32_t)(i % matrix->lanes)))
            return false;
    }
    return true;
}

/* The clocks of a lane count on from that of its head. */
static bool take_wide_lane(const struct raw *raw, struct ptx_matrix *matrix, uint32_t lane)
{
    const uint8_t *at = raw->bytes + PTX_WIDE_BYTES +
                        (size_t)lane * PTX_WIDE_BYTES * ((size_t)raw->map->capacity + 1);
    uint64_t clock = ptx_load_u64(at + 8);
    uint32_t cost = ptx_load_u32(at + 28);
    matrix->dropped += ptx_load_u32(at + 24);
    if (cost && (!matrix->pair_cost || cost < matrix->pair_cost))
        matrix->pair_cost = cost;
    for (uint32_t row = 0; row < matrix->rows; row++) {
        at += PTX_WIDE_BYTES;
        uint64_t start = ptx_load_u64(at), end = ptx_load_u64(at + 8);
        struct ptx_cell *cell = &matrix->cells[(size_t)row * matrix->lanes + lane];
        if (!start && !end)
            continue;
        clock = ptx_clock_after(clock, ptx_wide_clock(start), PTX_WIDE_CLOCK_BITS);
        *cell = (struct ptx_cell){ptx_wide_id(start), ptx_wide_id(end), clock, 0};
        clock = ptx_clock_after(clock, ptx_wide_clock(end), PTX_WIDE_CLOCK_BITS);
        cell->end = clock;
        if (!check_cell(raw, cell, lane))
            return false;
    }
    return true;
}

static bool take_wide(const struct raw *raw, struct ptx_matrix *matrix)
{
    uint64_t magic = ptx_load_u64(raw->bytes), hash = ptx_load_u64(raw->bytes + 8);
    if (magic == 0 && hash == 0) { /* no thread of the set ran, or there was no buffer */
        matrix->rows = 0;
        return true;
    }
    if (magic != PTX_WIDE_MAGIC) {
        message_plain("%s: no buffer of wide cells", raw->path);
        return false;
    }
    if (!refuse_hash(raw, hash))
        return false;
    for (uint32_t lane = 0; lane < matrix->lanes; lane++)
        if (!take_wide_lane(raw, matrix, lane))
            return false;
    matrix->wide = raw->bytes;
    return true;
}

static const uint8_t *wide_lane(const struct ptx_matrix *matrix, uint32_t lane)
{
    return matrix->wide + PTX_WIDE_BYTES +
           (size_t)lane * PTX_WIDE_BYTES * ((size_t)matrix->capacity + 1);
}

struct ptx_lane_head ptx_matrix_head(const struct ptx_matrix *matrix, uint32_t lane)
{
    const uint8_t *at = wide_lane(matrix, lane);
    return (struct ptx_lane_head){ptx_load_u64(at), ptx_load_u64(at + 8), ptx_load_u32(at + 16),
                                  ptx_load_u32(at + 20)};
}

struct ptx_cell_place ptx_matrix_place(const struct ptx_matrix *matrix, uint32_t row, uint32_t lane)
{
    const uint8_t *at = wide_lane(matrix, lane) + PTX_WIDE_BYTES * ((size_t)row + 1);
    return (struct ptx_cell_place){ptx_load_u64(at + 16), ptx_load_u32(at + 24),
                                   ptx_load_u32(at + 28)};
}

static bool take_raw(const struct raw *raw, struct ptx_matrix *matrix)
{
    const struct ptx_map *map = raw->map;
    bool wide = map->cells == PTX_CELLS_WIDE;
    uint64_t lane = wide ? PTX_WIDE_BYTES * ((uint64_t)map->capacity + 1)
                         : (uint64_t)PTX_COMPAT_BYTES * map->capacity;
    if (map->capacity == 0 || map->lanes > RAW_BYTES_MAX / lane ||
        map->buffer_bytes != map->lanes * lane + (wide ? PTX_WIDE_BYTES : 0)) {
        message_plain("%s: the map's numbers do not fit together", raw->path);
        return false;
    }
    matrix->rows = matrix->capacity = map->capacity;
    matrix->lanes = (uint32_t)map->lanes;
    if (!check_raw(raw, matrix) || !ptx_matrix_make_cells(matrix))
        return false;
    if (wide ? take_wide(raw, matrix) : take_compat(raw, matrix)) {
        trim(matrix);
        return true;
    }
    ptx_matrix_free(matrix);
    return false;
}

bool ptx_matrix_read_raw(struct ptx_matrix *matrix, const struct ptx_map *map, const char *path)
{
    struct raw raw = {.map = map, .path = path};
    *matrix = (struct ptx_matrix){0};
    char *bytes = ptx_read_file(path, RAW_BYTES_MAX, &raw.count);
    if (!bytes)
        return false;
    raw.bytes = (const uint8_t *)bytes;
    if (!take_raw(&raw, matrix)) {
        free(bytes);
        return false;
    }
    matrix->bytes = bytes;
    return true;
}

/* ---- raw.csv --------------------------------------------------------------------------- */

struct csv {
    const char *path, *at;
    uint32_t line;
};

static bool wrong_line(const struct csv *csv, const char *what)
{
    message_plain("%s:%" PRIu32 ": %s", csv->path, csv->line, what);
    return false;
}

/* A number and what stands behind it: ',' or the end of the line. */
static bool take_field(struct csv *csv, int64_t *number_out, bool *last_out)
{
    char *end;
    errno = 0;
    *number_out = strtoll(csv->at, &end, 10);
    if (errno || end == csv->at || memchr(csv->at, '\n', (size_t)(end - csv->at)))
        return wrong_line(csv, "a number is missing");
    csv->at = end + (*end == '\r');
    *last_out = *csv->at != ',';
    if (*csv->at != ',' && *csv->at != '\n' && *csv->at != '\0')
        return wrong_line(csv, "neither a comma nor the end of the line behind a number");
    csv->at += *csv->at != '\0';
    return true;
}

static uint32_t count_fields(const char *line)
{
    uint32_t count = 1;
    for (; *line && *line != '\n'; line++)
        count += *line == ',';
    return count;
}

static bool take_cell(struct csv *csv, struct ptx_cell *cell, bool *last_out)
{
    int64_t fields[4];
    for (int i = 0; i < 4; i++) {
        if (!take_field(csv, &fields[i], last_out))
            return false;
        if (*last_out && i < 3)
            return wrong_line(csv, "a lane has four numbers, and this one is cut");
    }
    if (fields[0] < 0 || fields[0] >= ID_END || fields[1] < 0 || fields[1] >= ID_END)
        return wrong_line(csv, "no number of a probe");
    *cell = (struct ptx_cell){(uint32_t)fields[0], (uint32_t)fields[1], (uint64_t)fields[2],
                              (uint64_t)fields[3]};
    return true;
}

static bool take_csv(struct csv *csv, struct ptx_matrix *matrix)
{
    struct ptx_cell *cell = matrix->cells;
    for (uint32_t row = 0; row < matrix->rows; row++, csv->line++)
        for (uint32_t lane = 0; lane < matrix->lanes; lane++) {
            bool last;
            if (!take_cell(csv, cell++, &last))
                return false;
            if (last != (lane + 1 == matrix->lanes))
                return wrong_line(csv, "not as many numbers as in the first line");
        }
    return true;
}

static uint32_t count_rows(const char *text)
{
    uint32_t rows = 0;
    while (*text) {
        const char *end = strchr(text, '\n');
        rows++;
        if (!end)
            break;
        text = end + 1;
    }
    return rows;
}

bool ptx_matrix_read_csv(struct ptx_matrix *matrix, const char *path)
{
    size_t bytes;
    *matrix = (struct ptx_matrix){0};
    char *text = ptx_read_file(path, RAW_BYTES_MAX, &bytes);
    if (!text)
        return false;
    struct csv csv = {path, text, 1};
    if (*csv.at == 't') { /* the header that some write */
        const char *end = strchr(csv.at, '\n');
        csv.at = end ? end + 1 : csv.at + strlen(csv.at);
        csv.line++;
    }
    uint32_t fields = count_fields(csv.at);
    matrix->rows = count_rows(csv.at);
    matrix->lanes = matrix->rows ? fields / 4 : 0;
    bool good = matrix->rows == 0 || fields % 4 == 0 ||
                wrong_line(&csv, "a lane has four numbers, and this line another multiple");
    good = good && ptx_matrix_make_cells(matrix);
    if (good && !take_csv(&csv, matrix)) {
        ptx_matrix_free(matrix);
        good = false;
    }
    free(text);
    return good;
}
