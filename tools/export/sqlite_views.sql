-- SPDX-License-Identifier: Apache-2.0
-- Views of the SQLite export that come after track_busy. gpu_launch looks for the innermost span
-- around the place from which a link leads.
CREATE VIEW thread_busy
    AS SELECT process, track AS thread, spans, first_ns, last_ns, busy_ns, busy_share
    FROM track_busy
    WHERE track_kind = 'thread';
CREATE VIEW gpu_busy
    AS SELECT process, track AS gpu, spans, first_ns, last_ns, busy_ns, busy_share
    FROM track_busy
    WHERE track_kind = 'gpu';
CREATE VIEW longest_calls
    AS SELECT *
    FROM span_view
    WHERE category = 'bgwork'
    ORDER BY duration_ns DESC, id LIMIT 100;
CREATE VIEW arg_view
    AS SELECT arg.span, name.name AS name, arg.type, arg.value
    FROM arg JOIN name ON name.id = arg.name;
CREATE VIEW counter_view
    AS SELECT process.name AS process, above.name AS parent, track.name AS counter, track.unit,
    counter.time_ns,
    counter.time_ns - (SELECT CAST(value AS INTEGER) FROM fact WHERE key = 'origin_ns') AS at_ns,
    counter.value
    FROM counter JOIN track ON track.id = counter.track JOIN process ON process.id = track.process
    LEFT JOIN track AS above ON above.id = track.parent;
CREATE VIEW gpu_launch
    AS WITH launch AS (SELECT link.id, link.from_ns, link.to_span,
    (SELECT span.id FROM span
    WHERE span.track = link.from_track AND span.start_ns <= link.from_ns
    AND span.start_ns + span.duration_ns >= link.from_ns
    ORDER BY span.start_ns DESC, span.depth DESC LIMIT 1) AS from_span
    FROM link WHERE link.kind = 'launch')
    SELECT launch.from_span AS launch, host.track AS thread,
    host.name AS launch_name, launch.to_span AS work, gpu.track AS gpu, gpu.name AS work_name,
    host.start_ns AS launch_ns, gpu.start_ns AS work_ns, gpu.start_ns - host.start_ns AS delay_ns,
    gpu.duration_ns, max(0, min(host.stop_ns, gpu.stop_ns) - max(host.start_ns,
    gpu.start_ns)) AS overlap_ns
    FROM launch JOIN span_view AS gpu ON gpu.id = launch.to_span
    JOIN span_view AS host ON host.id = launch.from_span;
