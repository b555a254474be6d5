-- SPDX-License-Identifier: Apache-2.0
-- Views of the SQLite export that track_busy (export_sqlite.c) comes after.
CREATE VIEW span_view
    AS SELECT span.id, process.name AS process, track.name AS track, track.kind AS track_kind,
    category.name AS category, name.name AS name, span.item, span.start_ns,
    span.start_ns + span.duration_ns AS stop_ns,
    span.start_ns - (SELECT CAST(value AS INTEGER) FROM fact WHERE key = 'origin_ns') AS at_ns,
    span.duration_ns, span.depth, span.lane, span.parent,
    span.finished, span.instant, span.open, span.waits
    FROM span JOIN track ON track.id = span.track JOIN process ON process.id = track.process
    JOIN category ON category.id = span.category JOIN name ON name.id = span.name;
CREATE VIEW summary
    AS SELECT category.name AS category, span.item, name.name AS name, count(*) AS calls,
    sum(span.duration_ns) AS total_ns, avg(span.duration_ns) AS mean_ns,
    min(span.duration_ns) AS min_ns, max(span.duration_ns) AS max_ns,
    count(DISTINCT span.track) AS tracks, sum(span.finished = 0) AS unfinished
    FROM span JOIN category ON category.id = span.category JOIN name ON name.id = span.name
    GROUP BY span.category, span.item, span.name;
CREATE VIEW slot_summary
    AS SELECT item AS slot, name, calls, total_ns, mean_ns, min_ns, max_ns, tracks, unfinished
    FROM summary
    WHERE category = 'bgwork';
