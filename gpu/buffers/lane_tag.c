/* SPDX-License-Identifier: Apache-2.0 */
/* Tags: the low word of a record, in each of its dialects. */
#include "rbwp_lanes.h"

const char *rbwp_lanes_dialect_name(unsigned dialect)
{
    static const char *const names[] = {"auto", "v1", "flashinfer", "mirage", "v2"};
    return dialect < sizeof names / sizeof names[0] ? names[dialect] : "unknown";
}

uint32_t rbwp_lanes_tag_make(unsigned dialect, const struct rbwp_lanes_tag *tag)
{
    uint32_t type = tag->type & 3;
    switch (dialect) {
    case RBWP_LANES_FLASHINFER:
        return (tag->sm & 0xff) << 24 | (tag->lane & 0xfff) << 12 | (tag->event & 0x3ff) << 2 |
               type;
    case RBWP_LANES_MIRAGE:
        return (tag->task & 0x1fff) << 19 | (tag->lane & 0xff) << 11 | (tag->event & 0x1ff) << 2 |
               type;
    default:
        return tag->lane << 12 | (tag->event & 0x3ff) << 2 | type;
    }
}

void rbwp_lanes_tag_parts(unsigned dialect, uint32_t tag, struct rbwp_lanes_tag *parts_out)
{
    struct rbwp_lanes_tag parts = {.type = tag & 3};
    switch (dialect) {
    case RBWP_LANES_FLASHINFER:
        parts.event = tag >> 2 & 0x3ff;
        parts.lane = tag >> 12 & 0xfff;
        parts.sm = tag >> 24;
        break;
    case RBWP_LANES_MIRAGE:
        parts.event = tag >> 2 & 0x1ff;
        parts.lane = tag >> 11 & 0xff;
        parts.task = tag >> 19;
        break;
    default:
        parts.event = tag >> 2 & 0x3ff;
        parts.lane = tag >> 12;
    }
    *parts_out = parts;
}
