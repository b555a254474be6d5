/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose files FILE and FILE.live are: folders that others write to, names that are links, what
 * processes that died left, and two that want the same file. Nobody else's file is changed, and no
 * crash's data is lost to the next one.
 */
#include "record_support.h"

#include "output_lock.h"
#include "live_layout.h"
#include "unit.h"
#include "wrapped.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROCESS 77 /* the id that all crashed processes of these tests had */

/* A name of the test's FILE with this behind it. */
static const char *beside(const char *suffix)
{
    static char paths[8][200];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s%s", test_path("test.bin"), suffix);
    return path;
}

static bool exists(const char *path)
{
    struct stat file;
    return lstat(path, &file) == 0;
}

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_text(const char *path, const char *expected)
{
    char text[100] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) == strlen(expected));
    fclose(file);
    assert_string_equal(text, expected);
}

static void remove_all(void)
{
    static const char *const suffixes[] = {"",
                                           ".live",
                                           ".crashed-77",
                                           ".crashed-77.live",
                                           ".crashed-77.2",
                                           ".crashed-77.2.live",
                                           ".crashed-77.3",
                                           ".crashed-77.3.live",
                                           ".victim",
                                           ".moved"};
    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        (void)remove(beside(suffixes[i]));
}

static void record_pairs(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        rbwp_begin(1);
        rbwp_end();
    }
}

static void set_in_head(size_t offset, uint64_t value)
{
    int fd = open(beside(".live"), O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &value, sizeof value, (off_t)offset), sizeof value);
    close(fd);
}

/* A process records so many pairs and dies, and had the id PROCESS. */
static void crash(unsigned pairs)
{
    struct rbwp_session_config config = test_config(1);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)start(&config);
        record_pairs(pairs);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    set_in_head(offsetof(struct live_head, process_id), PROCESS);
}

static void assert_recovers(const char *path, size_t events)
{
    struct recorded recorded = read_recovered(path);
    assert_int_equal(recorded.events, events);
    recorded_free(&recorded);
}

static void assert_records(const struct rbwp_session_config *config, unsigned pairs)
{
    struct rbwp_session *session = start(config);
    record_pairs(pairs);
    assert_int_equal(stop(session).records, 2 * pairs);
}

static void assert_refused(const struct rbwp_session_config *config, enum rbwp_status status,
                           const char *words)
{
    struct rbwp_session *session;
    struct rbwp_error error = {.text = ""};
    assert_int_equal(rbwp_session_start(config, &session, &error), status);
    assert_non_null(strstr(error.text, words));
    assert_null(strchr(error.text, '\n'));
    record_pairs(1); /* nothing happens */
}

/* ---- what crashes left ----------------------------------------------------------------- */

/* Guards: the second and third crash of the same process id, as in a container, leave the first
 * one's data alone; a session without a live file moves them away as well. */
static void test_crashes_of_one_id(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    crash(10);
    crash(20);
    crash(30);
    config.no_live = true;
    assert_records(&config, 5);
    assert_false(exists(beside(".live")));
    assert_recovers(beside(".crashed-77"), 20);
    assert_recovers(beside(".crashed-77.2"), 40);
    assert_recovers(beside(".crashed-77.3"), 60);
    remove_all();
}

/* Guards: FILE.live alone, since somebody took FILE away, is no obstacle; what is in it is kept,
 * and a FILE that it was not written beside is not taken for its own. */
static void test_live_alone(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    for (int other = 0; other < 2; other++) {
        crash(10);
        assert_int_equal(rename(beside(""), beside(".moved")), 0);
        if (other)
            write_text(beside(""), "somebody's file, longer than a header has to be");
        assert_records(&config, 5);
        assert_false(exists(beside(".crashed-77")));
        assert_true(exists(beside(".crashed-77.live")));
        assert_int_equal(rename(beside(".moved"), beside(".crashed-77")), 0);
        assert_recovers(beside(".crashed-77"), 20);
        remove_all();
    }
}

/* Guards: what this process itself left, before it executed another program, is no crash; but what
 * one of the same id left before this one was there is, whichever clock tells. */
static void test_left_by_this_process(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    char name[40];
    for (int clock = 0; clock < 3; clock++) {
        crash(10);
        set_in_head(offsetof(struct live_head, process_id), (uint64_t)getpid());
        if (clock == 1)
            set_in_head(offsetof(struct live_head, zero_time_ns), 1);
        if (clock == 2)
            set_in_head(offsetof(struct live_head, offset_ns), 1);
        assert_records(&config, 5);
        snprintf(name, sizeof name, ".%s-%ld.live", clock ? "crashed" : "earlier", (long)getpid());
        assert_int_equal(remove(beside(name)), 0);
        *strrchr(name, '.') = '\0';
        assert_int_equal(remove(beside(name)) == 0, clock != 1); /* 1: not the header's time */
        remove_all();
    }
}

/* Guards: a process that dies between the two renames of a leftover: the next one brings them
 * together, and not beside another crash's FILE. */
static void test_died_while_moving(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    write_text(beside(".crashed-77"), "another file that has this name for some reason");
    crash(10);
    assert_int_equal(rename(beside(""), beside(".crashed-77.2")), 0);
    assert_records(&config, 5);
    assert_false(exists(beside(".crashed-77.live")));
    assert_recovers(beside(".crashed-77.2"), 20);
    remove_all();
}

/* Guards: a program that is started again whenever it dies is not kept from recording by what it
 * has left, however much: the oldest leftovers go, and the start says so. Other files stay. */
static void test_many_leftovers(void **state)
{
    (void)state;
    enum { MANY = 1001 };
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session;
    struct rbwp_error error;
    char name[40];
    for (unsigned i = 2; i <= MANY; i++) {
        snprintf(name, sizeof name, ".crashed-77.%u", i);
        write_text(beside(name), "of an earlier crash");
    }
    write_text(beside(".crashed-77"), "of an earlier crash");
    write_text(beside(".crashed-77.notes"), "somebody's");
    crash(10);
    assert_int_equal(rbwp_session_start(&config, &session, &error), RBWP_OK);
    assert_non_null(strstr(error.text, "removed 970 leftovers of earlier runs"));
    (void)stop(session);
    unsigned left = exists(beside(".crashed-77")), whole = exists(beside(".crashed-77.live"));
    for (unsigned i = 2; i <= MANY; i++) {
        snprintf(name, sizeof name, ".crashed-77.%u.live", i);
        whole += remove(beside(name)) == 0;
        name[strlen(name) - strlen(".live")] = '\0';
        left += remove(beside(name)) == 0;
    }
    assert_int_equal(left, 32);
    assert_int_equal(whole, 1);
    assert_text(beside(".crashed-77.notes"), "somebody's");
    (void)remove(beside(".crashed-77.notes"));
    remove_all();
}

int REAL_(fstatvfs)(int fd, struct statvfs *disk);
int WRAP_(fstatvfs)(int fd, struct statvfs *disk);
static uint64_t free_blocks = UINT64_MAX; /* UINT64_MAX: as it is */

int WRAP_(fstatvfs)(int fd, struct statvfs *disk)
{
    int result = REAL_(fstatvfs)(fd, disk);
    if (free_blocks != UINT64_MAX)
        disk->f_bavail = free_blocks;
    return result;
}
WRAP_TOO_(fstatvfs);

/* Of a leftover on the disk. */
static uint64_t bytes_of(const char *suffix)
{
    char live[40];
    struct stat file, live_file;
    snprintf(live, sizeof live, "%s.live", suffix);
    assert_int_equal(stat(beside(suffix), &file), 0);
    assert_int_equal(stat(beside(live), &live_file), 0);
    return (uint64_t)(file.st_blocks + live_file.st_blocks) * 512;
}

/* Guards: few leftovers, but large ones for the disk that they are on: older ones go, as far as it
 * takes; what the last crash left stays. */
static void test_leftovers_fill_the_disk(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session;
    struct rbwp_error error;
    struct statvfs disk;
    for (unsigned crashes = 1; crashes <= 3; crashes++) {
        crash(10 * crashes);
        assert_records(&config, 5);
    }
    assert_int_equal(statvfs(beside(".crashed-77"), &disk), 0);
    crash(40);
    free_blocks = (bytes_of(".crashed-77.2") + bytes_of(".crashed-77.3")) / disk.f_frsize;
    assert_int_equal(rbwp_session_start(&config, &session, &error), RBWP_OK);
    free_blocks = UINT64_MAX;
    (void)stop(session);
    assert_non_null(strstr(error.text, "removed 1 leftovers of earlier runs"));
    assert_recovers(beside(".crashed-77"), 80);
    assert_recovers(beside(".crashed-77.2"), 40);
    assert_recovers(beside(".crashed-77.3"), 60);
    remove_all();
}

/* Guards: a process that died before it wrote a head left nothing to keep. */
static void test_no_head(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    for (off_t size = 0; size <= 16384; size += 16384) {
        write_text(beside(".live"), "");
        assert_int_equal(truncate(beside(".live"), size), 0);
        assert_records(&config, 5);
        assert_false(exists(beside(".live")));
        assert_false(exists(beside(".crashed-0.live")));
    }
}

/* ---- names that are not ours -------------------------------------------------------------- */

/* Guards: what stands where FILE.live should be and is none of ours is not touched, nor is FILE
 * emptied: foreign text, links to it, a folder, a live file of another user. */
static void test_foreign_live_file(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    for (int kind = 0; kind < 5; kind++) {
        if (kind == 4 && geteuid() != 0)
            continue;
        write_text(beside(""), "old");
        write_text(beside(".victim"), kind < 3 ? "RBWPNOTES" : "RBWPLIVE");
        if (kind == 0)
            assert_int_equal(rename(beside(".victim"), beside(".live")), 0);
        else if (kind == 1)
            assert_int_equal(symlink(beside(".victim"), beside(".live")), 0);
        else if (kind == 2)
            assert_int_equal(mkdir(beside(".live"), 0755), 0);
        else if (kind == 3)
            assert_int_equal(link(beside(".victim"), beside(".live")), 0);
        else
            assert_int_equal(rename(beside(".victim"), beside(".live")), 0);
        if (kind == 4)
            assert_int_equal(chown(beside(".live"), 65534, 65534), 0);
        assert_refused(&config, RBWP_E_BUSY, "is in the way");
        assert_text(beside(""), "old");
        if (kind != 2)
            assert_text(beside(".live"), kind < 3 ? "RBWPNOTES" : "RBWPLIVE");
        remove_all();
    }
}

/* Guards: FILE that is a link is refused and its target left, unless links are to be followed. */
static void test_links(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    for (int hard = 0; hard < 2; hard++) {
        config.follow = false;
        write_text(beside(".victim"), "precious");
        assert_int_equal((hard ? link : symlink)(beside(".victim"), beside("")), 0);
        assert_refused(&config, RBWP_E_IO, "-bgworkprofile_follow 1");
        assert_text(beside(".victim"), "precious");
        assert_false(exists(beside(".live")));
        config.follow = true;
        assert_records(&config, 5);
        struct recorded recorded = read_back(beside(".victim"));
        assert_int_equal(recorded.events, 10);
        recorded_free(&recorded);
        remove_all();
    }
    config.follow = false;
    assert_int_equal(symlink(beside(".victim"), beside("")), 0); /* to nothing */
    assert_refused(&config, RBWP_E_IO, "symbolic link");
    assert_false(exists(beside(".victim")));
    remove_all();
}

/* Guards: what cannot be written at any place is refused in one line that says so; /dev/null can.
 */
static void test_pipes(void **state)
{
    (void)state;
    char name[64];
    int ends[2];
    struct rbwp_session_config config = test_config(1);
    assert_int_equal(mkfifo(beside(""), 0600), 0);
    assert_refused(&config, RBWP_E_IO, "is a pipe or a terminal");
    remove_all();
    assert_int_equal(pipe(ends), 0);
    snprintf(name, sizeof name, "/dev/fd/%d", ends[1]);
    config.logfile = name;
    assert_refused(&config, RBWP_E_IO, "is a pipe or a terminal");
    close(ends[0]);
    close(ends[1]);
    config.logfile = "/dev/null";
    (void)stop(start(&config));
}

/* Guards: root does not write into another user's file. */
static void test_file_of_another(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct rbwp_session_config config = test_config(1);
    write_text(beside(""), "theirs");
    assert_int_equal(chown(beside(""), 65534, 65534), 0);
    assert_refused(&config, RBWP_E_IO, "belongs to another user");
    assert_text(beside(""), "theirs");
    assert_false(exists(beside(".live")));
    remove_all();
}

/* ---- one writer a file --------------------------------------------------------------------- */

/* Guards: while a session writes FILE, nobody else gets it, with or without live files, by whatever
 * name, and it is not harmed by the attempt. */
static void test_one_writer(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    for (int live = 0; live < 2; live++) {
        config.no_live = !live;
        struct rbwp_session *session = start(&config);
        record_pairs(10);
        assert_int_equal(symlink(config.logfile, beside(".victim")), 0);
        assert_int_equal(link(config.logfile, beside(".moved")), 0);
        const char *const names[] = {config.logfile, beside(".victim"), beside(".moved")};
        for (int i = 0; i < 6; i++) {
            const struct output_lock_request wish = {
                .file = names[i / 2], .live = i % 2, .follow = true};
            struct output_lock lock;
            struct rbwp_error error = {.text = ""};
            assert_int_equal(output_lock_files(&wish, &lock, &error), RBWP_E_BUSY);
            assert_non_null(strstr(error.text, "another process records"));
            assert_int_equal(lock.file_fd, -1);
            assert_int_equal(lock.live_fd, -1);
        }
        assert_false(exists(beside(".victim.live")));
        assert_int_equal(exists(beside(".live")), live);
        assert_int_equal(stop(session).records, 20);
        struct recorded recorded = read_back(config.logfile);
        assert_int_equal(recorded.events, 20);
        recorded_free(&recorded);
        remove_all();
    }
}

/* Guards: a FILE.live that somebody put in the place of ours is not removed by our stop. */
static void test_stop_removes_its_own(void **state)
{
    (void)state;
    struct rbwp_session_config config = test_config(1);
    struct rbwp_session *session = start(&config);
    assert_int_equal(rename(beside(".live"), beside(".moved")), 0);
    write_text(beside(".live"), "new");
    stop(session);
    assert_text(beside(".live"), "new");
    remove_all();
}

static int attach(void **state)
{
    (void)state;
    return rbwp_thread_attach("main") == RBWP_OK ? 0 : 1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_crashes_of_one_id),
        cmocka_unit_test(test_live_alone),
        cmocka_unit_test(test_left_by_this_process),
        cmocka_unit_test(test_died_while_moving),
        cmocka_unit_test(test_many_leftovers),
        cmocka_unit_test(test_leftovers_fill_the_disk),
        cmocka_unit_test(test_no_head),
        cmocka_unit_test(test_foreign_live_file),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_pipes),
        cmocka_unit_test(test_file_of_another),
        cmocka_unit_test(test_one_writer),
        cmocka_unit_test(test_stop_removes_its_own),
    };
    return cmocka_run_group_tests_name("record_claim", tests, attach, NULL);
}
