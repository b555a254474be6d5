-- SPDX-License-Identifier: Apache-2.0
-- The tables of the SQLite export, made before anything is put in. A statement goes on in lines
-- that begin with blanks: the database has it as one line.
CREATE TABLE process(id INTEGER PRIMARY KEY, node INTEGER NOT NULL, os_id INTEGER,
    name TEXT NOT NULL UNIQUE, host TEXT, command TEXT, source TEXT);
CREATE TABLE track(id INTEGER PRIMARY KEY, process INTEGER NOT NULL REFERENCES process,
    kind TEXT NOT NULL, source_id TEXT NOT NULL, os_id INTEGER, name TEXT NOT NULL,
    parent INTEGER REFERENCES track, unit TEXT);
CREATE TABLE category(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE name(id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE span(id INTEGER PRIMARY KEY, track INTEGER NOT NULL REFERENCES track,
    category INTEGER NOT NULL REFERENCES category, name INTEGER NOT NULL REFERENCES name,
    start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL, parent INTEGER REFERENCES span,
    depth INTEGER NOT NULL, lane INTEGER NOT NULL, item INTEGER NOT NULL, finished INTEGER NOT NULL,
    instant INTEGER NOT NULL, open INTEGER NOT NULL, waits INTEGER NOT NULL);
CREATE TABLE link(id INTEGER PRIMARY KEY, from_track INTEGER NOT NULL REFERENCES track,
    from_ns INTEGER NOT NULL, to_track INTEGER NOT NULL REFERENCES track, to_ns INTEGER NOT NULL,
    to_span INTEGER REFERENCES span, kind TEXT NOT NULL, label TEXT,
    from_span INTEGER REFERENCES span);
CREATE TABLE detail(span INTEGER PRIMARY KEY REFERENCES span, own_category TEXT, stream INTEGER,
    correlation INTEGER, launch_ns INTEGER, launch_thread TEXT,
    launch_track INTEGER REFERENCES track, launch_span INTEGER REFERENCES span,
    launch_inferred INTEGER, start_uncertain_ns INTEGER, stop_uncertain_ns INTEGER,
    certain_ns INTEGER);
CREATE TABLE arg(span INTEGER NOT NULL REFERENCES span, name INTEGER NOT NULL REFERENCES name,
    type TEXT NOT NULL, value);
CREATE TABLE counter(track INTEGER NOT NULL REFERENCES track, time_ns INTEGER NOT NULL,
    value NUMERIC NOT NULL);
CREATE TABLE table_column(table_name TEXT NOT NULL, sql_table TEXT NOT NULL,
    column_name TEXT NOT NULL, sql_column TEXT NOT NULL, type TEXT NOT NULL, role TEXT, unit TEXT);
CREATE TABLE loss(process INTEGER NOT NULL REFERENCES process, track INTEGER REFERENCES track,
    cause TEXT NOT NULL, records INTEGER NOT NULL, first_ns INTEGER, last_ns INTEGER, bytes INTEGER,
    calls INTEGER);
CREATE TABLE fact(key TEXT NOT NULL, value TEXT NOT NULL);
