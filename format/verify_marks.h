/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verify_marks.h - whether what the trailer says of open items is so: R68 to R72.
 *
 * Begins and ends are paired while blocks pass; what is found is reported at the end, for a file in
 * which nothing else is wrong.
 */
#ifndef VERIFY_MARKS_H
#define VERIFY_MARKS_H

#include "rbwp_reader.h"

struct mark_checker;

/* NULL without memory, or where the trailer has no marks. */
struct mark_checker *mark_checker_new(const struct rbwp_trailer *trailer);
void mark_checker_free(struct mark_checker *checker);
/* The next block of the file. */
void mark_checker_block(struct mark_checker *checker, const struct rbwp_block *block);

typedef void mark_broken_fn(void *context, const struct rbwp_error *error);
/* The blocks end there. Reports the first break of each rule. */
void mark_checker_finish(struct mark_checker *checker, uint64_t end_offset, mark_broken_fn *broken,
                         void *context);

#endif /* VERIFY_MARKS_H */
