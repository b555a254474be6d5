/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cell_text.h - names as cells of tables in text: CSV and TSV.
 *
 * A cell is safe on a terminal and in a spreadsheet: characters that are
 * obeyed instead of shown, and bytes that are not UTF-8, become \xNN, a
 * backslash \\ (terminal_text.h), and what a spreadsheet would take for a formula,
 * since it begins with = + - @ or their wide forms, gets an apostrophe before
 * it, as does what begins with one. One to one: who takes one apostrophe off
 * and undoes \xNN and \\ has the name's bytes back. A cell is one line.
 *
 * Raw cells have the bytes as they are: CSV with quotes where it must, TSV,
 * which has none, with \t, \n, \r and \\ for tab, line feed, return and
 * backslash.
 */
#ifndef CELL_TEXT_H
#define CELL_TEXT_H

#include "out.h"
#include "trace_text.h"

void cell_csv(struct out *out, struct trace_text text, bool raw);
void cell_tsv(struct out *out, struct trace_text text, bool raw);

#endif /* CELL_TEXT_H */
