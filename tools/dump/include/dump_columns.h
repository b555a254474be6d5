/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dump_columns.h - what dump and tail print, as columns.
 *
 * Records, spans and cells, of which there may be very many, are written by functions of their
 * own: their columns here give the schemas alone, and tests compare the two.
 */
#ifndef DUMP_COLUMNS_H
#define DUMP_COLUMNS_H

#include "file_columns.h"

/* What of a file is shown. */
struct blocks_shown {
    uint64_t opaque, blocks, records;
};

/* A file, and how much of it filters took; NULL: there are none. */
struct dump_document {
    struct file_shown file;
    const struct blocks_shown *shown;
};

/* Of struct rbwp_schema; of struct rbwp_rows, up to the rows; of struct rbwp_gpu_extra; of struct
 * rbwp_error. */
extern const struct result_column dump_schema_columns[], dump_rows_columns[], dump_gpu_columns[],
    dump_broken_columns[];
/* Of struct dump_document, behind its blocks. */
extern const struct result_column dump_behind_blocks[];

/* A line of --ndjson, one of --spans, and the document of a file. */
extern const struct result_column records_columns[], spans_columns[];
const struct result_column *dump_columns(void);

#endif /* DUMP_COLUMNS_H */
