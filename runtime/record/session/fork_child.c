/* SPDX-License-Identifier: Apache-2.0 */
#include "session_parts.h"

#include "node.h"
#include "recording.h"
#include "running.h"
#include "session_config.h"
#include "failure.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 4096 };

/* A fork may come at any moment: it finds the one or the other, and both are whole. */
static _Atomic(struct rbwp_session_config *) inherited; /* NULL: children do not record */
static pthread_mutex_t fork_child_lock = PTHREAD_MUTEX_INITIALIZER; /* guards the following */
static bool waiting; /* in a child, for its first record */
static int level_of_parent;

void fork_child_note(const struct rbwp_session_config *given)
{
    struct rbwp_session_config config = {0}, *noted = NULL;
    if (sized_take(&config, sizeof config, given, "rbwp_session_config", NULL) == RBWP_OK &&
        config.children && (noted = malloc(sizeof *noted)) && !config_copy(noted, &config)) {
        free(noted); /* children do not record */
        noted = NULL;
    }
    struct rbwp_session_config *before = atomic_exchange(&inherited, noted);
    if (before)
        config_copy_free(before);
    free(before);
}

/* Locked. A child that cannot record runs on, as a program does whose session does not start. */
static void fork_child_start(void)
{
    char path[PATH_BYTES];
    struct rbwp_session_config config = *atomic_load(&inherited);
    struct rbwp_error error;
    int host_errno = errno;
    waiting = false;
    config.level = level_of_parent;
    if (!config.logfile || !node_file_has_process(config.logfile)) { /* the parent has that one */
        node_file_with(config.logfile, ".%p", path, sizeof path);
        config.logfile = path;
    }
    if (session_control->begin(&config, &error) != RBWP_OK ||
        running_start(&config, &error) != RBWP_OK) {
        __atomic_store_n(&rbwp_level_, 0, __ATOMIC_RELAXED);
        (void)session_control->session_ended();
    }
    errno = host_errno;
}

static void start_if_waiting(void)
{
    pthread_mutex_lock(&fork_child_lock);
    if (waiting)
        fork_child_start();
    pthread_mutex_unlock(&fork_child_lock);
}

int fork_child_forked(bool parent_recorded)
{
    pthread_mutex_init(&fork_child_lock, NULL); /* whoever held it does not exist */
    const bool records = atomic_load(&inherited) && (parent_recorded || waiting);
    level_of_parent = records ? __atomic_load_n(&rbwp_level_, __ATOMIC_RELAXED) : 0;
    waiting = level_of_parent > 0;
    recording_begins_late = start_if_waiting;
    return level_of_parent;
}

void fork_child_forget(void)
{
    pthread_mutex_lock(&fork_child_lock);
    if (waiting)
        __atomic_store_n(&rbwp_level_, 0, __ATOMIC_RELAXED);
    waiting = false;
    pthread_mutex_unlock(&fork_child_lock);
}
