/* SPDX-License-Identifier: Apache-2.0 */
#include "ptx_source.h"
#include "message.h"
#include "temporary_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

char *ptx_read_file(const char *path, size_t bytes_max, size_t *bytes_out)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    char *bytes = fd < 0 ? NULL : read_to_end(fd, bytes_max, bytes_out);
    if (!bytes)
        message_plain("%s: %s", standard ? "standard input" : path, strerror(errno));
    if (fd >= 0 && !standard)
        close(fd);
    return bytes;
}

bool ptx_source_open(struct ptx_source *source, const char *path)
{
    struct ptx_error error;
    source->path = strcmp(path, "-") == 0 ? "standard input" : path;
    source->text = ptx_read_file(path, PTX_BYTES_MAX, &source->bytes);
    if (!source->text)
        return false;
    if (ptx_parse(&source->module, source->text, source->bytes, &error))
        return true;
    ptx_source_error(source, &error);
    free(source->text);
    return false;
}

void ptx_source_close(struct ptx_source *source)
{
    ptx_free(&source->module);
    free(source->text);
}

void ptx_source_error(const struct ptx_source *source, const struct ptx_error *error)
{
    char line[PTX_EXCERPT_BYTES], caret[PTX_EXCERPT_BYTES];
    if (error->line == 0) {
        message_plain("%s: %s", source->path, error->reason);
        return;
    }
    ptx_excerpt(source->text, source->bytes, error, line, caret);
    message_plain("%s:%u:%u: %s", source->path, error->line, error->column, error->reason);
    message_plain("%s", line);
    message_plain("%s", caret);
}
