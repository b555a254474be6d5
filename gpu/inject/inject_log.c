/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_log.h"

#include "record_extend.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *inject_without_cupti = "kernels are not recorded";

static void say_say(const char *before, const char *format, va_list list)
{
    char line[512];
    size_t used = (size_t)snprintf(line, sizeof line / 2, "rbwp: %s", before);
    vsnprintf(line + used, sizeof line - used - 1, format, list);
    for (char *at = line; *at; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            *at = '?';
    used = strlen(line);
    line[used] = '\n';
    if (write(STDERR_FILENO, line, used + 1) < 0)
        return; /* nobody would read it */
}

static bool is_first(void)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    return !atomic_flag_test_and_set(&said);
}

bool inject_log_once(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    if (is_first())
        say_say("", format, list);
    va_end(list);
    return false;
}

/* Whatever was said before: of what was lost, when all is over. */
__attribute__((format(printf, 1, 2))) static void inject_log_also(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    say_say("", format, list);
    va_end(list);
}

void inject_log_no_cupti(const char *format, ...)
{
    char before[128];
    va_list list;
    snprintf(before, sizeof before, "%s: ", inject_without_cupti);
    va_start(list, format);
    if (is_first())
        say_say(before, format, list);
    va_end(list);
}

/* ---- what was lost --------------------------------------------------------------------------- */

static _Atomic uint64_t lost[LOST_REASONS];

void inject_lost(enum inject_lost why, uint64_t count)
{
    if (!count)
        return;
    atomic_fetch_add_explicit(&lost[why], count, memory_order_relaxed);
    rbwp_extend_loss(RBWP_LOSS_ROWS, count);
}

void inject_lost_tell(void)
{
    static const char *const why[LOST_REASONS] = {
        [LOST_NO_ROOM] = "had no room",
        [LOST_REFUSED] = "got no events from the driver",
        [LOST_NO_TIME] = "have no times of the driver",
        [LOST_FAILED] = "were on a GPU that failed",
        [LOST_CONTEXT] = "had not ended when their context was destroyed",
        [LOST_NOT_ENDED] = "had not ended when the process did",
        [LOST_DRIVER_GONE] = "could not be asked for, as the driver had ended before",
    };
    char text[400] = "";
    size_t used = 0;
    uint64_t all = 0;
    for (int i = 0; i < LOST_REASONS; i++) {
        uint64_t count = atomic_exchange(&lost[i], 0);
        if (count && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%" PRIu64 " %s",
                                     all ? ", " : "", count, why[i]);
        all += count;
    }
    if (all)
        inject_log_also("%" PRIu64 " kernels, copies and sets are not in the file: %s", all, text);
}

void inject_lost_forget(void)
{
    for (int i = 0; i < LOST_REASONS; i++)
        atomic_store(&lost[i], 0);
}
