/* SPDX-License-Identifier: Apache-2.0 */
#include "inject_nvtx_text.h"
#include "inject_names.h"
#include "inject_session.h"

#include <ctype.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct nvtx_domain {
    struct nvtx_domain *next;
    size_t bytes; /* with the terminator */
    char name[];
};

/* The program has handles of them, which it never gives back. */
static _Atomic(struct nvtx_named *) registered;
static _Atomic(struct nvtx_domain *) nvtx_text_domains;

/* Takes ", WORD = NUMBER" off the end of a text. */
static bool nvtx_text_take_number(char *text, const char *word, uint64_t *number_out)
{
    char *at = text + strlen(text), *digits, *end;
    while (at > text && isdigit((unsigned char)at[-1]))
        at--;
    digits = at;
    size_t bytes = strlen(word);
    if (!*digits || (size_t)(at - text) < bytes || memcmp(at - bytes, word, bytes) != 0)
        return false;
    *number_out = strtoull(digits, &end, 10);
    *(at - bytes) = '\0';
    return true;
}

struct nvtx_named nvtx_name(const struct nvtx_domain *domain, const char *text)
{
    struct nvtx_named named = {0};
    char shown[NVTX_TEXT_BYTES];
    const char *window = inject_window_range();
    snprintf(shown, sizeof shown, "%s%s%s", domain ? domain->name : "", domain ? ":" : "", text);
    named.has_id = nvtx_text_take_number(shown, ", op_id = ", &named.id);
    named.has_sequence = nvtx_text_take_number(shown, ", seq = ", &named.sequence);
    named.number = inject_name(shown);
    named.window = window && strcmp(window, shown) == 0;
    return named;
}

struct nvtx_named *nvtx_register(const struct nvtx_domain *domain, const char *text)
{
    struct nvtx_named *named = malloc(sizeof *named);
    if (!named)
        return NULL;
    *named = nvtx_name(domain, text);
    named->next = atomic_load(&registered);
    while (!atomic_compare_exchange_weak(&registered, &named->next, named))
        ;
    return named;
}

struct nvtx_domain *nvtx_domain_create(const char *name)
{
    size_t bytes = strlen(name) + 1;
    struct nvtx_domain *domain = malloc(sizeof *domain + bytes);
    if (!domain)
        return NULL;
    domain->bytes = bytes;
    memcpy(domain->name, name, bytes);
    domain->next = atomic_load(&nvtx_text_domains);
    while (!atomic_compare_exchange_weak(&nvtx_text_domains, &domain->next, domain))
        ;
    return domain;
}

/* The bytes of one character. */
static int nvtx_text_put(uint32_t letter, char to[4])
{
    if (letter < 0x80) {
        to[0] = (char)letter;
        return 1;
    }
    int more = letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
    static const unsigned first[] = {0, 0xC0, 0xE0, 0xF0};
    to[0] = (char)(first[more] | letter >> (6 * more));
    for (int i = 1; i <= more; i++)
        to[i] = (char)(0x80 | (letter >> (6 * (more - i)) & 0x3F));
    return more + 1;
}

const char *nvtx_narrow(const wchar_t *wide, char room[NVTX_TEXT_BYTES])
{
    size_t used = 0;
    for (; *wide && used + 5 < NVTX_TEXT_BYTES; wide++) {
        uint32_t letter = (uint32_t)*wide;
        bool none = letter > 0x10FFFF || (letter >= 0xD800 && letter < 0xE000);
        used += (size_t)nvtx_text_put(none ? 0xFFFD : letter, room + used);
    }
    room[used] = '\0';
    return room;
}
