/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leveldb_writers.cc FOLDER - two threads write 30,000 values of 1 KB each, with random keys, into a database whose write buffer
 * is so small that they wait for compactions. It knows nothing of RBWP (docs/production.md).
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <leveldb/db.h>
#include <leveldb/options.h>
#include <pthread.h>
#include <string>
#include <time.h>

static leveldb::DB *db;

static double now_s()
{
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void *write_values(void *number)
{
    unsigned seed = (unsigned)(uintptr_t)number;
    pthread_setname_np(pthread_self(), "writer");
    std::string value(1000, 'v');
    for (int i = 0; i < 30000; i++) {
        for (auto &byte : value) /* so that they cannot be compressed */
            byte = (char)rand_r(&seed);
        const double begin_s = now_s();
        if (!db->Put(leveldb::WriteOptions(), std::to_string(rand_r(&seed)), value).ok())
            exit(1);
        if (now_s() - begin_s > 0.1)
            printf("value %d took %.0f ms\n", i, (now_s() - begin_s) * 1e3);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 256 << 10;
    if (argc != 2 || !leveldb::DB::Open(options, argv[1], &db).ok())
        return 1;
    pthread_t threads[2];
    for (uintptr_t i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, write_values, (void *)(i + 1));
    for (pthread_t thread : threads)
        pthread_join(thread, NULL);
    delete db;
}
