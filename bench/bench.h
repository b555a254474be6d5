/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench.h - what the benchmarks share: clocks, medians, a session in a scratch file.
 */
#ifndef BENCH_H
#define BENCH_H

#include "bench_figure.h"
#include "rbwp_session.h"

#include <time.h>

/* Ends the program with a message if good is false. */
void require(bool good, const char *what);

double clock_ns(clockid_t clock);

/* The q-quantile and the median; both sort the values. */
double quantile(double *values, size_t count, double q);
double median(double *values, size_t count);

/* Every benchmark writes its profile here; removed at exit. */
const char *scratch_file(void);

/* A session with this configuration into the scratch file; NULL at level 0. Ends the program if it
 * fails. */
struct rbwp_session *start_with(struct rbwp_session_config config);
/* The same with the defaults at this level. */
struct rbwp_session *start_session(int level);
/* Ends the program if the session had trouble with its file. */
struct rbwp_session_summary stop_session(struct rbwp_session *session);

#endif /* BENCH_H */
