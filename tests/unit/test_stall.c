/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read of a thread that stands still: texts of the kernel's, when it is due, which words of
 * its stack are kept, who holds what it waits for, what a file's build id is.
 */
#include "stall_proc.h"
#include "rbwp_rows.h"
#include "stall_stack.h"
#include "tables.h"
#include "unit.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- texts ----------------------------------------------------------------------------------- */

static void state_is_parsed(void **unused)
{
    (void)unused;
    const struct thread_state runs = proc_parse_state("running\n");
    assert_true(runs.is_known && runs.runs);
    assert_int_equal(runs.system_call, -1);

    const struct thread_state waits =
        proc_parse_state("202 0x7f00 0x80 0x2 0x0 0x0 0xffffffffffffffff 0x7ffe10 0x7f0155\n");
    assert_true(waits.is_known && !waits.runs);
    assert_int_equal(waits.system_call, 202);
    assert_int_equal(waits.arguments[0], 0x7f00);
    assert_int_equal(waits.arguments[5], UINT64_MAX);
    assert_int_equal(waits.stack, 0x7ffe10);
    assert_int_equal(waits.code, 0x7f0155);

    const struct thread_state faults = proc_parse_state("-1 0x7ffe10 0x7f0155\n");
    assert_true(faults.is_known && !faults.runs);
    assert_int_equal(faults.system_call, -1);
    assert_int_equal(faults.stack, 0x7ffe10);

    static const char *const others[] = {
        "",
        "\n",
        "-2 0x1 0x2\n",
        "-1 0x1\n",
        "-1 0x1 0x2",
        "-1 0x1 0xg\n",
        "-1 0x1 0x2 0x3\n",
        "0 0x1 0x2 0x3 0x4 0x5 0x6 0x7\n",
        "99999999999999999999999 0x1 0x2 0x3 0x4 0x5 0x6 0x7 0x8\n",
        "202 0x7f00 0x80"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(proc_parse_state(others[i]).is_known);
}

static void status_is_parsed(void **unused)
{
    uint64_t waits;
    bool is_held;
    (void)unused;
    static const char text[] = "Name:\tx\nSigBlk:\t0000000000400000\nSigIgn:\t0000000000000000\n"
                               "voluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t4\n";
    assert_true(proc_parse_status(text, SIGURG, &waits, &is_held));
    assert_int_equal(waits, 17);
    assert_true(is_held); /* 23 */
    assert_true(proc_parse_status(text, SIGUSR1, &waits, &is_held));
    assert_false(is_held);
    assert_false(proc_parse_status("Name:\tx\nSigBlk:\t00\n", SIGURG, &waits, &is_held));
    assert_false(proc_parse_status("", SIGURG, &waits, &is_held));
}

static bool parse_map(const char *line, struct proc_map *map)
{
    return proc_parse_map(line, strlen(line), map);
}

static void mapping_is_parsed(void **unused)
{
    struct proc_map map;
    (void)unused;
    assert_true(parse_map("7f00-7f10 r-xp 00026000 fe:01 131                /lib/a b.so", &map));
    assert_int_equal(map.start, 0x7f00);
    assert_int_equal(map.end, 0x7f10);
    assert_int_equal(map.offset, 0x26000);
    assert_int_equal(map.device, UINT64_C(0xfe) << 32 | 1);
    assert_int_equal(map.inode, 131);
    assert_true(map.is_code);
    assert_int_equal(map.path_bytes, strlen("/lib/a b.so"));
    assert_memory_equal(map.path, "/lib/a b.so", map.path_bytes);
    assert_true(parse_map("7f00-7f10 rw-p 00000000 00:00 0 ", &map));
    assert_false(map.is_code);
    assert_int_equal(map.path_bytes, 0);
    static const char *const others[] = {"",
                                         "7f00",
                                         "7f00-7f10",
                                         "7f00-7f10 r-xp",
                                         "x-y r-xp 0 0:0 0",
                                         "7f10-7f00 r-xp 00000000 00:00 0",
                                         "7f00-7f10 r-xp 00000000 00-00 0"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(parse_map(others[i], &map));
}

/* ---- when ------------------------------------------------------------------------------------ */

static struct open_seen seen;
static uint64_t missed;

static bool is_due(uint64_t since, uint64_t now)
{
    return open_seen_is_due(&seen, since, now, 100, true, &missed);
}

/* At the limit, and each time that the age has doubled; never in the look that finds it first. */
static void due_at_the_limit_and_doubled(void **unused)
{
    (void)unused;
    seen = (struct open_seen){0};
    assert_false(is_due(1000, 1150)); /* it may be of two moments */
    assert_true(is_due(1000, 1150));
    assert_false(is_due(1000, 1199));
    assert_true(is_due(1000, 1200));
    assert_false(is_due(1000, 1399));
    assert_true(is_due(1000, 1900)); /* of several doublings one */
    assert_false(is_due(1000, 2599));
    assert_true(is_due(1000, 2600));
    assert_false(is_due(2000, 2600)); /* another one */
    assert_false(is_due(2000, 2099));
    assert_true(is_due(2000, 2100));
    assert_false(is_due(0, 9999)); /* nothing */
    assert_false(is_due(0, 9999));
    assert_false(is_due(5000, 4000)); /* begins later than now, by another clock */
    assert_false(is_due(5000, 4000));
    assert_true(is_due(5000, 5000 + (UINT64_MAX >> 2)));
}

/* Where others came first it is due again at once; what ended before its turn is counted. */
static void without_room_it_stays_due(void **unused)
{
    (void)unused;
    seen = (struct open_seen){0};
    missed = 0;
    assert_false(is_due(1000, 1200));
    assert_false(open_seen_is_due(&seen, 1000, 1200, 100, false, &missed));
    assert_true(is_due(1000, 1201));
    assert_false(open_seen_is_due(&seen, 1000, 1500, 100, false, &missed));
    assert_int_equal(missed, 0);
    assert_false(is_due(1400, 1500));
    assert_int_equal(missed, 1);
}

/* ---- words ----------------------------------------------------------------------------------- */

static struct stack_copy copy;

static void words_of_stack_and_code_are_kept(void **unused)
{
    (void)unused;
    const uintptr_t here =
        (uintptr_t)__builtin_frame_address(0); /* a variable may be elsewhere under ASan */
    struct code_stack where = {.address = here};
    assert_true(code_load(&where, 1));
    assert_true(where.start <= here && here < where.end);
    copy.stack = here & ~UINT64_C(7);
    copy.where = where;
    assert_true(stack_keeps(&copy, copy.stack));
    assert_true(stack_keeps(&copy, where.end - 1));
    assert_false(stack_keeps(&copy, copy.stack - 1));
    assert_false(stack_keeps(&copy, where.end));
    assert_true(stack_keeps(&copy, (uintptr_t)stack_keeps));
    assert_false(stack_keeps(&copy, (uintptr_t)&copy));
    assert_false(stack_keeps(&copy, 0));
    assert_false(stack_keeps(&copy, UINT64_MAX));
    struct code_stack main_stack = {0};
    assert_true(code_load(&main_stack, 1));
    assert_int_equal(main_stack.end, where.end); /* this is the main thread */

    stack_read(&copy);
    const uint64_t left = (where.end - copy.stack) / 8;
    assert_int_equal(copy.count, left < STACK_WORDS_MAX ? left : STACK_WORDS_MAX);
    copy.stack |= 4;
    stack_read(&copy);
    assert_int_equal(copy.count, 0);
}

/* Up to the page that cannot be read. */
static void memory_is_read_as_far_as_it_goes(void **unused)
{
    static char into[4 * 4096];
    (void)unused;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(pages, 7, 3 * page);
    munmap(pages + 2 * page, page);
    if (page == 4096) {
        assert_int_equal(proc_read_memory(into, (uintptr_t)pages + 1, 3 * page), 2 * page - 1);
        assert_int_equal(into[2 * page - 2], 7);
    }
    munmap(pages, 2 * page);
    assert_int_equal(proc_read_memory(into, (uintptr_t)pages, 8), 0);
    assert_int_equal(proc_read_memory(into, 0, 8), 0);
}

/* ---- build ids ------------------------------------------------------------------------------- */

/* A file as it is mapped: its header, one segment that is loaded, one of notes. */
static struct {
    ElfW(Ehdr) elf;
    ElfW(Phdr) headers[2];
    struct {
        ElfW(Nhdr) head;
        char name[4];
        unsigned char id[8];
    } note;
    char rest[512];
} file;

static void make_file(void)
{
    const uint64_t base = 0x400000;
    memset(&file, 0, sizeof file);
    memcpy(file.elf.e_ident, ELFMAG, SELFMAG);
    file.elf.e_phoff = (uintptr_t)file.headers - (uintptr_t)&file;
    file.elf.e_phentsize = sizeof file.headers[0];
    file.elf.e_phnum = 2;
    file.headers[0].p_type = PT_LOAD;
    file.headers[0].p_vaddr = base;
    file.headers[1].p_type = PT_NOTE;
    file.headers[1].p_vaddr = base + (uintptr_t)&file.note - (uintptr_t)&file;
    file.headers[1].p_filesz = sizeof file.note;
    file.note.head.n_namesz = 4;
    file.note.head.n_descsz = sizeof file.note.id;
    file.note.head.n_type = NT_GNU_BUILD_ID;
    memcpy(file.note.name, "GNU", 4);
    memcpy(file.note.id, "\x01\x23\x45\x67\x89\xab\xcd\xef", sizeof file.note.id);
}

static unsigned build_id(char *digits)
{
    return code_build_id((uintptr_t)&file, digits);
}

/* A hash table, symbols and texts anywhere in the file, or nowhere. */
static void make_dynamic(ElfW(Dyn) * entries, uint32_t random)
{
    const ElfW(Sxword) tags[] = {DT_GNU_HASH, DT_SYMTAB, DT_STRTAB};
    for (unsigned i = 0; i < 3; i++) {
        entries[i].d_tag = tags[i];
        entries[i].d_un.d_ptr = (uintptr_t)&file + (random >> 4 * i) % (2 * sizeof file);
    }
}

/* Of what is no ELF file, or says of itself what is not so, there is none. */
static void build_id_is_all_there_or_none(void **unused)
{
    char digits[CODE_BUILD_ID_MAX];
    (void)unused;
    make_file();
    assert_int_equal(build_id(digits), 16);
    assert_memory_equal(digits, "0123456789abcdef", 16);
    file.headers[1].p_filesz = sizeof file.note - 1;
    assert_int_equal(build_id(digits), 0);
    make_file();
    file.note.head.n_descsz = CODE_BUILD_ID_MAX / 2 + 1;
    file.headers[1].p_filesz = sizeof file.note + sizeof file.rest;
    assert_int_equal(build_id(digits), 0);
    make_file();
    file.note.head.n_namesz = UINT32_MAX;
    assert_int_equal(build_id(digits), 0);
    make_file();
    file.elf.e_phnum = UINT16_MAX;
    assert_int_equal(build_id(digits), 0);
    make_file();
    file.elf.e_phoff = UINT64_MAX - 8;
    assert_int_equal(build_id(digits), 0);
    make_file();
    file.headers[0].p_type = PT_NULL;
    assert_int_equal(build_id(digits), 0);
    make_file();
    file.elf.e_ident[0] = 0;
    assert_int_equal(build_id(digits), 0);
    assert_int_equal(code_build_id(0, digits), 0);
}

/* Whatever stands there. */
static void hostile_files_are_read_safely(void **unused)
{
    char digits[CODE_BUILD_ID_MAX];
    (void)unused;
    for (uint32_t seed = 1; seed < 20000; seed++) {
        uint32_t random = seed * 2654435761u;
        struct code_symbols symbols;
        make_file();
        file.headers[1].p_filesz = sizeof file.note + sizeof file.rest;
        for (unsigned i = 0; i < 6; i++) {
            random = random * 1664525u + 1013904223u;
            ((unsigned char *)&file.elf.e_phoff)[(random >> 8) % (sizeof file - 32)] =
                (unsigned char)(random >> 24);
        }
        assert_true(build_id(digits) <= CODE_BUILD_ID_MAX);
        file.headers[1].p_type = PT_DYNAMIC;
        file.headers[1].p_memsz = file.headers[1].p_filesz;
        make_dynamic((ElfW(Dyn) *)(void *)file.rest, random);
        file.headers[1].p_vaddr += (uintptr_t)file.rest - (uintptr_t)&file.note;
        if (code_symbols((uintptr_t)&file, &symbols))
            (void)code_symbol(&symbols, "getpid");
    }
}

/* As the loader finds it; what is not there has no address. */
static void symbol_is_found(void **unused)
{
    struct code_symbols symbols;
    Dl_info loaded;
    (void)unused;
    assert_true(dladdr((void *)(uintptr_t)getpid, &loaded)); /* NOLINT */
    assert_true(code_symbols((uintptr_t)loaded.dli_fbase, &symbols));
    assert_int_equal(code_symbol(&symbols, "getpid"), (uintptr_t)getpid);
    assert_int_equal(code_symbol(&symbols, "getpie"), 0);
    assert_int_equal(code_symbol(&symbols, ""), 0);
    make_file();
    assert_false(code_symbols((uintptr_t)&file, &symbols));
    assert_false(code_symbols(8, &symbols));
}

/* ---- names ----------------------------------------------------------------------------------- */

/* One that is added without memory is a name like any other; where no room was made it is none. */
static void name_is_added_without_memory(void **unused)
{
    static char names[4097][8];
    unsigned added = 0;
    uint64_t number, same;
    (void)unused;
    assert_true(tables_make_name_room(200));
    for (;; added++) {
        snprintf(names[added], sizeof names[added], "%u", added);
        char *text = names[added];
        if (tables_name_that_stays(&text, strlen(text), &number) != RBWP_OK)
            break;
        assert_null(text);
        assert_int_equal(rbwp_name_intern(names[added], strlen(names[added]), &same), RBWP_OK);
        assert_int_equal(number, same);
    }
    assert_true(added >= 200 && added < 4096);
    char *known = names[0];
    assert_int_equal(tables_name_that_stays(&known, 1, &number), RBWP_OK);
    assert_ptr_equal(known, names[0]); /* it was there, and is not needed */
    assert_true(tables_make_name_room(1));
    char *text = names[added];
    assert_int_equal(tables_name_that_stays(&text, strlen(text), &number), RBWP_OK);
}

/* ---- holders --------------------------------------------------------------------------------- */

#if defined(__GLIBC__)
static struct thread_state waits_for(uint64_t futex, int operation, uint64_t value)
{
    return (struct thread_state){.is_known = true,
                                 .system_call = SYS_futex,
                                 .arguments = {futex, (uint64_t)operation, value}};
}

static void holder_is_a_thread_of_this_process(void **unused)
{
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
    const uint64_t at = (uintptr_t)&mutex, own = (uint64_t)getpid();
    uint64_t holder = 1;
    (void)unused;
    assert_int_equal(holder_of(RBWP_EXTEND_MUTEX, at), 0);
    pthread_mutex_lock(&mutex);
    assert_int_equal(holder_of(RBWP_EXTEND_MUTEX, at), own);
    assert_int_equal(holder_of(RBWP_EXTEND_NO_LOCK, at), 0);
    struct thread_state state = waits_for(at, FUTEX_WAIT_PRIVATE, 2);
    assert_int_equal(holder_futex(&state, &holder), at);
    assert_int_equal(holder, 0); /* nobody waits for it */
    mutex.__data.__lock = 2;
    assert_int_equal(holder_futex(&state, &holder), at);
    assert_int_equal(holder, own);
    state = waits_for(at, FUTEX_WAIT_PRIVATE, 0);
    assert_int_equal(holder_futex(&state, &holder), at);
    assert_int_equal(holder, 0);
    state = waits_for(at, FUTEX_WAKE_PRIVATE, 2);
    assert_int_equal(holder_futex(&state, &holder), 0);
    state = waits_for(1, FUTEX_WAIT_PRIVATE, 2);
    assert_int_equal(holder_futex(&state, &holder), 1);
    assert_int_equal(holder, 0);
    mutex.__data.__owner = 1; /* init, or nobody */
    assert_int_equal(holder_of(RBWP_EXTEND_MUTEX, at), own == 1 ? 1 : 0);
    mutex.__data.__owner = -5;
    assert_int_equal(holder_of(RBWP_EXTEND_MUTEX, at), 0);
    pthread_rwlock_wrlock(&rwlock);
    assert_int_equal(holder_of(RBWP_EXTEND_RWLOCK, (uintptr_t)&rwlock), own);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_rdlock(&rwlock);
    assert_int_equal(holder_of(RBWP_EXTEND_RWLOCK, (uintptr_t)&rwlock), 0);
    pthread_rwlock_unlock(&rwlock);
    assert_int_equal(holder_of(RBWP_EXTEND_MUTEX, 8), 0); /* nothing is there */
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(state_is_parsed),
        cmocka_unit_test(status_is_parsed),
        cmocka_unit_test(mapping_is_parsed),
        cmocka_unit_test(due_at_the_limit_and_doubled),
        cmocka_unit_test(without_room_it_stays_due),
        cmocka_unit_test(words_of_stack_and_code_are_kept),
        cmocka_unit_test(memory_is_read_as_far_as_it_goes),
        cmocka_unit_test(build_id_is_all_there_or_none),
        cmocka_unit_test(hostile_files_are_read_safely),
        cmocka_unit_test(symbol_is_found),
        cmocka_unit_test(name_is_added_without_memory),
#if defined(__GLIBC__)
        cmocka_unit_test(holder_is_a_thread_of_this_process),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
