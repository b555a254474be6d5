/* SPDX-License-Identifier: Apache-2.0 */
/*
 * consumer.c - a program that uses the installed library: records a work item
 * and reads the file back. Built in every way in which a user may build it, as
 * C11 and as C++11; exits 0 when the file holds what was recorded.
 */
#include <rbwp_reader.h>
#include <rbwp_record.h>
#include <rbwp_session.h>

#include <stdio.h>
#include <string.h>

enum { CALLS = 100 };

static bool record(const char *path)
{
    unsigned slot;
    struct rbwp_error error;
    struct rbwp_session *session;
    struct rbwp_session_config config;

    rbwp_session_defaults(&config);
    config.level = 1;
    config.logfile = path;
    if (rbwp_work_item_register("consumer", &slot) != RBWP_OK)
        return false;
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return false;
    }
    if (rbwp_thread_attach("main") != RBWP_OK)
        return false;
    for (int i = 0; i < CALLS; i++) {
        rbwp_begin(slot);
        rbwp_end();
    }
    return rbwp_session_stop(session, NULL) == RBWP_OK;
}

static uint64_t count_records(const char *path)
{
    uint64_t records = 0;
    struct rbwp_error error;
    struct rbwp_reader *reader;
    struct rbwp_block block;

    if (rbwp_reader_open(path, NULL, &reader, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 0;
    }
    while (rbwp_reader_next_block(reader, &block) == RBWP_OK)
        records += block.header.records;
    rbwp_reader_close(reader);
    return records;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    if (strcmp(rbwp_version(), RBWP_VERSION_STRING) != 0) {
        fprintf(stderr, "header %s, library %s\n", RBWP_VERSION_STRING, rbwp_version());
        return 1;
    }
    if (!record(argv[1]))
        return 1;
    uint64_t records = count_records(argv[1]);
    if (records != UINT64_C(2) * CALLS) {
        fprintf(stderr, "%d records expected, %llu found\n", 2 * CALLS,
                (unsigned long long)records);
        return 1;
    }
    return 0;
}
