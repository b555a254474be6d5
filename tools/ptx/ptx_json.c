/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_json.h"
#include "grow.h"
#include "message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool ptx_items_grow(void *items, uint32_t count, uint32_t *room, size_t item_bytes)
{
    return count < PTX_ITEMS_MAX && grow_array32(items, room, count + 1, item_bytes);
}

bool ptx_json_wrong(struct json_scan *scan, const char *what)
{
    if (!*scan->problem)
        snprintf(scan->problem, sizeof scan->problem, "%s", what);
    return false;
}

bool ptx_json_read(const char *path, ptx_json_fn *read, void *context)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        message_plain("%s: %s", path, strerror(errno));
        return false;
    }
    struct json_scan *scan = malloc(sizeof *scan);
    bool good = false;
    if (!scan || !json_scan_start(scan, fd)) {
        message("out of memory");
    } else {
        good = read(scan, context);
        if (!good)
            message_plain("%s: %s", path, *scan->problem ? scan->problem : "it is cut");
        json_scan_stop(scan);
    }
    free(scan);
    close(fd);
    return good;
}

bool ptx_json_number(struct json_scan *scan, int64_t low, int64_t high, int64_t *number_out)
{
    char text[32], *end;
    size_t count = scan->text_bytes;
    if (count == 0 || count >= sizeof text)
        return ptx_json_wrong(scan, "a number is missing");
    memcpy(text, scan->text, count);
    text[count] = '\0';
    errno = 0;
    *number_out = strtoll(text, &end, 10);
    return (errno == 0 && *end == '\0' && *number_out >= low && *number_out <= high) ||
           ptx_json_wrong(scan, "a number is out of range");
}

bool ptx_json_take_number(struct json_scan *scan, int64_t low, int64_t high, int64_t *number_out)
{
    if (json_scan_next(scan) != JSON_NUMBER)
        return ptx_json_wrong(scan, "a number is missing");
    return ptx_json_number(scan, low, high, number_out);
}
