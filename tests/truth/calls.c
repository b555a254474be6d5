/* SPDX-License-Identifier: Apache-2.0 */
/*
 * calls [FLAGS...] [MODE [NUMBER]] - calls of many kinds on more threads than there are processors,
 * and what the kernel counted in them.
 *
 * closed: the program closes all descriptors that are not its own, and opens a file on each number.
 * few: it may have few descriptors. fork: a child says what it has of the parent's counters.
 * section: half-way the threads begin to count by CPU in critical sections of their own, for
 * which they use the word of their rseq area. child: all this is done by a child of a thread that
 * had set the word. short: each round is a thread of its own, which ends with an open call.
 * signals: a handler makes calls, too. refused: half-way the threads may not make the system call
 * of that number any more, which fails. between: one thread, whose long calls have no page faults,
 * but what is between them has.
 *
 * Prints a moment as ticks and as a time of the records, at the beginning and at the end, and of
 * each kind how many calls were switched out and the CPU time that all took.
 */
#include <rbwp_record.h>
#include <rbwp_session.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define THREADS 5
#define ROUNDS 100
#define OTHERS 64

enum kind { SHORT, SLEEP, SPIN, YIELD, LOCK, FAULTS, TINY, KINDS };
static const char *const names[KINDS] = {"short", "sleep",  "spin", "yield",
                                         "lock",  "faults", "tiny"};
static unsigned slots[KINDS];
static _Atomic long calls_of[KINDS], switched_of[KINDS], ran_of[KINDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *mode = "";
static unsigned refused; /* number of a system call */

/* ---- work -------------------------------------------------------------------------- */

static void spin(int64_t ns)
{
    for (int64_t end = rbwp_now_ns() + ns; rbwp_now_ns() < end;)
        ;
}

static void touch(size_t bytes)
{
    char *volatile memory = malloc(bytes);
    for (size_t i = 0; memory && i < bytes; i += 4096)
        memory[i] = 1;
    free(memory);
}

static void work(enum kind kind)
{
    switch (kind) {
    case SHORT:
        spin(20000);
        break;
    case SLEEP:
        usleep(300);
        break;
    case SPIN:
        spin(2000000);
        break;
    case YIELD:
        syscall(SYS_sched_yield);
        break;
    case LOCK:
        pthread_mutex_lock(&lock);
        spin(50000);
        pthread_mutex_unlock(&lock);
        break;
    case FAULTS:
        touch(1 << 19);
        break;
    case TINY:
    case KINDS:
        break;
    }
}

struct counts {
    long switches, ran_ns;
};

static struct counts counts_now(void)
{
    struct rusage usage;
    struct timespec ran;
    getrusage(RUSAGE_THREAD, &usage);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ran);
    return (struct counts){usage.ru_nvcsw + usage.ru_nivcsw,
                           ran.tv_sec * 1000000000L + ran.tv_nsec};
}

static void call(enum kind kind)
{
    rbwp_begin(slots[kind]);
    const struct counts before = counts_now();
    work(kind);
    const struct counts after = counts_now();
    const long late_switches =
        counts_now().switches; /* a system call is where a thread is switched out */
    rbwp_end();
    calls_of[kind]++;
    switched_of[kind] += late_switches != before.switches;
    ran_of[kind] += after.ran_ns - before.ran_ns;
}

/* ---- a critical section of the program's own --------------------------------------------- */

#define COUNTED 1000 /* in a round */
static _Atomic long expected;

#ifdef __x86_64__
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned int __rseq_size __attribute__((weak));
struct own_area {
    uint32_t cpu_id_start, cpu_id;
    uint64_t section;
};
static struct {
    long count;
} __attribute__((aligned(64))) counts_of_cpu[1024];
extern const char own_section[] __attribute__((visibility("hidden")));

/* One more on the CPU that the thread is on, without a lock, as allocators count: the kernel begins
 * it anew where it interrupts it. False: it is to be tried again. */
__attribute__((noinline)) static bool count_one(struct own_area *area)
{
    const uint32_t cpu = *(volatile uint32_t *)&area->cpu_id_start;
    __asm__ goto(".pushsection .data.rel.ro, \"aw\"\n"
                 ".balign 32\n"
                 "own_section: .long 0, 0\n"
                 ".quad 1f, 2f - 1f, 4f\n"
                 ".popsection\n"
                 "lea own_section(%%rip), %%rax\n"
                 "mov %%rax, %0\n"
                 "1: cmp %2, %1\n"
                 "jnz %l[anew]\n"
                 "incq %3\n"
                 "2:\n"
                 ".pushsection .text.unlikely, \"ax\"\n"
                 ".long 0x53053053\n"
                 "4: jmp %l[anew]\n"
                 ".popsection\n"
                 :
                 : "m"(area->section), "m"(area->cpu_id), "r"(cpu), "m"(counts_of_cpu[cpu].count)
                 : "rax", "memory", "cc"
                 : anew);
    return true;
anew:
    return false;
}

/* As one that has been through its section leaves the word. The kernel clears it where the thread
 * is switched out; else it stays. */
static void use_section(bool set)
{
    char *thread_pointer;
    if (!&__rseq_size || !__rseq_size)
        return;
    __asm__("mov %%fs:0, %0" : "=r"(thread_pointer));
    struct own_area *area = (struct own_area *)(thread_pointer + __rseq_offset);
    for (int i = 0; set && i < COUNTED;)
        i += count_one(area);
    expected += set ? COUNTED : 0;
    const uint64_t word = *(volatile uint64_t *)&area->section;
    if (word && word != (uint64_t)(uintptr_t)own_section)
        printf("the word of the program's section was changed\n");
}

static void check_counts(void)
{
    long counted = 0;
    for (int i = 0; i < 1024; i++)
        counted += counts_of_cpu[i].count;
    if (counted != expected)
        printf("the program counted %ld of %ld\n", counted, expected);
}
#else
static void use_section(bool set)
{
    (void)set;
}
static void check_counts(void) {}
#endif

/* ---- descriptors ----------------------------------------------------------------------- */

static int others[OTHERS];

static void open_others(void)
{
    for (int i = 0; i < OTHERS; i++) {
        others[i] = open("others", O_RDWR | O_CREAT, 0600);
        if (others[i] >= 0 && pwrite(others[i], "100 200 300\n", 12, 0) != 12)
            abort();
    }
}

static void check_others(void)
{
    char text[16] = "";
    if (pread(others[0], text, sizeof text, 0) != 12 || strcmp(text, "100 200 300\n") != 0)
        printf("a file of the program was changed\n");
    for (int i = 0; i < OTHERS; i++)
        if (others[i] >= 0 && fcntl(others[i], F_GETFD) < 0)
            printf("a file of the program was closed\n");
}

/* What a forked child has open of its parent's counters. */
static void count_in_child(void)
{
    const pid_t child = fork();
    if (child == 0) {
        char name[32], target[64];
        int left = 0;
        for (int fd = 3; fd < 1024; fd++) {
            snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
            const ssize_t bytes = readlink(name, target, sizeof target - 1);
            target[bytes < 0 ? 0 : bytes] = '\0';
            left += strstr(target, "schedstat") != NULL;
        }
        printf("a child has %d counters of its parent\n", left);
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

/* ---- threads ----------------------------------------------------------------------------- */

static bool is_mode(const char *name)
{
    return strcmp(mode, name) == 0;
}

/* The calling thread's calls of that number fail with EPERM. */
static void refuse(unsigned number)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof code / sizeof code[0], code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        abort();
}

static void on_alarm(int number)
{
    (void)number;
    rbwp_begin(slots[TINY]);
    rbwp_end();
}

static void make_round(bool has_section)
{
    for (enum kind kind = 0; kind < KINDS; kind++)
        for (int again = kind == TINY ? 50 : 1; again > 0; again--) {
            if (has_section)
                use_section(true);
            call(kind);
            if (has_section)
                use_section(false);
        }
}

static void *short_worker(void *name)
{
    if (rbwp_thread_attach(name) != RBWP_OK)
        abort();
    make_round(false);
    rbwp_begin(slots[TINY]);
    return NULL;
}

static void *worker(void *name)
{
    pthread_t thread;
    if (rbwp_thread_attach(name) != RBWP_OK)
        abort();
    for (int round = 0; round < ROUNDS; round++) {
        if (is_mode("refused") && round == ROUNDS / 2)
            refuse(refused);
        if (!is_mode("short"))
            make_round(is_mode("section") && round >= ROUNDS / 2);
        else if (pthread_create(&thread, NULL, short_worker, "short") == 0)
            pthread_join(thread, NULL);
    }
    return NULL;
}

/* In a child of this thread, which has set the word. */
static bool go_on_in_child(void)
{
    if (rbwp_thread_attach("parent") != RBWP_OK)
        abort();
    call(TINY);
    calls_of[TINY] = switched_of[TINY] = ran_of[TINY] = 0;
    const pid_t child = fork();
    if (child != 0)
        waitpid(child, NULL, 0);
    return child == 0;
}

/* The same moment as ticks and as a time of the records. */
static void show_clock(void)
{
    uint64_t least = UINT64_MAX, at = 0;
    int64_t at_ns = 0;
    for (int i = 0; i < 1000; i++) {
        const uint64_t before = rbwp_now_ticks();
        const int64_t ns = rbwp_now_ns();
        const uint64_t took = rbwp_now_ticks() - before;
        if (took < least) {
            least = took;
            at = before + took / 2;
            at_ns = ns;
        }
    }
    printf("clock %llu %lld\n", (unsigned long long)at, (long long)at_ns);
}

/* One fault, and many that take longer than is soon. */
static void calls_with_faults_between(void)
{
    if (rbwp_thread_attach("between") != RBWP_OK)
        abort();
    for (int i = 0; i < 2 * ROUNDS; i++) {
        rbwp_begin(slots[SPIN]);
        spin(150000);
        rbwp_end();
        char *page = mmap(NULL, 4096, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            abort();
        *(volatile char *)page = 1;
        munmap(page, 4096);
        if (i % 2)
            touch(1 << 19);
    }
}

static void run(void)
{
    pthread_t threads[THREADS];
    sigset_t alarm;
    show_clock();
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, worker, "worker");
    if (is_mode("child"))
        worker("forked");
    if (is_mode("signals")) { /* for the others to get */
        sigemptyset(&alarm);
        sigaddset(&alarm, SIGALRM);
        pthread_sigmask(SIG_BLOCK, &alarm, NULL);
        signal(SIGALRM, on_alarm);
        setitimer(ITIMER_REAL, &(struct itimerval){{0, 1000}, {0, 1000}}, NULL);
    }
    if (is_mode("closed")) {
        usleep(100000);
        syscall(SYS_close_range, 3, ~0u, 0);
        open_others();
    }
    if (is_mode("fork")) {
        usleep(100000);
        fflush(stdout);
        count_in_child();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    show_clock();
    for (int i = 0; i < KINDS; i++)
        printf("kind %s %ld %ld %ld\n", names[i], calls_of[i], switched_of[i], ran_of[i]);
    if (is_mode("closed"))
        check_others();
    check_counts();
}

int main(int argc, char **argv)
{
    struct rbwp_session *session = NULL;
    struct rbwp_session_config config = {.size = sizeof config};
    struct rbwp_error error;
    if (rbwp_session_parse(&config, &argc, argv, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    mode = argc > 1 ? argv[1] : "";
    refused = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    if (is_mode("few"))
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){24, 24});
    if (rbwp_session_start(&config, &session, &error) != RBWP_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    for (int i = 0; i < KINDS; i++)
        if (rbwp_work_item_register(names[i], &slots[i]) != RBWP_OK)
            return 1;
    if (is_mode("child") && !go_on_in_child())
        return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
    if (is_mode("between"))
        calls_with_faults_between();
    else
        run();
    if (is_mode("child"))
        return 0; /* its recording ends with it */
    return rbwp_session_stop(session, NULL) == RBWP_OK ? 0 : 1;
}
