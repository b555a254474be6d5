/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leveldb.c - writes entries in random order as fast as LevelDB takes them. leveldb FOLDER
 * [ENTRIES]. The settings of the profile are in RBWP_FLAGS.
 */
#include <inttypes.h>
#include <leveldb/c.h>
#include <rbwp_record.h>
#include <rbwp_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *text)
{
    fprintf(stderr, "leveldb: %s\n", text);
    exit(1);
}

static void write_entries(leveldb_t *db, unsigned entries)
{
    char key[32], value[400], *failure = NULL;
    leveldb_writeoptions_t *how = leveldb_writeoptions_create();
    uint64_t random = 1;
    for (unsigned i = 0; i < entries && !failure; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        for (size_t j = 0; j < sizeof value; j++)
            value[j] = (char)(random >> j % 57);
        const int length = snprintf(key, sizeof key, "%016" PRIx64, random);
        leveldb_put(db, how, key, (size_t)length, value, sizeof value, &failure);
    }
    if (failure)
        fail(failure);
    leveldb_writeoptions_destroy(how);
}

int main(int argc, char **argv)
{
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_session *session;
    struct rbwp_error error;
    char *failure = NULL;
    const unsigned entries = argc > 2 ? (unsigned)atoi(argv[2]) : 200000;
    if (argc < 2)
        fail("leveldb FOLDER [ENTRIES]");
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK)
        fail(error.text);
    rbwp_thread_attach("writer");
    leveldb_options_t *options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, 1);
    leveldb_options_set_write_buffer_size(options, 1 << 20);
    leveldb_t *db = leveldb_open(options, argv[1], &failure);
    if (!db)
        fail(failure);
    write_entries(db, entries);
    leveldb_close(db);
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
