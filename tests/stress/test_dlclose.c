/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dlclose with a session running, by a program that has the library through a plugin, which brings
 * the shared one or has the static one inside.
 *
 * The library stays in memory (rbwp_session.h): the session goes on, the program forks, threads
 * that have recorded end as ever, a plugin that is loaded again finds the session, and exit makes
 * the file whole.
 */
#include "record_support.h"

#include "unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAIRS = 50000 };

static struct plugin {
    void *handle;
    int (*start)(const char *path);
    int (*record)(unsigned pairs);
} plugin;

static void load(const char *name)
{
    plugin.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!plugin.handle) {
        fprintf(stderr, "%s\n", dlerror());
        _exit(20);
    }
    *(void **)&plugin.start = dlsym(plugin.handle, "plugin_start");
    *(void **)&plugin.record = dlsym(plugin.handle, "plugin_record");
}

static pthread_barrier_t recorded_it, closed_it;

static void *record_on_thread(void *argument)
{
    int status = plugin.record(PAIRS);
    pthread_barrier_wait(&recorded_it);
    pthread_barrier_wait(&closed_it);
    return status == RBWP_OK ? NULL : argument; /* the library's destructor detaches now */
}

static void fork_once(void)
{
    pid_t child = fork();
    int status;
    if (child == 0)
        exit(0);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        _exit(25);
}

/* The host: what it does is on the path to exit, in a child. */
static void run_host(const char *name, const char *path)
{
    pthread_t thread;
    void *failed;
    load(name);
    pthread_barrier_init(&recorded_it, NULL, 2);
    pthread_barrier_init(&closed_it, NULL, 2);
    if (plugin.start(path) != RBWP_OK ||
        pthread_create(&thread, NULL, record_on_thread, &plugin) != 0)
        _exit(21);
    pthread_barrier_wait(&recorded_it);
    if (dlclose(plugin.handle) != 0)
        _exit(22);
    fork_once();
    pthread_barrier_wait(&closed_it);
    pthread_join(thread, &failed);
    load(name);
    if (failed || plugin.start(path) != RBWP_E_BUSY || plugin.record(PAIRS) != RBWP_OK)
        _exit(23);
    if (dlclose(plugin.handle) != 0)
        _exit(24);
    exit(0);
}

static void close_in_session(const char *plugin_name)
{
    const char *path = test_path("plugin.bin");
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        run_host(plugin_name, path);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    struct recorded recorded = read_back(path);
    assert_int_equal(recorded.events, 4 * PAIRS);
    assert_int_equal(recorded.trailer->thread_count, 2);
    assert_matched(&recorded);
    recorded_free(&recorded);
}

static void test_shared_library(void **state)
{
    (void)state;
#ifdef PLUGIN
    close_in_session(PLUGIN);
#endif
}

static void test_static_library(void **state)
{
    (void)state;
    close_in_session(PLUGIN_STATIC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shared_library),
        cmocka_unit_test(test_static_library),
    };
    return cmocka_run_group_tests_name("dlclose", tests, NULL, NULL);
}
