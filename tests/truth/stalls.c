/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stalls [FLAGS...] [KIND...] - calls that stand still, each kind on a thread of its own; of those
 * that are wanted by name alone, exit is in a function that exit calls, child in a forked process.
 * As a library that Python has loaded, python is in a function of Python's (stalls_call_back).
 *
 * A call ends when its keeper says so, STALL_MS after its begin, or by itself. Each kind has so
 * many calls that the recorder's writer thread had a CPU in ROUNDS of them, and prints of these
 * "call NAME FROM UNTIL", between which it began, and behind all "kind NAME THREAD EINTR": the
 * system's number of its thread, and how many waits failed with EINTR; "none NAME" of a kind that
 * this system does not have.
 */
#include "allocator.h"

#include <rbwp_record.h>
#include <rbwp_session.h>

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STALL_MS 160
#define ROUNDS 9
#define PAUSES_MIN 10 /* of the writer in a call: it had a CPU now and then */
#define PAGE 4096
#define MEMORY_BYTES (8 << 20)

static char writer_status[300];

enum place { ON_THREAD, ON_THREAD_IF_NAMED, AT_EXIT, IN_CHILD };

struct keeper {
    const char *name;
    enum place place;
    bool (*prepares)(
        struct keeper *keeper);            /* false: the system has no such thing; NULL: nothing */
    void (*stalls)(struct keeper *keeper); /* what the call does */
    void (*holds)(struct keeper *keeper);  /* before it; NULL: nothing */
    void (*releases)(struct keeper *keeper); /* lets it end; NULL: it does by itself */
    unsigned slot;
    sem_t wanted, held;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t cond;
    sem_t sem;
    int pipe[2]; /* or other descriptors */
    struct sockaddr_un address;
    socklen_t address_bytes;
    uint32_t word;
    bool is_over, is_done;
    bool keeps_recorder; /* malloc's lock, for which the recorder waited */
    int faults;
    char *memory;
    long eintr;
};

/* Of a thread that runs: on a machine with much to do, it has had a CPU for a while, too. */
struct span {
    struct timespec clock, cpu;
};

static void begin_span(struct span *span)
{
    clock_gettime(CLOCK_MONOTONIC, &span->clock);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &span->cpu);
}

static bool is_ms_past(clockid_t clock, const struct timespec *since, long ms)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000 >= ms;
}

static bool is_past(const struct span *since)
{
    return is_ms_past(CLOCK_MONOTONIC, &since->clock, STALL_MS) &&
           is_ms_past(CLOCK_THREAD_CPUTIME_ID, &since->cpu, STALL_MS / 2);
}

static void pause_ms(long ms)
{
    struct timespec left = {ms / 1000, ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0)
        ;
}

static void check(struct keeper *keeper, long result)
{
    if (result >= 0)
        return;
    if (errno != EINTR)
        abort();
    keeper->eintr++;
}

/* ---- kinds ----------------------------------------------------------------------------------- */

#define KIND(name) __attribute__((noinline)) static void stall_##name(struct keeper *keeper)

KIND(mutex)
{
    pthread_mutex_lock(&keeper->mutex);
    pthread_mutex_unlock(&keeper->mutex);
}
static void hold_mutex(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
}
static void release_mutex(struct keeper *keeper)
{
    pthread_mutex_unlock(&keeper->mutex);
}
KIND(rwlock)
{
    pthread_rwlock_rdlock(&keeper->rwlock);
    pthread_rwlock_unlock(&keeper->rwlock);
}
static void hold_rwlock(struct keeper *keeper)
{
    pthread_rwlock_wrlock(&keeper->rwlock);
}
static void release_rwlock(struct keeper *keeper)
{
    pthread_rwlock_unlock(&keeper->rwlock);
}
KIND(condition)
{
    pthread_mutex_lock(&keeper->mutex);
    while (!keeper->is_over)
        pthread_cond_wait(&keeper->cond, &keeper->mutex);
    keeper->is_over = false;
    pthread_mutex_unlock(&keeper->mutex);
}
static void release_condition(struct keeper *keeper)
{
    pthread_mutex_lock(&keeper->mutex);
    keeper->is_over = true;
    pthread_cond_signal(&keeper->cond);
    pthread_mutex_unlock(&keeper->mutex);
}
KIND(semaphore)
{
    check(keeper, sem_wait(&keeper->sem));
}
static void release_semaphore(struct keeper *keeper)
{
    sem_post(&keeper->sem);
}
#define SLEEPS(name)                                                                               \
    KIND(name)                                                                                     \
    {                                                                                              \
        check(keeper, nanosleep(&(struct timespec){0, STALL_MS * 1000000L}, NULL));                \
    }
SLEEPS(nanosleep)
SLEEPS(exit)
SLEEPS(child)
KIND(read)
{
    char byte;
    check(keeper, read(keeper->pipe[0], &byte, 1));
}
KIND(poll)
{
    char byte;
    check(keeper, poll(&(struct pollfd){.fd = keeper->pipe[0], .events = POLLIN}, 1, -1));
    check(keeper, read(keeper->pipe[0], &byte, 1));
}
KIND(epoll)
{
    char byte;
    struct epoll_event event = {.events = EPOLLIN};
    int set = epoll_create1(0);
    epoll_ctl(set, EPOLL_CTL_ADD, keeper->pipe[0], &event);
    check(keeper, epoll_wait(set, &event, 1, -1));
    close(set);
    check(keeper, read(keeper->pipe[0], &byte, 1));
}
static void release_pipe(struct keeper *keeper)
{
    check(keeper, write(keeper->pipe[1], "x", 1));
}
KIND(futex)
{
    while (__atomic_load_n(&keeper->word, __ATOMIC_ACQUIRE) == 0)
        if (syscall(SYS_futex, &keeper->word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0) != 0 &&
            errno == EINTR)
            keeper->eintr++;
    __atomic_store_n(&keeper->word, 0, __ATOMIC_RELAXED);
}
static void release_futex(struct keeper *keeper)
{
    __atomic_store_n(&keeper->word, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &keeper->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}
KIND(loop)
{
    struct span since;
    (void)keeper;
    begin_span(&since);
    while (!is_past(&since))
        ;
}
static void on_usr1(int number)
{
    (void)number;
    stall_loop(NULL);
}
KIND(handler)
{
    (void)keeper;
    raise(SIGUSR1);
}
KIND(allocator)
{
    const long before = atomic_load(&allocator_kept);
    pthread_mutex_lock(&allocator);
    pause_ms(STALL_MS);
    keeper->keeps_recorder = atomic_load(&allocator_kept) != before;
    pthread_mutex_unlock(&allocator);
}
KIND(malloc)
{
    (void)keeper;
    void *volatile memory = malloc(1);
    free(memory);
}
static void hold_malloc(struct keeper *keeper)
{
    (void)keeper;
    pthread_mutex_lock(&allocator);
}
static void release_malloc(struct keeper *keeper)
{
    (void)keeper;
    pthread_mutex_unlock(&allocator);
}
KIND(constructor)
{
    (void)keeper;
    void *library = dlopen(CONSTRUCTOR, RTLD_NOW);
    if (!library || dlclose(library) != 0)
        abort();
}
static void (*callback)(void);
KIND(python)
{
    callback();
    keeper->is_over = false; /* so that this function is on the stack meanwhile */
}

/* ---- files ----------------------------------------------------------------------------------- */

KIND(flock)
{
    check(keeper, flock(keeper->pipe[0], LOCK_EX));
    flock(keeper->pipe[0], LOCK_UN);
}
static bool prepare_flock(struct keeper *keeper)
{
    char path[64];
    keeper->pipe[0] = memfd_create("lock", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", keeper->pipe[0]);
    keeper->pipe[1] = open(path, O_RDWR | O_CLOEXEC);
    return keeper->pipe[1] >= 0;
}
static void hold_flock(struct keeper *keeper)
{
    flock(keeper->pipe[1], LOCK_EX);
}
static void release_flock(struct keeper *keeper)
{
    flock(keeper->pipe[1], LOCK_UN);
}
static int connect_to(const struct keeper *keeper, int flags)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | flags, 0);
    if (connect(fd, (const struct sockaddr *)&keeper->address, keeper->address_bytes) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}
/* With room for one that nobody has accepted yet. */
static bool listen_for(struct keeper *keeper, int flags)
{
    keeper->address.sun_family = AF_UNIX;
    keeper->address_bytes = sizeof keeper->address;
    keeper->pipe[0] = socket(AF_UNIX, SOCK_STREAM | flags, 0);
    struct sockaddr *address = (struct sockaddr *)&keeper->address;
    return bind(keeper->pipe[0], address, sizeof(sa_family_t)) == 0 &&
           listen(keeper->pipe[0], 0) == 0 &&
           getsockname(keeper->pipe[0], address, &keeper->address_bytes) == 0;
}
KIND(accept)
{
    int fd = accept(keeper->pipe[0], NULL, NULL);
    check(keeper, fd);
    close(fd);
}
static bool prepare_accept(struct keeper *keeper)
{
    return listen_for(keeper, 0);
}
static void release_accept(struct keeper *keeper)
{
    close(connect_to(keeper, 0));
}
KIND(connect)
{
    int fd = connect_to(keeper, 0);
    check(keeper, fd);
    close(fd);
}
static bool prepare_connect(struct keeper *keeper)
{
    return listen_for(keeper, SOCK_NONBLOCK);
}
static void hold_connect(struct keeper *keeper)
{
    for (int fd; (fd = connect_to(keeper, SOCK_NONBLOCK)) >= 0;)
        close(fd); /* it stays in the queue */
}
static void release_connect(struct keeper *keeper)
{
    for (int fd; (fd = accept(keeper->pipe[0], NULL, NULL)) >= 0;)
        close(fd);
}

/* ---- memory ---------------------------------------------------------------------------------- */

KIND(memory)
{
    struct span since;
    begin_span(&since);
    while (!is_past(&since)) {
        memset(keeper->memory, 1, MEMORY_BYTES);
        madvise(keeper->memory, MEMORY_BYTES, MADV_DONTNEED);
    }
}
KIND(fault)
{
    char *volatile memory = keeper->memory;
    memory[0]++;
    madvise(memory, PAGE, MADV_DONTNEED);
}
static bool prepare_fault(struct keeper *keeper)
{
    struct uffdio_api api = {.api = UFFD_API};
    keeper->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_register range = {
        {(uintptr_t)keeper->memory, PAGE}, UFFDIO_REGISTER_MODE_MISSING, 0};
    return keeper->faults >= 0 && ioctl(keeper->faults, UFFDIO_API, &api) == 0 &&
           ioctl(keeper->faults, UFFDIO_REGISTER, &range) == 0;
}
static void release_fault(struct keeper *keeper)
{
    struct uffdio_zeropage page = {{(uintptr_t)keeper->memory, PAGE}, 0, 0};
    check(keeper, ioctl(keeper->faults, UFFDIO_ZEROPAGE, &page));
}

#define OF_KIND(kind) .name = #kind, .stalls = stall_##kind
static struct keeper keepers[] = {
    {OF_KIND(mutex), .holds = hold_mutex, .releases = release_mutex},
    {OF_KIND(rwlock), .holds = hold_rwlock, .releases = release_rwlock},
    {OF_KIND(condition), .releases = release_condition},
    {OF_KIND(semaphore), .releases = release_semaphore},
    {OF_KIND(nanosleep)},
    {OF_KIND(read), .releases = release_pipe},
    {OF_KIND(poll), .releases = release_pipe},
    {OF_KIND(epoll), .releases = release_pipe},
    {OF_KIND(futex), .releases = release_futex},
    {OF_KIND(loop)},
    {OF_KIND(handler)},
    {OF_KIND(allocator)},
    {OF_KIND(memory)},
    {OF_KIND(fault), .prepares = prepare_fault, .releases = release_fault},
    {OF_KIND(flock), .prepares = prepare_flock, .holds = hold_flock, .releases = release_flock},
    {OF_KIND(accept), .prepares = prepare_accept, .releases = release_accept},
    {OF_KIND(connect), .prepares = prepare_connect, .holds = hold_connect,
     .releases = release_connect},
    /* Where nobody else keeps the allocator. */
    {OF_KIND(malloc), .place = ON_THREAD_IF_NAMED, .holds = hold_malloc,
     .releases = release_malloc},
    {OF_KIND(constructor), .place = ON_THREAD_IF_NAMED},
    {OF_KIND(python), .place = ON_THREAD_IF_NAMED},
    {OF_KIND(exit), .place = AT_EXIT},
    {OF_KIND(child), .place = IN_CHILD},
};
#define KINDS (sizeof keepers / sizeof keepers[0])

/* ---- threads --------------------------------------------------------------------------------- */

static void *keep(void *argument)
{
    struct keeper *keeper = argument;
    for (;;) {
        sem_wait(&keeper->wanted);
        if (keeper->is_done)
            return NULL;
        if (keeper->holds)
            keeper->holds(keeper);
        sem_post(&keeper->held);
        pause_ms(STALL_MS);
        if (keeper->releases)
            keeper->releases(keeper);
    }
}

/* How often the recorder's writer has paused, between two looks among others. */
static long writer_pauses(void)
{
    static const char field[] = "\nvoluntary_ctxt_switches:\t";
    char text[4096];
    int fd = open(writer_status, O_RDONLY);
    ssize_t bytes = read(fd, text, sizeof text - 1);
    close(fd);
    text[bytes > 0 ? bytes : 0] = 0;
    const char *at = strstr(text, field);
    return at ? strtol(at + sizeof field - 1, NULL, 10) : 0;
}

static void find_writer(void)
{
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", task->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && strcmp(name, "rbwp-writer\n") == 0)
            snprintf(writer_status, sizeof writer_status, "/proc/self/task/%s/status",
                     task->d_name);
        if (file)
            fclose(file);
    }
    closedir(tasks);
}

static void *work(void *argument)
{
    struct keeper *keeper = argument;
    allocator_may_wait = true;
    if (rbwp_thread_attach(keeper->name) != RBWP_OK)
        abort();
    if (!writer_status[0]) { /* a child's first record starts its recording */
        rbwp_begin(keeper->slot);
        rbwp_end();
        find_writer();
    }
    for (int good = 0; good < ROUNDS;) {
        sem_post(&keeper->wanted);
        while (sem_wait(&keeper->held) != 0)
            ;
        const long pauses = writer_pauses();
        const int64_t before_ns = rbwp_now_ns();
        rbwp_begin(keeper->slot);
        const int64_t behind_ns = rbwp_now_ns();
        keeper->stalls(keeper);
        const int64_t end_ns = rbwp_now_ns();
        rbwp_end();
        if (writer_pauses() - pauses < PAUSES_MIN)
            continue;
        good++;
        printf("call %s %lld %lld %lld\n", keeper->name, (long long)before_ns, (long long)behind_ns,
               (long long)end_ns);
        if (keeper->keeps_recorder) /* nobody looks meanwhile */
            printf("kept %lld %lld\n", (long long)behind_ns, (long long)end_ns);
    }
    printf("kind %s %ld %ld\n", keeper->name, syscall(SYS_gettid), keeper->eintr);
    keeper->is_done = true;
    sem_post(&keeper->wanted);
    rbwp_thread_detach();
    return NULL;
}

static bool prepare(struct keeper *keeper)
{
    sem_init(&keeper->wanted, 0, 0);
    sem_init(&keeper->held, 0, 0);
    sem_init(&keeper->sem, 0, 0);
    pthread_mutex_init(&keeper->mutex, NULL);
    pthread_rwlock_init(&keeper->rwlock, NULL);
    pthread_cond_init(&keeper->cond, NULL);
    keeper->memory =
        mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pipe(keeper->pipe) != 0 || rbwp_work_item_register(keeper->name, &keeper->slot) != RBWP_OK)
        abort();
    return !keeper->prepares || keeper->prepares(keeper);
}

static bool is_wanted(const struct keeper *keeper, int argc, char **argv)
{
    bool any = argc < 2 && keeper->place == ON_THREAD;
    for (int i = 1; i < argc; i++)
        any |= strcmp(argv[i], keeper->name) == 0;
    return any;
}

static struct keeper *at_exit;

static void run_here(struct keeper *keeper)
{
    pthread_t thread;
    pthread_create(&thread, NULL, keep, keeper);
    work(keeper);
    pthread_join(thread, NULL);
}

static void run_at_exit(void)
{
    run_here(at_exit);
}

static void run_in_child(struct keeper *keeper)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        writer_status[0] = 0;
        run_here(keeper);
        exit(0);
    }
    waitpid(child, NULL, 0);
}

static void run_kinds(int argc, char **argv)
{
    pthread_t threads[2 * KINDS];
    unsigned count = 0;
    signal(SIGUSR1, on_usr1);
    find_writer();
    for (struct keeper *keeper = keepers; keeper < keepers + KINDS; keeper++) {
        if (!is_wanted(keeper, argc, argv))
            continue;
        if (!prepare(keeper)) {
            printf("none %s\n", keeper->name);
            continue;
        }
        if (keeper->place == IN_CHILD) {
            run_in_child(keeper);
        } else if (keeper->place == AT_EXIT) {
            at_exit = keeper;
            atexit(run_at_exit);
        } else {
            pthread_create(&threads[count++], NULL, keep, keeper);
            pthread_create(&threads[count++], NULL, work, keeper);
        }
    }
    while (count)
        pthread_join(threads[--count], NULL);
}

__attribute__((visibility("default"))) int stalls_call_back(int argc, char **argv,
                                                            void (*function)(void));

int main(int argc, char **argv)
{
    struct rbwp_session *session = NULL;
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_error error;
    allocator_may_wait = true;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK ||
        rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    run_kinds(argc, argv);
    if (at_exit)
        return 0; /* the session is stopped behind it */
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}

int stalls_call_back(int argc, char **argv, void (*function)(void))
{
    callback = function;
    return main(argc, argv);
}
