/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as text: what goes to a terminal is UTF-8 without control characters, and JSON strings
 * are valid, whatever the name.
 */
#include "fuzz.h"
#include "json_check.h"
#include "json_text.h"
#include "utf8.h"
#include "terminal_text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void check_visible(const char *text, size_t count, size_t room)
{
    char *out = malloc(room ? room : 1);
    REQUIRE(out);
    size_t used = terminal_text(text, count, out, room);
    REQUIRE(used <= room && text_is_visible(out, used));
    free(out);
}

static void check_json(const char *text, size_t count)
{
    static char buffer[OUT_BUFFER_BYTES];
    int file = memory_file("", 0);
    struct out out = {.fd = file, .name = "memory", .buffer = buffer};
    out_text(&out, "{");
    json_name(&out, "name", text, count);
    out_text(&out, ",\"again\":");
    json_string(&out, text, count);
    out_text(&out, "}");
    out_flush(&out);
    REQUIRE(json_file_is_valid(file));
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)guarded_copy(data, size);
    if (!text)
        return 0;
    check_visible(text, size, size * TERMINAL_TEXT_BYTES_MAX);
    check_visible(text, size, size / 2);
    if (size < 65536)
        check_json(text, size);
    return 0;
}
