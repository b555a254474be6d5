/* SPDX-License-Identifier: Apache-2.0 */
#include "node.h"

#include "failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

struct launcher {
    const char *rank, *size, *name;
};

static const struct launcher launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"},
    {"PMIX_RANK", "PMIX_SIZE", "PMIx"},
    {"PMI_RANK", "PMI_SIZE", "PMI"}, /* MPICH, Intel MPI, Cray */
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MVAPICH"},
    {"SLURM_PROCID", "SLURM_NTASKS", "Slurm"},
    {"PALS_RANKID", "PALS_SIZE", "PALS"},
    {"ALPS_APP_PE", "ALPS_APP_SIZE", "ALPS"},
    {"JSM_NAMESPACE_RANK", "JSM_NAMESPACE_SIZE", "jsrun"},
    {"FLUX_TASK_RANK", "FLUX_JOB_SIZE", "Flux"},
    {"RANK", "WORLD_SIZE", "RANK and WORLD_SIZE"}, /* torchrun and others */
};

static bool number_in(const char *variable, uint32_t *number_out)
{
    const char *text = secure_getenv(variable);
    if (!text || *text < '0' || *text > '9')
        return false;
    char *end;
    unsigned long long number = strtoull(text, &end, 10); /* too large: ULLONG_MAX */
    if (*end || number > UINT32_MAX)
        return false;
    *number_out = (uint32_t)number;
    return true;
}

const char *node_from_launcher(uint32_t *rank_out, uint32_t *ranks_out)
{
    *rank_out = 0;
    *ranks_out = 1;
    for (size_t i = 0; i < COUNT_OF(launchers); i++) {
        if (!number_in(launchers[i].rank, rank_out))
            continue;
        if (!number_in(launchers[i].size, ranks_out) || *ranks_out <= *rank_out)
            *ranks_out = *rank_out + 1;
        return launchers[i].name;
    }
    return NULL;
}

static const char *first_of(const char *const *variables, size_t count)
{
    const char *text = NULL;
    for (size_t i = 0; i < count && !(text && *text); i++)
        text = secure_getenv(variables[i]);
    return text && *text ? text : NULL;
}

/* A batch system's first: one job of it may start MPI several times. */
const char *node_job_id(void)
{
    static const char *const variables[] = {"SLURM_JOB_ID",   "PBS_JOBID",
                                            "LSB_JOBID",      "FLUX_JOB_ID",
                                            "PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID"};
    return first_of(variables, COUNT_OF(variables));
}

const char *node_job_step(void)
{
    static const char *const variables[] = {"SLURM_STEP_ID", "PALS_APID"};
    return first_of(variables, COUNT_OF(variables));
}

const char *node_machine_name(void)
{
    static const char *const variables[] = {"SLURMD_NODENAME"};
    return first_of(variables, COUNT_OF(variables));
}

/* ---- file names --------------------------------------------------------------------- */

struct name {
    char *text;
    size_t size, room;
    bool too_long;
};

static void node_append(struct name *name, const char *text)
{
    size_t length = strlen(text);
    if (length >= name->room - name->size) {
        name->too_long = true;
        return;
    }
    memcpy(name->text + name->size, text, length + 1);
    name->size += length;
}

static void append_number(struct name *name, unsigned long number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%lu", number);
    node_append(name, digits);
}

static void append_host(struct name *name)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    node_append(name, host);
}

/* Its slashes would be folders. */
static void append_job(struct name *name, const char *job)
{
    for (job = job && *job ? job : "0"; *job; job++)
        node_append(name, (char[2]){*job == '/' ? '_' : *job, 0});
}

/* %{VAR}: returns the text behind it, or NULL if there is no closing brace or no such variable. */
static const char *append_variable(struct name *name, const char *from)
{
    char variable[128];
    const char *end = strchr(from, '}');
    if (!end || (size_t)(end - from) >= sizeof variable)
        return NULL;
    memcpy(variable, from, (size_t)(end - from));
    variable[end - from] = 0;
    const char *value = secure_getenv(variable);
    if (!value)
        return NULL;
    node_append(name, value);
    return end + 1;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The key after a percent sign; returns the text behind it or NULL for a key there is not. */
static const char *append_key(struct name *name, const char *key, const struct node_keys *keys,
                              bool *is_own_out)
{
    bool one_letter = is_letter(key[0]) && !is_letter(key[1]);
    switch (one_letter || key[0] == '%' || key[0] == '{' ? key[0] : 0) {
    case '%':
        node_append(name, "%");
        return key + 1;
    case '{':
        return append_variable(name, key + 1);
    case 'h':
        append_host(name);
        return key + 1;
    case 'p':
        append_number(name, (unsigned long)getpid());
        *is_own_out = true;
        return key + 1;
    case 'j':
        append_job(name, keys->job);
        return key + 1;
    case 't':
        append_number(name, keys->part);
        return key + 1;
    case 'n':
        append_number(name, keys->node);
        *is_own_out = true;
        return key + 1;
    case 'r':
        append_number(name, keys->rank);
        *is_own_out = true;
        return key + 1;
    case 0: /* a bare percent sign, as Realm has it */
        append_number(name, keys->node);
        *is_own_out = true;
        return key;
    default:
        return NULL;
    }
}

enum rbwp_status node_file_name(const char *pattern, const struct node_keys *keys, char *name_out,
                                size_t name_bytes, bool *is_own_out, struct rbwp_error *error)
{
    struct name name = {name_out, 0, name_bytes, false};
    *is_own_out = false;
    name_out[0] = 0;
    for (const char *next = pattern; *next;) {
        if (*next != '%') {
            char one[2] = {*next++, 0};
            node_append(&name, one);
            continue;
        }
        const char *behind = append_key(&name, next + 1, keys, is_own_out);
        if (!behind)
            return failure(error, RBWP_E_USAGE, 0,
                           "cannot expand \"%s\" in the log file name \"%s\": keys are %%n %%r %%h "
                           "%%p %%j %%t %%{VARIABLE that is set} %%%%",
                           next, pattern);
        next = behind;
    }
    if (name.too_long)
        return failure(error, RBWP_E_USAGE, 0,
                       "the log file name \"%s\" gets longer than %zu bytes", pattern,
                       name_bytes - 1);
    return RBWP_OK;
}

bool node_file_has_process(const char *pattern)
{
    const char *at = strchr(pattern, '%');
    while (at && !(at[1] == 'p' && !is_letter(at[2])))
        at = strchr(at + (at[1] == '%' ? 2 : 1), '%');
    return at != NULL;
}

void node_file_with(const char *pattern, const char *more, char *pattern_out, size_t room)
{
    if (!pattern)
        pattern = NODE_FILE_PATTERN;
    const char *slash = strrchr(pattern, '/');
    const char *dot = strrchr(slash ? slash : pattern, '.');
    size_t stem_bytes = dot ? (size_t)(dot - pattern) : strlen(pattern);
    snprintf(pattern_out, room, "%.*s%s%s", (int)stem_bytes, pattern, more, dot ? dot : "");
}
