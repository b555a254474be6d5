/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_ptx [LINES]: what reading PTX and putting probes into it costs.
 *
 * A kernel of so many lines (30 000), with a .loc every fourth and a branch every tenth, is read,
 * divided and printed with probes, from the text to the text. Prints milliseconds of CPU for each
 * mode, the median of some rounds, and MB/s of the text that came out.
 */
#include "bench_figure.h"
#include "ptx_probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 9, LINE_BYTES = 64 };
#define TARGET_MS 100.0

static void require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "bench_ptx: %s\n", what);
    exit(1);
}

static double cpu_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t put_line(char *at, unsigned line)
{
    if (line % 10 == 9)
        return (size_t)sprintf(at, "$L__BB0_%u:\n\t@%%p%u bra \t$L__BB0_%u;\n", line, line % 7,
                               line);
    if (line % 4 == 0)
        return (size_t)sprintf(at, "\t.loc\t1 %u %u              // source.py\n", line / 8 + 1,
                               line % 40);
    return (size_t)sprintf(at, "\tmad.lo.s32 \t%%r%u, %%r%u, %%r%u, %u;\n", line % 250, line % 249,
                           line % 251, line);
}

static char *make_text(unsigned lines, size_t *bytes_out)
{
    char *text = malloc((size_t)lines * LINE_BYTES * 2 + 4096);
    require(text, "memory for the text");
    size_t used = (size_t)sprintf(text, ".version 8.7\n.target sm_90a\n.address_size 64\n"
                                        ".visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n"
                                        "\t.reg .pred %%p<8>;\n\t.reg .b32 %%r<256>;\n");
    for (unsigned line = 0; line < lines; line++)
        used += put_line(text + used, line);
    *bytes_out = used + (size_t)sprintf(text + used, "\tret;\n}\n");
    return text;
}

static double one_round(const char *text, size_t bytes, enum ptx_mode mode, size_t *bytes_out)
{
    struct ptx_options options = {
        .mode = mode, .capacity = 256, .ranges = {{0, 127, 1}}, .range_count = 1};
    struct ptx_module module;
    struct ptx_probes probes;
    struct ptx_error error;
    double begin = cpu_ms();
    require(ptx_parse(&module, text, bytes, &error), error.reason);
    require(ptx_probes(&probes, &module, &options, &error), error.reason);
    *bytes_out = probes.bytes;
    ptx_probes_free(&probes);
    ptx_free(&module);
    return cpu_ms() - begin;
}

int main(int argc, char **argv)
{
    unsigned lines = argc > 1 ? (unsigned)atoi(argv[1]) : 30000;
    size_t bytes, made = 0;
    double worst_ms = 0;
    require(lines > 0 && lines <= 10000000, "LINES is 1 to 10000000");
    char *text = make_text(lines, &bytes);
    printf("%u lines, %.1f MB\n", lines, (double)bytes * 1e-6);
    for (int mode = 0; mode < PTX_MODE_COUNT; mode++) {
        double ms[ROUNDS];
        for (int i = 0; i < ROUNDS; i++)
            ms[i] = one_round(text, bytes, (enum ptx_mode)mode, &made);
        qsort(ms, ROUNDS, sizeof ms[0], compare);
        printf("%-8s %8.2f ms %8.1f MB/s, %.1f MB out\n", ptx_mode_name((enum ptx_mode)mode),
               ms[ROUNDS / 2], (double)made * 1e-3 / ms[ROUNDS / 2], (double)made * 1e-6);
        worst_ms = ms[ROUNDS / 2] > worst_ms ? ms[ROUNDS / 2] : worst_ms;
    }
    figure_at_most("probes in PTX of 30 000 lines, the slowest mode", worst_ms * 30000 / lines,
                   "ms", TARGET_MS);
    free(text);
    return 0;
}
