/* SPDX-License-Identifier: Apache-2.0 */
/*
 * job.c - what the program says of its job goes before what the launcher's variables say, and
 * those before what the system knows.
 */
#include "job.h"

#include "failure.h"
#include "live.h"
#include "node.h"
#include "in_process.h"
#include "read_clock.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define TEXT_ROOM (RBWP_JOB_TEXT_BYTES_MAX + 1)

static pthread_mutex_t job_lock = PTHREAD_MUTEX_INITIALIZER; /* guards all below; the live file's
                                                            log is locked inside it */
static bool has_told;
static struct rbwp_job_facts told; /* ranks 0: the launcher's */

static const struct rbwp_job_facts *of_session; /* NULL: none */
static bool is_strict;
static struct node_clocks clocks;

/* In a forked child whoever held the lock does not exist, and the session is the parent's. */
static void job_forget_in_child(void)
{
    pthread_mutex_init(&job_lock, NULL);
    of_session = NULL;
}

ON_FORK(1, NULL, NULL, job_forget_in_child)

/* ---- as given --------------------------------------------------------------------------- */

static enum rbwp_status copy_text(char *to, const char *text, struct rbwp_error *error)
{
    if (text && strlen(text) >= TEXT_ROOM)
        return failure(error, RBWP_E_LIMIT, 0,
                       "a text about the job has %zu bytes, more than %d: "
                       "\"%.40s...\"",
                       strlen(text), RBWP_JOB_TEXT_BYTES_MAX, text);
    snprintf(to, TEXT_ROOM, "%s", text ? text : "");
    return RBWP_OK;
}

static enum rbwp_status read_job(const struct rbwp_job *job, struct rbwp_job_facts *facts,
                                 struct rbwp_error *error)
{
    const struct {
        char *to;
        const char *text;
    } texts[] = {
        {facts->id, job->id},
        {facts->step, job->step},
        {facts->node_name, job->node_name},
        {facts->launcher, job->launcher},
        {facts->hardware, job->hardware},
    };
    if (job->ranks ? job->rank >= job->ranks : job->rank != 0)
        return failure(error, RBWP_E_USAGE, 0, "rank %u is not below the number of ranks, %u",
                       job->rank, job->ranks);
    enum rbwp_status status = RBWP_OK;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && status == RBWP_OK; i++)
        status = copy_text(texts[i].to, texts[i].text, error);
    facts->rank = job->rank;
    facts->ranks = job->ranks;
    facts->zero_ns = job->zero_ns;
    return status;
}

enum rbwp_status rbwp_job_set(const struct rbwp_job *given, struct rbwp_error *error)
{
    struct rbwp_job job = {0};
    struct rbwp_job_facts facts = {0};
    enum rbwp_status status = RBWP_OK;
    if (given)
        status = sized_take(&job, sizeof job, given, "rbwp_job", error);
    if (status == RBWP_OK)
        status = read_job(&job, &facts, error);
    if (status != RBWP_OK)
        return status;
    pthread_mutex_lock(&job_lock);
    told = facts;
    has_told = given != NULL;
    pthread_mutex_unlock(&job_lock);
    return RBWP_OK;
}

/* ---- the system's word -------------------------------------------------------------------- */

static void fill_in(char *text, const char *otherwise)
{
    if (!*text && otherwise)
        snprintf(text, TEXT_ROOM, "%s", otherwise);
}

/* "model name      : ..." of the first processor; the machine's kind where there is none. */
static void read_processor(char *text, size_t room)
{
    char info[2048];
    struct utsname names;
    int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, info, sizeof info - 1);
    if (fd >= 0)
        close(fd);
    info[bytes > 0 ? bytes : 0] = '\0';
    const char *at = strstr(info, "model name");
    at = at ? strchr(at, ':') : NULL;
    if (at) {
        at += 1 + strspn(at + 1, " \t");
        snprintf(text, room, "%.*s", (int)strcspn(at, "\n"), at);
    } else if (uname(&names) == 0) {
        snprintf(text, room, "%s", names.machine);
    }
}

static void read_hardware(char *text)
{
    char processor[128] = "processor";
    long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    read_processor(processor, sizeof processor);
    double bytes = pages > 0 ? (double)pages * (double)sysconf(_SC_PAGESIZE) : 0;
    snprintf(text, TEXT_ROOM, "%s, %ld CPU%s, %.1f GiB", processor, cpus, cpus == 1 ? "" : "s",
             bytes / (1 << 30));
}

static int64_t started_ns(void)
{
    struct process_facts process;
    process_look(&process);
    if (process.info.start_ns == 0)
        return 0;
    return read_clock_ns(CLOCK_REALTIME) - read_clock_ns(CLOCK_BOOTTIME) + process.info.start_ns;
}

void job_look(struct rbwp_job_facts *facts)
{
    uint32_t rank, ranks;
    const char *launcher = node_from_launcher(&rank, &ranks);
    char host[TEXT_ROOM] = "";
    int host_cancel = cancel_hold();
    *facts = (struct rbwp_job_facts){0};
    pthread_mutex_lock(&job_lock);
    if (has_told)
        *facts = told;
    pthread_mutex_unlock(&job_lock);
    if (facts->ranks == 0) {
        facts->rank = rank;
        facts->ranks = ranks;
        fill_in(facts->launcher, launcher);
    }
    fill_in(facts->id, node_job_id());
    fill_in(facts->step, node_job_step());
    fill_in(facts->node_name, node_machine_name());
    if (gethostname(host, sizeof host - 1) == 0)
        fill_in(facts->node_name, host);
    if (!facts->hardware[0])
        read_hardware(facts->hardware);
    facts->started_ns = started_ns();
    facts->parent = getppid(); /* 0: outside of what we see */
    cancel_release(host_cancel);
}

void rbwp_job_get_sized(struct rbwp_job_facts *facts_out, size_t facts_bytes)
{
    struct rbwp_job_facts facts;
    job_look(&facts);
    sized_give(facts_out, facts_bytes, &facts, sizeof facts);
}

/* ---- into the file -------------------------------------------------------------------------- */

uint32_t job_facts_list(const struct rbwp_job_facts *facts, struct rbwp_job_fact *list)
{
    const struct rbwp_job_fact all[] = {
        {RBWP_JOB_ID, 0, 0, facts->id},
        {RBWP_JOB_STEP, 0, 0, facts->step},
        {RBWP_JOB_NODE_NAME, 0, 0, facts->node_name},
        {RBWP_JOB_RANK, facts->rank, 0, NULL},
        {RBWP_JOB_RANKS, facts->ranks, 0, NULL},
        {RBWP_JOB_LAUNCHER, 0, 0, facts->launcher},
        {RBWP_JOB_HARDWARE, 0, 0, facts->hardware},
        {RBWP_JOB_STARTED, facts->started_ns, 0, NULL},
        {RBWP_JOB_PARENT, facts->parent, 0, NULL},
    };
    uint32_t count = 0;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        if (all[i].text ? !*all[i].text : all[i].what >= RBWP_JOB_STARTED && !all[i].number)
            continue;
        list[count] = all[i];
        list[count].text = all[i].text ? all[i].text : "";
        list[count].text_bytes = (uint16_t)strlen(list[count].text);
        count++;
    }
    return count;
}

/* Locked. */
static void log_all(void)
{
    struct rbwp_job_fact list[JOB_WHATS];
    uint32_t count = job_facts_list(of_session, list);
    for (uint32_t i = 0; i < count; i++) {
        struct __attribute__((packed)) {
            uint32_t what;
            int64_t number;
        } entry = {list[i].what, list[i].number};
        live_log(LIVE_JOB, &entry, sizeof entry, list[i].text, list[i].text_bytes);
    }
    for (uint32_t i = 0; i < clocks.count; i++)
        live_log(LIVE_NODE_CLOCK, &clocks.kept[i], sizeof clocks.kept[i], NULL, 0);
}

void job_begin_session(const struct rbwp_job_facts *facts, bool strict)
{
    pthread_mutex_lock(&job_lock);
    of_session = facts;
    is_strict = strict;
    clocks = (struct node_clocks){0};
    log_all();
    pthread_mutex_unlock(&job_lock);
}

void job_end_session(void)
{
    pthread_mutex_lock(&job_lock);
    of_session = NULL;
    pthread_mutex_unlock(&job_lock);
}

void job_log(void)
{
    pthread_mutex_lock(&job_lock);
    if (of_session)
        log_all();
    pthread_mutex_unlock(&job_lock);
}

/* ---- clocks --------------------------------------------------------------------------------- */

enum rbwp_status rbwp_clock_offset_add(int64_t local_ns, int64_t offset_ns, uint64_t bound_ns)
{
    const struct rbwp_node_clock clock = {local_ns, offset_ns, bound_ns, 0};
    enum rbwp_status status = RBWP_OK;
    if (bound_ns > INT64_MAX)
        return RBWP_E_INVALID;
    pthread_mutex_lock(&job_lock);
    if (!of_session || is_strict)
        status = RBWP_E_STATE;
    else if (node_clocks_add(&clocks, clock))
        live_log(LIVE_NODE_CLOCK, &clock, sizeof clock, NULL, 0);
    else
        status = RBWP_E_INVALID;
    pthread_mutex_unlock(&job_lock);
    return status;
}

uint32_t job_clocks(struct rbwp_node_clock clocks_out[NODE_CLOCKS_MAX])
{
    pthread_mutex_lock(&job_lock);
    uint32_t count = clocks.count;
    memcpy(clocks_out, clocks.kept, count * sizeof clocks.kept[0]);
    pthread_mutex_unlock(&job_lock);
    return count;
}

/* ---- this process ---------------------------------------------------------------------------- */
/*
 * From /proc: its files are short, and each is read at once.
 *
 * A process id is given again, but not twice in one tick of the start time;
 * the boot id is made anew by each start of the kernel, and is the same in all
 * containers on it.
 */

/* Behind the name: state is the first. */
enum { FIELDS_BEFORE_START = 19, FIELDS_BEFORE_ARGUMENTS = 45, FIELDS_BEFORE_END = 48 };

static size_t read_file(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes = fd < 0 ? 0 : read(fd, text, room);
    if (fd >= 0)
        close(fd);
    return bytes > 0 ? (size_t)bytes : 0;
}

/* The name may hold anything, blanks and brackets too: what counts is behind its last bracket. */
static uint64_t stat_field(const char *text, int before)
{
    const char *at = strrchr(text, ')');
    for (int field = 0; at && field <= before; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoull(at, NULL, 10) : 0;
}

static void read_stat(char text[1024])
{
    text[read_file("/proc/self/stat", text, 1023)] = '\0';
}

static int64_t read_start_ns(void)
{
    char text[1024];
    long per_second = sysconf(_SC_CLK_TCK);
    read_stat(text);
    return per_second > 0
               ? (int64_t)stat_field(text, FIELDS_BEFORE_START) * (1000000000 / per_second)
               : 0;
}

static int hex_digit(char digit)
{
    const char *digits = "0123456789abcdef", *at = digit ? strchr(digits, digit) : NULL;
    return at ? (int)(at - digits) : -1;
}

static void read_boot_id(uint8_t *boot_id)
{
    char text[64];
    size_t bytes = read_file("/proc/sys/kernel/random/boot_id", text, sizeof text);
    unsigned digits = 0;
    uint8_t id[16] = {0};
    for (size_t i = 0; i < bytes && digits < 2 * sizeof id; i++) {
        int digit = hex_digit(text[i]);
        if (digit >= 0) {
            id[digits / 2] = (uint8_t)(id[digits / 2] << 4 | digit);
            digits++;
        }
    }
    if (digits == 2 * sizeof id)
        memcpy(boot_id, id, sizeof id);
}

static void read_command(struct process_facts *facts)
{
    size_t bytes = read_file("/proc/self/cmdline", facts->command, sizeof facts->command);
    if (bytes > 0 && facts->command[bytes - 1] == '\0')
        bytes--;
    facts->command_bytes = (uint32_t)bytes;
}

/* The first argument, which many servers write over, without the folder of the program. */
static void find_title(struct rbwp_process_info *info, const char *text, size_t room)
{
    size_t bytes = strnlen(text, room);
    const char *blank = memchr(text, ' ', bytes);
    const char *slash = memrchr(text, '/', blank ? (size_t)(blank - text) : bytes);
    const char *title = slash ? slash + 1 : text;
    bytes -= (size_t)(title - text);
    info->title = title;
    info->title_bytes =
        (uint16_t)(bytes < PROCESS_TITLE_BYTES_MAX ? bytes : PROCESS_TITLE_BYTES_MAX);
}

void process_look(struct process_facts *facts)
{
    *facts = (struct process_facts){.info = {.start_ns = read_start_ns()}};
    read_boot_id(facts->info.boot_id);
    read_command(facts);
    find_title(&facts->info, facts->command, facts->command_bytes);
}

bool process_was_there(int64_t realtime_ns, int64_t monotonic_ns)
{
    const int64_t start_ns = read_start_ns(), age_ns = read_clock_ns(CLOCK_BOOTTIME) - start_ns;
    const int64_t realtime_ago_ns = read_clock_ns(CLOCK_REALTIME) - realtime_ns;
    const int64_t monotonic_ago_ns = read_clock_ns(CLOCK_MONOTONIC) - monotonic_ns;
    return start_ns > 0 && realtime_ago_ns >= 0 && realtime_ago_ns <= age_ns &&
           monotonic_ago_ns >= 0 && monotonic_ago_ns <= age_ns;
}

/* ---- its title, which may change. Guarded by job_lock. ----------------------------------------
 */

#define TITLE_LOOK_BYTES 256u

static struct {
    uint8_t boot_id[16];
    int64_t start_ns;
    /* Its arguments and environment, which servers write their title over. They are read in place:
     * who looks may be the only thread, of a program in a sandbox that may open nothing. */
    const char *text;
    size_t room;
    char title[PROCESS_TITLE_BYTES_MAX]; /* that is in the live file */
    uint16_t title_bytes;
} titled = {.text = ""};

static void log_title(const struct rbwp_process_info *info)
{
    struct __attribute__((packed)) {
        uint8_t boot_id[16];
        int64_t start_ns;
    } entry;
    memcpy(entry.boot_id, titled.boot_id, sizeof entry.boot_id);
    entry.start_ns = titled.start_ns;
    titled.title_bytes = info->title_bytes;
    memcpy(titled.title, info->title, info->title_bytes);
    live_log(LIVE_PROCESS, &entry, sizeof entry, info->title, info->title_bytes);
}

static void find_arguments(void)
{
    char text[1024];
    read_stat(text);
    const uint64_t from = stat_field(text, FIELDS_BEFORE_ARGUMENTS);
    const uint64_t to = stat_field(text, FIELDS_BEFORE_END);
    titled.room = from && to > from ? (size_t)(to - from) : 0;
    titled.room = titled.room < TITLE_LOOK_BYTES ? titled.room : TITLE_LOOK_BYTES;
    titled.text = titled.room ? (const char *)(uintptr_t)from : ""; /* NOLINT */
}

void process_look_at_title(void)
{
    char text[TITLE_LOOK_BYTES];
    struct rbwp_process_info info;
    if (pthread_mutex_trylock(&job_lock) != 0)
        return;
    memcpy(text, titled.text, titled.room);
    find_title(&info, text, titled.room);
    if (titled.room && (info.title_bytes != titled.title_bytes ||
                        memcmp(info.title, titled.title, info.title_bytes) != 0))
        log_title(&info);
    pthread_mutex_unlock(&job_lock);
}

void process_log(void)
{
    char host[256] = "";
    struct process_facts known;
    process_look(&known);
    pthread_mutex_lock(&job_lock);
    memcpy(titled.boot_id, known.info.boot_id, sizeof titled.boot_id);
    titled.start_ns = known.info.start_ns;
    log_title(&known.info);
    find_arguments();
    pthread_mutex_unlock(&job_lock);
    if (known.command_bytes)
        live_log(LIVE_COMMAND, NULL, 0, known.command, known.command_bytes);
    if (gethostname(host, sizeof host - 1) == 0)
        live_log(LIVE_HOST, NULL, 0, host, strlen(host));
}
