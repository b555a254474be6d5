/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File names from patterns: any pattern gives a terminated name in its room or one line that says
 * why not. The input is words: an environment value, the room (its length), then the pattern.
 */
#include "fuzz.h"
#include "node.h"

#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <unistd.h>

static void expand(const char *pattern, size_t room)
{
    char *name = malloc(room); /* of just that size, so that a step beyond is seen */
    bool is_own = false;
    struct rbwp_error error;
    REQUIRE(name);
    static const struct node_keys keys = {.node = 42, .rank = 42, .job = "a/b"};
    enum rbwp_status status = node_file_name(pattern, &keys, name, room, &is_own, &error);
    if (status == RBWP_OK) {
        REQUIRE(memchr(name, '\0', room));
        if (!strchr(pattern, '%'))
            REQUIRE(strcmp(name, pattern) == 0 && !is_own);
        char process[24];
        snprintf(process, sizeof process, "%ld", (long)getpid());
        if (is_own)
            REQUIRE(strstr(name, "42") || strstr(name, process));
    } else {
        REQUIRE(status == RBWP_E_USAGE && error.text[0] && !strchr(error.text, '\n'));
    }
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct words words = words_split(data, size);
    if (words.count == 3) {
        uint32_t node, nodes;
        set_environment(4, (const char *const[][2]){{"V", words.word[0]},
                                                    {"PMI_RANK", words.word[0]},
                                                    {"PMI_SIZE", words.word[1]},
                                                    {"SLURM_JOB_ID", words.word[0]}});
        node_from_launcher(&node, &nodes);
        REQUIRE(nodes == 0 || node < nodes || node == UINT32_MAX);
        expand(words.word[2], strlen(words.word[1]) + 1);
        expand(words.word[2], 4096);
    }
    words_free(&words);
    return 0;
}
