/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_support.h - for tests against the fake driver: programs PROGRAM cuda|hip|opencl LIBRARY
 * OLD_LIBRARY PLAIN_LIBRARY. The old one lacks something that is needed, the plain one all that is
 * not.
 */
#ifndef FAKE_SUPPORT_H
#define FAKE_SUPPORT_H

#include "fake.h"
#include "gpu_support.h"
#include "record_support.h"

extern const char *fake_old_library, *fake_plain_library;

/* Takes the program's arguments; false if they are wrong. */
bool fake_main(int argc, char **argv);
/* A driver as new, for cmocka_unit_test_setup. */
int fake_setup(void **state);
/* The driver's own code for a thing that went wrong. */
int code_of(enum rbwp_status status);

/* Something is enqueued on the stream; the same in a bracket. */
void launch(struct rbwp_gpu_stream *stream);
void bracket(struct rbwp_gpu_stream *stream, unsigned slot);

/* With the calling thread attached as "tester". */
struct rbwp_session *start_session(int level);
/* Stops and reads; the caller frees both. */
struct works finish_session(struct rbwp_session *session, struct recorded *recorded_out);

/* What a callback was told. */
struct heard {
    unsigned calls;
    enum rbwp_status outcome;
    int64_t seen_ns;
};
void hear(void *heard, enum rbwp_status outcome, int64_t seen_ns);

#endif /* FAKE_SUPPORT_H */
