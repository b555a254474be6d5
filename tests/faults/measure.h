/* SPDX-License-Identifier: Apache-2.0 */
/*
 * measure.h - what the programs of this folder measure of themselves, by the system's clock and
 * the kernel's count of the time that a thread was ready to run and had no CPU.
 */
#ifndef RBWP_FAULTS_MEASURE_H
#define RBWP_FAULTS_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#define MS INT64_C(1000000)

/* What a mode does, and what the true cause of its slow calls is. */
struct mode {
    const char *name;
    void (*run)(void);
    const char *cause; /* in the words of `rbwp why` */
    const char *call;  /* that is slow */
    const char *by;    /* who or what is named with the cause; "" if nothing is */
    int64_t fault_ns;  /* how long one stall is, about */
    int64_t period_ns; /* of the stalls; 0 = none */
    bool runnable;     /* the excess is itself time ready to run */
    bool stops;        /* another process stops it, at stops_ns */
};

/* Set from the command line. */
extern bool with_fault;
extern const char *folder;

int64_t now_ns(void);
int64_t cpu_ns(void); /* of the calling thread */
void spin_ns(int64_t ns);
void spin_cpu_ns(int64_t ns); /* of CPU time, however long it takes to get it */
void sleep_ns(int64_t ns);
void sleep_until(int64_t at_ns);

/* A call: from when it counts, and what its thread had waited for a CPU by then. */
struct begun {
    int64_t since_ns, delay_ns;
};
struct begun measure_begin(void);
/* since_ns: when it was put into its queue. */
void measure_end(struct begun begun, int64_t since_ns);

/* PROGRAM MODE with|without FOLDER: the mode, NULL if there is none; ready to measure. */
const struct mode *measure_mode(const struct mode *modes, int argc, char **argv);
/* Runs it and prints one line of JSON. */
void measure_run(const struct mode *mode);

/* ---- what modes of both programs do ------------------------------------------------------------
 */

/* Pages of its own, all of them resident. */
struct pages {
    char *at;
    int64_t bytes;
};
struct pages pages_new(int64_t bytes);
struct pages pages_of_file(int64_t bytes);
void pages_touch(struct pages pages);
/* They are given back and touched again, for so long of CPU time. */
void pages_fault(struct pages pages, int64_t ns);

/* The calling thread, and those it creates, on one CPU alone. */
void pin(void);
/* A call of 2 ms of CPU time; from the first on on one CPU. */
void compute(unsigned number);

/* A file on a disk, and how much of it takes 80 ms to write. */
struct file {
    int fd;
    int64_t bytes;
};
struct file file_new(void);
void file_sync(struct file file);
/* So that the next sync has much to do, or little. */
void file_write(struct file file, bool much);

/* When all stand still, in a run of 700 ms; ends with 0. */
extern const int64_t stops_ns[];

#endif
