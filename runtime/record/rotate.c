/* SPDX-License-Identifier: Apache-2.0 */
#include "rotate.h"

#include "clock.h"
#include "dump.h"
#include "folder.h"
#include "quiet_thread.h"
#include "session_config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_NS INT64_C(10000000000) /* a file that could not be written is tried again then */
#define PART_BYTES_MAX (UINT64_C(512) << 20) /* where a time alone is given */

static atomic_bool active;
static uint64_t part_bytes; /* these are set while it is not */
static int64_t part_ns;
static pthread_t thread;
static sem_t due;

static _Atomic int64_t begin_ns, retry_ns; /* of the part; CLOCK_MONOTONIC */
static atomic_bool posted, stopping;

uint64_t rotate_ring_bytes(uint64_t rotate_bytes)
{
    return 2 * (rotate_bytes ? rotate_bytes : PART_BYTES_MAX);
}

static enum rbwp_status cut(bool while_it_ends, char *path_out, struct rbwp_error *error)
{
    const struct dump_wish wish = {
        .cut = true, .while_it_ends = while_it_ends, .why = RBWP_KEPT_ROTATED};
    int64_t now_ns = clock_now_ns(0);
    enum rbwp_status status = dump_now(&wish, path_out, error);
    if (status == RBWP_OK)
        atomic_store(&begin_ns, now_ns);
    atomic_store(&retry_ns, status == RBWP_OK ? 0 : now_ns + RETRY_NS);
    return status;
}

static void *cut_when_due(void *argument)
{
    char path[DUMP_PATH_BYTES_MAX];
    (void)argument;
    for (;;) {
        while (sem_wait(&due) != 0 && errno == EINTR)
            ;
        if (atomic_load(&stopping))
            return NULL;
        (void)cut(true, path,
                  NULL); /* what could not be written is in the ring, for the next one */
        atomic_store(&posted, false);
    }
}

static void post(void)
{
    if (!atomic_exchange(&posted, true))
        sem_post(&due);
}

void rotate_look(uint64_t bytes)
{
    if (!atomic_load(&active) || bytes == 0)
        return;
    int64_t now_ns = clock_now_ns(0);
    bool is_large = bytes >= part_bytes,
         is_old = part_ns && now_ns - atomic_load(&begin_ns) >= part_ns;
    if ((is_large || is_old) && now_ns >= atomic_load(&retry_ns))
        post();
}

bool rotate_hurry(void)
{
    if (!atomic_load(&active) || atomic_load(&retry_ns))
        return false;
    post();
    return true;
}

enum rbwp_status rotate_now(char *path_out, struct rbwp_error *error)
{
    return cut(false, path_out, error);
}

void rotate_begin_session(const struct session_settings *settings)
{
    if (!settings->rotate_bytes && !settings->rotate_ns)
        return;
    part_bytes = settings->rotate_bytes ? settings->rotate_bytes : PART_BYTES_MAX;
    part_ns = settings->rotate_ns;
    atomic_store(&begin_ns, clock_now_ns(0));
    atomic_store(&retry_ns, 0);
    atomic_store(&posted, false);
    atomic_store(&stopping, false);
    sem_init(&due, 0, 0);
    atomic_store(&active, quiet_thread_start(&thread, "rbwp-rotate", cut_when_due, NULL) == 0);
}

void rotate_end_session(void)
{
    if (!atomic_exchange(&active, false))
        return;
    atomic_store(&stopping, true);
    sem_post(&due);
    pthread_join(thread, NULL);
    sem_destroy(&due);
}

void rotate_after_fork(void)
{
    atomic_store(&active, false);
}

/* Of a file's name; 0: it is no part's. */
static uint32_t number_of(const char *with_0, const char *with_1, const char *name)
{
    char path[DUMP_PATH_BYTES_MAX];
    size_t same = 0;
    while (with_0[same] && with_0[same] == with_1[same])
        same++;
    if (!with_0[same])
        same += strlen(".part-");
    unsigned long number = strlen(name) > same ? strtoul(name + same, NULL, 10) : 0;
    return number < UINT32_MAX &&
                   rotate_path(with_0, with_1, (uint32_t)number, path, sizeof path) &&
                   strcmp(path, name) == 0
               ? (uint32_t)number
               : 0;
}

uint32_t rotate_first_number(struct folder *folder, const char *with_0, const char *with_1)
{
    uint32_t most = 0;
    const struct place here = folder_place(folder, with_0, with_1);
    struct held held = HELD_NONE;
    if (here.folder >= 0) /* else the parts are each in another one */
        held_take(&held, openat(here.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    DIR *listing = held.fd < 0 ? NULL : fdopendir(held.fd);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        uint32_t number = number_of(folder_name(with_0), here.name, entry->d_name);
        most = number > most ? number : most;
    }
    if (listing && held_is_ours(&held))
        closedir(listing); /* what the program has closed meanwhile costs a little memory */
    else
        held_close(&held);
    return most + 1;
}

bool rotate_path(const char *with_0, const char *with_1, uint32_t part, char *path_out, size_t room)
{
    size_t used = 0;
    int length = 0;
    bool any = false;
    for (size_t i = 0; with_0[i] && used < room; i++) {
        bool number = with_0[i] != with_1[i];
        length = number ? snprintf(path_out + used, room - used, "%u", part)
                        : snprintf(path_out + used, room - used, "%c", with_0[i]);
        any |= number;
        used += (size_t)length;
    }
    if (!any && used < room)
        used += (size_t)snprintf(path_out + used, room - used, ".part-%u", part);
    return used < room;
}
