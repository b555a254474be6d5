/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_family RBWP: what a family of 100 processes that record at once costs, on disk before there
 * are data, and the tools after that.
 */
#include "bench.h"
#include "bench_command.h"
#include "rbwp_record.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILDREN = 100, CALLS = 20000, BURST = 100 };
#define TARGET_DISK_MB 200.0
#define TARGET_TOOLS_S 2.0

static unsigned slot;
static int begun[2], go[2];

static void record(int calls)
{
    for (int i = 0; i < calls; i++) {
        rbwp_begin(slot);
        rbwp_end();
        if (i % BURST == BURST - 1)
            usleep(1000);
    }
}

static _Noreturn void child(void)
{
    char byte;
    close(go[1]);
    record(1);
    require(write(begun[1], "", 1) == 1, "write");
    require(read(go[0], &byte, 1) == 0, "read");
    record(CALLS);
    exit(0);
}

/* Bytes on the disk, and files; all are removed if asked. */
static double bytes_in(const char *folder, bool remove)
{
    double bytes = 0;
    char path[4500];
    DIR *dir = opendir(folder);
    require(dir, folder);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        struct stat found;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (stat(path, &found) == 0 && S_ISREG(found.st_mode))
            bytes += 512.0 * (double)found.st_blocks;
        if (remove)
            unlink(path);
    }
    closedir(dir);
    return bytes;
}

static void run_family(const char *folder)
{
    char file[4200], byte;
    struct rbwp_session_config config;
    struct rbwp_session *session;
    struct rbwp_error error = {0};
    snprintf(file, sizeof file, "%s/run.bin", folder);
    rbwp_session_defaults(&config);
    config.level = 1;
    config.logfile = file;
    config.children = true;
    require(pipe(begun) == 0 && pipe(go) == 0, "pipe");
    require(rbwp_session_start(&config, &session, &error) == RBWP_OK, error.text);
    require(rbwp_work_item_register("step", &slot) == RBWP_OK, "slot");
    require(rbwp_thread_attach("main") == RBWP_OK, "attach");
    for (int i = 0; i < CHILDREN; i++) {
        pid_t pid = fork();
        require(pid >= 0, "fork");
        if (pid == 0)
            child();
    }
    for (int i = 0; i < CHILDREN; i++)
        require(read(begun[0], &byte, 1) == 1, "a child");
    figure_at_most("100 processes that record, disk before data", bytes_in(folder, false) / 1e6,
                   "MB", TARGET_DISK_MB);
    close(go[1]);
    for (int status; wait(&status) > 0;)
        require(status == 0, "a child failed");
    require(rbwp_session_stop(session, NULL) == RBWP_OK, "stop");
}

int main(int argc, char **argv)
{
    char folder[] = "/tmp/rbwp-bench-family-XXXXXX", merged[4200];
    require(argc == 2, "usage: bench_family RBWP");
    require(mkdtemp(folder), "mkdtemp");
    run_family(folder);
    snprintf(merged, sizeof merged, "%s.json", folder);
    char *merge[] = {argv[1], "merge", "-f", "-o", merged, folder, NULL};
    char *stats[] = {argv[1], "stats", folder, NULL};
    struct command_cost by_merge = command_measure(merge), by_stats = command_measure(stats);
    unlink(merged);
    (void)bytes_in(folder, true);
    rmdir(folder);
    printf("100 processes, 40,002 records each: merge %.2f s (%.2f of CPU), stats %.2f s (%.2f)\n",
           by_merge.wall_s, by_merge.cpu_s, by_stats.wall_s, by_stats.cpu_s);
    figure_at_most("100 processes, 40,002 records each, merge and stats",
                   by_merge.wall_s + by_stats.wall_s, "s", TARGET_TOOLS_S);
    return 0;
}
