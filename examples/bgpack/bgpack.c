/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bgpack.c - pack a directory into a .tar.gz with background workers, and check it.
 *
 * The program around the stages: flags, the profiling session, the manager,
 * the archive's file, the summary. The archive is written beside its final
 * name and renamed when it is whole and checked.
 */
#include "pack.h"
#include "rbwp_session.h"
#include "verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_GOOD = 0, EXIT_TROUBLE = 1, EXIT_USAGE = 2, DEFAULT_LEVEL = 6, WORKERS_MAX = 64 };

static const char help[] =
    "usage: bgpack [options] DIR ARCHIVE\n"
    "\n"
    "Packs DIR into ARCHIVE (a gzip-compressed tar) with background workers, then\n"
    "checks the archive against DIR. Entries that cannot be read are named and skipped.\n"
    "\n"
    "  -l, --level N      compression, 1 (fast) to 9 (small); default 6\n"
    "  -f, --force        replace ARCHIVE if it exists\n"
    "      --no-verify    do not check afterwards\n"
    "      --verify-only  check an archive that exists, write nothing\n"
    "  -q, --quiet        no summary\n"
    "  -h, --help, --version\n"
    "\n"
    "Workers: -bgwork N -bgnuma 0|1 -bgworkpin 0|1 -bgnumapin 0|1 -bgstack KB -bgspin US\n"
    "  -bgslice US\n"
    "Profile: -bgworkprofile 0|1|2 -bgworkprofile_logfile PATH (keep it out of DIR)\n"
    "  -bgworkprofile_bufsize MB -bgworkprofile_compress 0..9 -bgworkprofile_block KB\n"
    "  -bgworkprofile_drop 0|1 -bgworkprofile_strict 0|1 -bgworkprofile_node N\n"
    "\n"
    "Exit status: 0 packed and checked, 1 something is missing or wrong, 2 wrong usage.\n";

struct options {
    const char *directory, *archive;
    int level;
    bool force, no_verify, verify_only, quiet;
    struct rbwp_session_config session;
    struct rbwp_work_config work;
};

struct outcome {
    struct pack_totals packed;
    struct verify_totals verified;
    double pack_s, verify_s;
    bool did_pack, did_verify;
};

static void complain(const char *text)
{
    fprintf(stderr, "bgpack: %s\n", text);
}

static void complain_about(const char *path, const char *reason)
{
    fprintf(stderr, "bgpack: %s: %s\n", path, reason);
}

/* ---- options -------------------------------------------------------------------------- */

static bool is(const char *argument, const char *name, const char *other)
{
    return strcmp(argument, name) == 0 || strcmp(argument, other) == 0;
}

static bool take_level(struct options *options, const char *text)
{
    if (!text || text[0] < '1' || text[0] > '9' || text[1])
        return false;
    options->level = text[0] - '0';
    return true;
}

/* False, with a message, on wrong usage. */
static bool take_options(struct options *options, int argc, char **argv)
{
    const char **const places[] = {&options->directory, &options->archive};
    unsigned names = 0;
    bool only_names = false;
    for (int i = 1; i < argc; i++) {
        const char *argument = argv[i];
        if (only_names || argument[0] != '-') {
            if (names == 2)
                return complain("more than two names given; see --help"), false;
            *places[names++] = argument;
        } else if (strcmp(argument, "--") == 0) {
            only_names = true;
        } else if (is(argument, "-l", "--level")) {
            if (!take_level(options, argv[++i]))
                return complain("--level wants a number from 1 to 9"), false;
        } else if (is(argument, "-f", "--force")) {
            options->force = true;
        } else if (is(argument, "-q", "--quiet")) {
            options->quiet = true;
        } else if (is(argument, "--verify", "--verify")) {
            options->no_verify = false;
        } else if (is(argument, "--no-verify", "--no-verify")) {
            options->no_verify = true;
        } else if (is(argument, "--verify-only", "--verify-only")) {
            options->verify_only = true;
        } else {
            return complain_about(argument, "unknown option; see --help"), false;
        }
    }
    if (names < 2)
        complain("a directory and the name of an archive are needed; see --help");
    return names == 2;
}

/* The profiler's and the manager's own flags; they take theirs out of argv. */
static bool take_flags(struct options *options, int *argc, char **argv)
{
    struct rbwp_error error;
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    rbwp_session_defaults(&options->session);
    options->work = (struct rbwp_work_config){.size = sizeof options->work};
    options->work.workers = processors < 1             ? 1
                            : processors > WORKERS_MAX ? WORKERS_MAX
                                                       : (uint32_t)processors;
    if (rbwp_session_parse(&options->session, argc, argv, &error) == RBWP_OK &&
        rbwp_work_parse(&options->work, argc, argv, &error) == RBWP_OK)
        return true;
    complain(error.text);
    return false;
}

/* ---- the job ----------------------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static bool pack(const struct options *options, struct rbwp_work_manager *manager, int archive,
                 struct outcome *outcome)
{
    struct rbwp_error error;
    const double start_s = now_s();
    struct tree *tree = tree_open(options->directory);
    if (!tree)
        return complain_about(options->directory, strerror(errno)), false;
    const unsigned workers = options->work.workers;
    const struct pack_options how = {.packers = workers == 0            ? 1
                                                : workers > WORKERS_MAX ? WORKERS_MAX
                                                                        : workers,
                                     .level = options->level,
                                     .archive = archive};
    const enum rbwp_status status = pack_tree(manager, tree, &how, &outcome->packed, &error);
    tree_close(tree);
    outcome->pack_s = now_s() - start_s;
    outcome->did_pack = status == RBWP_OK;
    if (status != RBWP_OK)
        complain(error.text);
    return status == RBWP_OK && outcome->packed.skipped == 0;
}

/* Entries below the root that an archive of it should hold, sockets apart. */
static uint64_t count_entries(struct tree *tree)
{
    uint64_t count = 0;
    const char *path;
    struct stat info;
    enum tree_answer answer;
    while ((answer = tree_next(tree, &path)) != TREE_END && answer != TREE_MEMORY) {
        if (answer != TREE_ENTRY ||
            fstatat(tree_root(tree), path, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
            S_ISSOCK(info.st_mode))
            continue;
        count++;
        if (S_ISDIR(info.st_mode))
            tree_enter(tree);
    }
    return count;
}

static bool verify(const struct options *options, struct rbwp_work_manager *manager, int archive,
                   struct outcome *outcome)
{
    struct rbwp_error error;
    const double start_s = now_s();
    struct tree *tree = tree_open(options->directory);
    if (!tree)
        return complain_about(options->directory, strerror(errno)), false;
    const enum rbwp_status status =
        verify_archive(manager, archive, tree_root(tree), &outcome->verified, &error);
    const struct pack_totals *packed = &outcome->packed;
    const uint64_t expected =
        outcome->did_pack   ? packed->files + packed->directories + packed->links + packed->others
        : status == RBWP_OK ? count_entries(tree)
                            : 0;
    tree_close(tree);
    outcome->verify_s = now_s() - start_s;
    outcome->did_verify = true;
    if (status != RBWP_OK)
        return complain_about(options->archive, error.text), false;
    if (outcome->verified.members == expected)
        return outcome->verified.wrong == 0;
    fprintf(stderr, "bgpack: %s: holds %" PRIu64 " entries, there should be %" PRIu64 "\n",
            options->archive, outcome->verified.members, expected);
    return false;
}

/* Packs into archive, open for reading and writing under the name part, and gives it its name. */
static bool pack_and_verify(const struct options *options, struct rbwp_work_manager *manager,
                            const char *part, struct outcome *outcome)
{
    const int archive = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (archive < 0)
        return complain_about(part, strerror(errno)), false;
    bool good = pack(options, manager, archive, outcome);
    bool whole = outcome->did_pack;
    if (whole && !options->no_verify && !verify(options, manager, archive, outcome)) {
        good = false;
        whole = outcome->verified.members > 0;
    }
    if (close(archive) != 0 || (whole && rename(part, options->archive) != 0)) {
        complain_about(options->archive, strerror(errno));
        good = whole = false;
    }
    if (!whole)
        (void)unlink(part);
    return good;
}

static bool bgpack_run(const struct options *options, struct rbwp_work_manager *manager,
                       struct outcome *outcome)
{
    if (options->verify_only) {
        const int archive = open(options->archive, O_RDONLY | O_CLOEXEC);
        if (archive < 0)
            return complain_about(options->archive, strerror(errno)), false;
        const bool good = verify(options, manager, archive, outcome);
        close(archive);
        return good;
    }
    if (!options->force && access(options->archive, F_OK) == 0)
        return complain_about(options->archive, "exists; --force replaces it"), false;
    char *part;
    if (asprintf(&part, "%s.part", options->archive) < 0)
        return complain(strerror(ENOMEM)), false;
    const bool good = pack_and_verify(options, manager, part, outcome);
    free(part);
    return good;
}

/* ---- summary --------------------------------------------------------------------------- */

static void print_outcome(const struct options *options, const struct outcome *outcome)
{
    const struct pack_totals *packed = &outcome->packed;
    if (outcome->did_pack) {
        printf("packed    %" PRIu64 " files, %" PRIu64 " directories, %" PRIu64 " links, %" PRIu64
               " others in %.2f s; skipped %" PRIu64 "\n",
               packed->files, packed->directories, packed->links, packed->others, outcome->pack_s,
               packed->skipped);
        printf("archive   %s: %" PRIu64 " bytes of tar in %" PRIu64 " bytes (%.1f %%)\n",
               options->archive, packed->plain_bytes, packed->packed_bytes,
               100.0 * (double)packed->packed_bytes / (double)packed->plain_bytes);
    }
    if (outcome->did_verify)
        printf("verified  %" PRIu64 " entries, %" PRIu64
               " bytes against %s in %.2f s; wrong %" PRIu64 "\n",
               outcome->verified.members, outcome->verified.bytes, options->directory,
               outcome->verify_s, outcome->verified.wrong);
}

static void print_profile(const struct rbwp_session_summary *summary)
{
    printf("profile   %s: %" PRIu64 " records in %" PRIu64 " bytes; lost %" PRIu64
           ", calls refused %" PRIu64 "\n",
           summary->path, summary->records, summary->bytes, summary->lost_records,
           summary->misuse_calls);
}

int main(int argc, char **argv)
{
    struct options options = {.level = DEFAULT_LEVEL};
    struct outcome outcome = {.did_pack = false};
    struct rbwp_session *session = NULL;
    struct rbwp_session_summary summary;
    struct rbwp_work_manager *manager;
    struct rbwp_error error;

    if (argc > 1 && is(argv[1], "-h", "--help"))
        return fputs(help, stdout), EXIT_GOOD;
    if (argc > 1 && strcmp(argv[1], "--version") == 0)
        return printf("bgpack %s\n", rbwp_version()), EXIT_GOOD;
    if (!take_flags(&options, &argc, argv) || !take_options(&options, argc, argv))
        return EXIT_USAGE;

    /* Without a profile the job is still done. */
    if (rbwp_session_start(&options.session, &session, &error) != RBWP_OK)
        complain(error.text);
    if (rbwp_work_start(&options.work, &manager, &error) != RBWP_OK) {
        complain(error.text);
        (void)rbwp_session_stop(session, NULL);
        return EXIT_TROUBLE;
    }
    bool good = bgpack_run(&options, manager, &outcome);
    (void)rbwp_work_stop(manager, true, NULL);
    if (rbwp_session_stop(session, &summary) != RBWP_OK) {
        complain(summary.error.text);
        good = false;
    }
    if (!options.quiet) {
        print_outcome(&options, &outcome);
        if (session)
            print_profile(&summary);
    }
    return good ? EXIT_GOOD : EXIT_TROUBLE;
}
