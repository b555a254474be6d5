/* SPDX-License-Identifier: Apache-2.0 */
/*
 * perfetto_proto.h - the numbers of the Perfetto messages and fields that are written here.
 */
#ifndef PERFETTO_PROTO_H
#define PERFETTO_PROTO_H

enum pf_trace { PF_TRACE_PACKET = 1 };

enum pf_packet {
    PF_PACKET_CLOCK_SNAPSHOT = 6,
    PF_PACKET_TIMESTAMP = 8,
    PF_PACKET_SEQUENCE = 10,
    PF_PACKET_TRACK_EVENT = 11,
    PF_PACKET_INTERNED_DATA = 12,
    PF_PACKET_SEQUENCE_FLAGS = 13,
    PF_PACKET_PREVIOUS_DROPPED = 42,
    PF_PACKET_COMPRESSED_PACKETS = 50,
    PF_PACKET_TIMESTAMP_CLOCK = 58,
    PF_PACKET_DEFAULTS = 59,
    PF_PACKET_TRACK_DESCRIPTOR = 60,
    PF_PACKET_FIRST_ON_SEQUENCE = 87
};

enum pf_sequence_flag { PF_STATE_CLEARED = 1, PF_NEEDS_STATE = 2 };

enum pf_clock_snapshot { PF_SNAPSHOT_CLOCK = 1, PF_SNAPSHOT_PRIMARY = 2 };
enum pf_clock { PF_CLOCK_ID = 1, PF_CLOCK_TIMESTAMP = 2, PF_CLOCK_INCREMENTAL = 3 };
enum pf_clock_id { PF_REALTIME = 1, PF_BOOTTIME = 6, PF_SEQUENCE_CLOCK = 64 };

enum pf_defaults { PF_DEFAULTS_TRACK_EVENT = 11, PF_DEFAULTS_CLOCK = 58 };
enum pf_event_defaults { PF_EVENT_DEFAULTS_TRACK = 11 };

enum pf_interned { PF_INTERNED_CATEGORY = 1, PF_INTERNED_NAME = 2, PF_INTERNED_ANNOTATION = 3 };
enum pf_entry { PF_ENTRY_IID = 1, PF_ENTRY_NAME = 2 };

enum pf_track {
    PF_TRACK_UUID = 1,
    PF_TRACK_NAME = 2,
    PF_TRACK_PROCESS = 3,
    PF_TRACK_THREAD = 4,
    PF_TRACK_PARENT = 5,
    PF_TRACK_COUNTER = 8,
    PF_TRACK_CHILD_ORDERING = 11,
    PF_TRACK_RANK = 12,
    PF_TRACK_DESCRIPTION = 14,
    PF_TRACK_MERGING = 15
};
enum pf_counter { PF_COUNTER_UNIT_NAME = 6 };
enum pf_child_ordering { PF_ORDER_EXPLICIT = 3 };
enum pf_merging { PF_MERGE_NONE = 2 }; /* of siblings with the same name */
enum pf_process {
    PF_PROCESS_PID = 1,
    PF_PROCESS_COMMAND = 2,
    PF_PROCESS_NAME = 6,
    PF_PROCESS_LABEL = 8
};
enum pf_thread { PF_THREAD_PID = 1, PF_THREAD_TID = 2, PF_THREAD_NAME = 5 };

enum pf_event {
    PF_EVENT_CATEGORY_IID = 3,
    PF_EVENT_ANNOTATION = 4,
    PF_EVENT_LEGACY = 6,
    PF_EVENT_TYPE = 9,
    PF_EVENT_NAME_IID = 10,
    PF_EVENT_TRACK = 11,
    PF_EVENT_CATEGORY = 22,
    PF_EVENT_NAME = 23,
    PF_EVENT_COUNTER = 30,
    PF_EVENT_COUNTER_DOUBLE = 44,
    PF_EVENT_FLOW = 47,
    PF_EVENT_FLOW_END = 48,
    PF_EVENT_CORRELATION = 52
};
enum pf_event_type { PF_SLICE_BEGIN = 1, PF_SLICE_END = 2, PF_INSTANT = 3, PF_COUNTER = 4 };
enum pf_legacy { PF_LEGACY_PHASE = 2, PF_LEGACY_ID = 6, PF_LEGACY_ENCLOSING = 12 };
enum pf_annotation {
    PF_ANNOTATION_NAME_IID = 1,
    PF_ANNOTATION_BOOL = 2,
    PF_ANNOTATION_UINT = 3,
    PF_ANNOTATION_INT = 4,
    PF_ANNOTATION_DOUBLE = 5,
    PF_ANNOTATION_STRING = 6,
    PF_ANNOTATION_JSON = 9,
    PF_ANNOTATION_NAME = 10
};

#endif /* PERFETTO_PROTO_H */
