# SPDX-License-Identifier: Apache-2.0
"""Trailer, footer, every section, and what the trailer says about the blocks (section 10)."""

import struct
import unittest

import rbwp_reader
from make_rbwp import (PAIR, T0, block, begin, finalised, footer, header, index_entry, opaque, section, sub_item,
                       table_section, tabl, ts8, with_trailer, work_item)

BLOCKS = [block(PAIR), opaque(b"note"), block([begin(ts8(T0 - 1))], base=T0 - 1, thread=9)]
FILE = finalised(BLOCKS, [work_item(1, b"one")], [sub_item(2, 1, b"two")])
TABLES_AT = 36 + sum(map(len, BLOCKS))
FIRST, SECOND = len(BLOCKS[0]), len(BLOCKS[1]) + len(BLOCKS[2])
ENTRY_1 = index_entry(FILE, 36, FIRST, 2, T0, T0 + 5, 7, 1)
ENTRY_2 = index_entry(FILE, 36 + FIRST, SECOND, 1, T0 - 1, T0 - 1, 9, 2)


def rules(result):
    return [problem["rule"] for problem in result["problems"]]


class Crc(unittest.TestCase):
    def test_check_value(self):
        self.assertEqual(rbwp_reader.crc32c(b"123456789"), 0xE3069283)
        self.assertEqual(rbwp_reader.crc32c(b""), 0)


class Sections(unittest.TestCase):
    def values(self, *sections):
        result = rbwp_reader.parse(with_trailer(FILE, *sections))
        self.assertEqual(rules(result), [])
        return result

    def test_missing_and_empty(self):
        result = self.values()
        self.assertEqual(result["trailer"], {"offset": len(FILE), "size": 0})
        self.assertEqual((result["session"], result["host"], result["threads"]), (None, "", []))

    def test_session(self):
        info = struct.pack("<QIIqqQQQ", 1, 2, 3, -4, 5, 6, 7, (1 << 64) - 1)
        result = self.values(section(b"WRIT", b"librbwp 0.1.0"), section(b"INFO", info + b"later"),
                             section(b"CMDL", b"a\0b"), section(b"HOST", b"h\xff"))
        self.assertEqual(result["session"], {
            "process_id": 1, "nodes": 2, "level": 3, "start": -4, "stop": 5, "cap_bytes": 6,
            "peak_bytes": 7, "discarded": (1 << 64) - 1})
        self.assertEqual([result[key] for key in ("writer", "command", "host")],
                         ["librbwp 0.1.0", ["a", "b"], "h\udcff"])

    def test_empty_command_line(self):
        self.assertEqual(self.values(section(b"CMDL"))["command"], [])
        self.assertEqual(self.values(section(b"CMDL", b"\0"))["command"], ["", ""])

    def test_threads_with_wider_entries(self):
        """Entry sizes are as stored, names follow all entries, two entries of one thread add up (R60)."""
        entries = [struct.pack("<QQqqQH6xI", thread, os_id, T0, stop, records, name_bytes, 0xFFFFFFFF)
                   for thread, os_id, stop, records, name_bytes in
                   ((7, 11, 0, 1, 3), (9, 12, T0 + 1, 1, 0), (7, 13, 0, 1, 2))]
        threads = self.values(table_section(b"THRD", entries, 52, b"abcde"))["threads"]
        self.assertEqual([entry["name"] for entry in threads], ["abc", "", "de"])
        self.assertEqual(threads[1], {"thread_id": 9, "os_id": 12, "attached": T0, "detached": T0 + 1,
                                      "record_count": 1, "name": ""})

    def test_losses_clock_samples_slots(self):
        result = self.values(
            table_section(b"LOSS", [struct.pack("<QQqqI4x", 7, 8, -9, 10, 99)], 40),
            section(b"CLCK", struct.pack("<I4xQQ", 1, 2_000_000_000, 35)),
            table_section(b"SAMP", [struct.pack("<Qqqq", 1, -2, -3, -4)], 32),
            table_section(b"SLOT", [struct.pack("<qqHH4x", -1, 0, 255, 1)], 24, b"s"))
        self.assertEqual(result["losses"], [{"thread_id": 7, "count": 8, "first": -9, "last": 10, "cause": 99}])
        self.assertEqual(result["clock"], {"kind": 1, "flags": 0, "hz": 2_000_000_000, "error_ns": 35})
        self.assertEqual(result["samples"], [{"ticks": 1, "ts": -2, "monotonic": -3, "realtime": -4}])
        self.assertEqual(result["slot_uses"], [{"from": -1, "to": 0, "slot": 255, "name": "s"}])

    def test_gpus(self):
        """Wider entries of a later version, and two names."""
        entries = [struct.pack("<QIIqqH6xQ", proc_id, 2, 101, 4500, -1, name_bytes, 9)
                   for proc_id, name_bytes in (((1 << 64) - 1, 2), (7, 1))]
        gpus = self.values(table_section(b"GPUD", entries, 48, b"abc"))["gpus"]
        self.assertEqual([(gpu["proc_id"], gpu["name"]) for gpu in gpus], [((1 << 64) - 1, "ab"), (7, "c")])
        self.assertEqual(gpus[1], {"proc_id": 7, "api": 2, "bias_rounds": 101, "bias": 4500, "bias_spread": -1,
                                   "idle_rounds": 0, "idle_bias": 0, "idle_spread": 0,
                                   "name": "c"})

    def test_left_out(self):
        """Kinds of a later version are kept."""
        left = self.values(table_section(b"LEFT", [struct.pack("<I4xQQ", kind, 5, 1 << 63) for kind in (1, 99)], 24))
        self.assertEqual(left["left_out"], [{"kind": kind, "entries": 5, "records": 1 << 63} for kind in (1, 99)])

    def test_process(self):
        entry = struct.pack("<16sqH6xI", bytes(range(16)), -5, 3, 9)
        processes = self.values(table_section(b"PROC", [entry], 36, b"srv"))["processes"]
        self.assertEqual(processes, [{"boot_id": "000102030405060708090a0b0c0d0e0f", "start_since_boot": -5, "name": "srv"}])

    def test_job(self):
        """Texts and numbers; what a later version adds is kept."""
        entries = [struct.pack("<IH2xq", *entry) for entry in ((1, 2, 0), (4, 0, 7), (99, 1, -1))]
        job = self.values(table_section(b"JOBM", entries, 16, b"12x"))["job"]
        self.assertEqual([(fact["what"], fact["number"], fact["name"]) for fact in job],
                         [(1, 0, "12"), (4, 7, ""), (99, -1, "x")])

    def test_node_clocks(self):
        entry = struct.pack("<qqQI4x", 5, -6, 1 << 63, 3)
        clocks = self.values(table_section(b"NCLK", [entry], 32))["node_clocks"]
        self.assertEqual(clocks, [{"time": 5, "offset": -6, "bound": 1 << 63, "reference": 3}])

    def test_kept(self):
        entry = struct.pack("<qQQQQQIIH6xQ", -5, 6, 7, 8, 64 << 20, 9, 3, 2, 4, 99)
        kept = self.values(table_section(b"KEPT", [entry], 72, b"slow"))["kept"]
        self.assertEqual(kept, [{"from": -5, "dropped_records": 6, "dropped_rows": 7, "dropped_bytes": 8,
                                 "keep_bytes": 64 << 20, "keep_ns": 9, "why": 3, "part": 2, "name": "slow"}])

    def test_sub_item_kinds(self):
        entries = [struct.pack("<HHI8x", *entry) for entry in ((3, 4, 1), (5, 0, 6))]
        kinds = self.values(table_section(b"KIND", entries, 16, b"wait"))["sub_item_kinds"]
        self.assertEqual(kinds, [{"id": 3, "name": "wait", "flags": 1}, {"id": 5, "name": "", "flags": 6}])

    def test_gpus_with_idle_bias(self):
        """Entries as they are written now."""
        entry = struct.pack("<QIIqqH6xI4xqq", 7, 2, 101, 4500, 30, 1, 99, 4600, 40)
        gpu = self.values(table_section(b"GPUD", [entry], 64, b"c"))["gpus"][0]
        self.assertEqual((gpu["bias"], gpu["idle_rounds"], gpu["idle_bias"], gpu["idle_spread"]), (4500, 99, 4600, 40))

    def test_unknown_sections(self):
        result = self.values(section(b"ABCD", b"12"), section(b"ABCD", flags=0xFFFE), section(b"HOST", b"h", flags=1))
        self.assertEqual([unknown["length"] for unknown in result["unknown_sections"]], [2, 0])
        self.assertEqual(result["host"], "h")


class BrokenTrailers(unittest.TestCase):
    def expect_left_out(self, rule, file):
        """The trailer is reported and left out whole; blocks and tables stand."""
        result = rbwp_reader.parse(file)
        self.assertEqual(rules(result), [rule])
        self.assertEqual((result["trailer"], result["host"], result["threads"]), (None, "", []))
        self.assertEqual((result["block_count"], len(result["work_items"])), (3, 1))
        rbwp_reader.parse_strict(file)

    def test_footer(self):
        host = section(b"HOST", b"h")
        self.expect_left_out("R50", with_trailer(FILE, host, offset=len(FILE) - 1))
        self.expect_left_out("R50", with_trailer(FILE + b"?", host))
        self.expect_left_out("R50", with_trailer(FILE, host, size=len(host) - 1))
        self.expect_left_out("R50", with_trailer(FILE, host, offset=(1 << 64) - 1))
        self.expect_left_out("R51", with_trailer(FILE, host, crc=1))
        self.expect_left_out("R52", with_trailer(FILE, host, size=(64 << 20) + 1))
        self.expect_left_out("R53", with_trailer(FILE, host, flags=0x10000))
        self.assertEqual(rules(rbwp_reader.parse(with_trailer(FILE, host, flags=0xFFFF))), [])

    def test_sections(self):
        host = section(b"HOST", b"h")
        self.expect_left_out("R55", with_trailer(FILE, host, b"?" * 15))
        self.expect_left_out("R55", with_trailer(FILE, host, section(b"WRIT", b"w", length=2)))
        self.expect_left_out("R56", with_trailer(FILE, host, host))
        self.expect_left_out("R57", with_trailer(FILE, host, section(b"INFO", bytes(55))))
        self.expect_left_out("R57", with_trailer(FILE, host, section(b"CLCK", bytes(23))))
        self.expect_left_out("R57", with_trailer(FILE, host, section(b"TABL", bytes(31))))

    def test_tables(self):
        host, thread = section(b"HOST", b"h"), bytes(48)
        for tag, size in ((b"THRD", 48), (b"LOSS", 40), (b"SAMP", 32), (b"SLOT", 24), (b"LEFT", 24), (b"INDX", 56)):
            self.expect_left_out("R58", with_trailer(FILE, host, table_section(tag, [], size - 1)))
            self.expect_left_out("R58", with_trailer(FILE, host, table_section(tag, [bytes(size)], size, count=2)))
            self.expect_left_out("R58", with_trailer(FILE, host, section(tag, bytes(7))))
        self.expect_left_out("R58", with_trailer(FILE, table_section(b"THRD", [], 0xFFFFFFFF, count=0xFFFFFFFF)))
        self.expect_left_out("R59", with_trailer(FILE, host, table_section(b"THRD", [thread], 48, b"x")))
        self.expect_left_out("R59", with_trailer(FILE, host, table_section(b"LOSS", [bytes(40)], 40, b"x")))
        long_name = struct.pack("<QQqqQH6x", 7, 0, 0, 0, 2, 4)
        self.expect_left_out("R59", with_trailer(FILE, host, table_section(b"THRD", [long_name], 48, b"abc")))

    def test_must_understand(self):
        for bad in (section(b"ABCD", flags=1), section(b"ABCD", flags=0x10000), section(b"HOST", flags=0x80000000)):
            result = rbwp_reader.parse(with_trailer(FILE, bad))
            self.assertEqual((rules(result), result["blocks"]), (["R54"], []))
            self.assertTrue(result["refused"])

    def test_every_corrupt_byte(self):
        """A single wrong byte never gets through, save in the two ignored flag bytes; without the end magic
        there is no trailer, only other bytes."""
        good = with_trailer(FILE, section(b"HOST", b"h"), tabl(FILE, TABLES_AT, 1, 1))
        ignored = {len(good) - 12, len(good) - 11}
        for at in range(len(FILE), len(good)):
            bad = bytearray(good)
            bad[at] ^= 0x40
            result = rbwp_reader.parse(bytes(bad))
            if at in ignored:
                self.assertEqual((rules(result), result["host"]), ([], "h"))
            else:
                self.assertEqual((len(rules(result)), result["trailer"]), (1, None))
                self.assertIn(rules(result)[0], ["R35"] if at >= len(good) - 8 else ["R50", "R51", "R52", "R53"])
            self.assertEqual(result["block_count"], 3)


class AgainstTheBlocks(unittest.TestCase):
    def rules_with(self, *sections):
        return rules(rbwp_reader.parse(with_trailer(FILE, *sections)))

    def index(self, *entries):
        return self.rules_with(table_section(b"INDX", entries, 56))

    def test_r60_records_of_threads(self):
        entry = struct.pack("<QQqqQH6x", 7, 0, 0, 0, 3, 0)
        self.assertEqual(self.rules_with(table_section(b"THRD", [entry], 48)), ["R60"])

    def test_r67_node_clocks(self):
        clocks = [struct.pack("<qqQI4x", time, 0, 0, 0) for time in (1, 2, 2)]
        self.assertEqual(self.rules_with(table_section(b"NCLK", clocks[:2], 32)), [])
        self.assertEqual(self.rules_with(table_section(b"NCLK", clocks, 32)), ["R67"])

    def test_lost_records_excuse_turns(self):
        """R21 holds unless records were lost; refused calls (cause 6 and on) leave no hole."""
        file = finalised([block([begin(ts8(T0)), begin(ts8(T0))])])
        for cause, count, expected in ((1, 1, []), (5, 9, []), (6, 1, ["R21"]), (1, 0, ["R21"])):
            loss = table_section(b"LOSS", [struct.pack("<QQqqI4x", 0, count, 0, 0, cause)], 40)
            self.assertEqual(rules(rbwp_reader.parse(with_trailer(file, loss))), expected)

    def test_r61_tables(self):
        self.assertEqual(self.rules_with(tabl(FILE, TABLES_AT, 1, 1)), [])
        self.assertEqual(self.rules_with(tabl(FILE, TABLES_AT, 1, 1, crc=1)), ["R61"])
        self.assertEqual(self.rules_with(tabl(FILE, TABLES_AT, 1, 2)), ["R61"])
        self.assertEqual(self.rules_with(tabl(FILE, TABLES_AT + 1, 1, 1)), ["R61"])

    def test_good_index(self):
        self.assertEqual(self.index(ENTRY_1, ENTRY_2), [])
        self.assertEqual(self.index(index_entry(FILE, 36, FIRST + SECOND, 3, T0 - 1, T0 + 5, 0, 3)), [])

    def test_r62_geometry(self):
        self.assertEqual(self.index(ENTRY_1), ["R62"])
        self.assertEqual(self.index(ENTRY_2), ["R62"])
        self.assertEqual(self.index(ENTRY_2, ENTRY_1), ["R62"])
        self.assertEqual(self.index(ENTRY_1, index_entry(FILE, 36 + FIRST, SECOND + 1, 1, T0, T0, 9, 2)), ["R62"])
        inside = FIRST + 5
        self.assertEqual(self.index(index_entry(FILE, 36, inside, 2, T0, T0 + 5, 7, 2),
                                    index_entry(FILE, 36 + inside, SECOND - 5, 1, T0 - 1, T0 - 1, 9, 1)),
                         ["R62", "R62"])

    def test_r63_every_value(self):
        good = [2, T0, T0 + 5, 7, 1]
        for at in range(5):
            bad = list(good)
            bad[at] += 1
            self.assertEqual(self.index(index_entry(FILE, 36, FIRST, *bad), ENTRY_2), ["R63"])

    def test_a_broken_block_is_reported_once(self):
        """What the trailer says of blocks that were left out cannot be compared."""
        file = finalised([block(PAIR, base=1), BLOCKS[0]])
        index = table_section(b"INDX", [index_entry(file, 36, 2 * FIRST, 4, T0, T0 + 5, 7, 2)], 56)
        thread = table_section(b"THRD", [struct.pack("<QQqqQH6x", 7, 0, 0, 0, 4, 0)], 48)
        self.assertEqual(rules(rbwp_reader.parse(with_trailer(file, index, thread))), ["R19"])

    def test_r64_sum(self):
        self.assertEqual(self.index(index_entry(FILE, 36, FIRST, 2, T0, T0 + 5, 7, 1, crc=0), ENTRY_2), ["R64"])


class HeaderNotSet(unittest.TestCase):
    """The writer could not go back: TABL says where the tables are, if the trailer is whole."""

    def unset(self, *sections, **fields):
        return with_trailer(header() + FILE[36:], *sections, **fields)

    def test_tables_are_found(self):
        result = rbwp_reader.parse(self.unset(tabl(FILE, TABLES_AT, 1, 1)))
        self.assertEqual((rules(result), result["block_count"], result["incomplete_tail"]), ([], 3, None))
        self.assertEqual((result["work_items"], len(result["sub_items"])), ([{"slot": 1, "name": "one"}], 1))

    def test_tables_that_end_too_early(self):
        """R50: the trailer is not whole then, and its TABL not used."""
        result = rbwp_reader.parse(self.unset(tabl(FILE, TABLES_AT, 1, 0)))
        self.assertEqual((rules(result)[0], result["block_count"], result["work_items"]), ("R50", 3, []))

    def test_broken_tables_leave_the_trailer_whole(self):
        """R50 is not checked if R30 is broken."""
        result = rbwp_reader.parse(self.unset(tabl(FILE, TABLES_AT, 1, 70)))
        self.assertEqual((rules(result)[0], result["work_items"]), ("R30", [{"slot": 1, "name": "one"}]))
        self.assertIsNotNone(result["tables"])

    def test_not_trusted_if_broken(self):
        """The blocks then go on to the end of the file, where there is no whole one any more."""
        result = rbwp_reader.parse(self.unset(tabl(FILE, TABLES_AT, 1, 1), crc=1))
        self.assertEqual((rules(result)[0], result["block_count"], result["work_items"]), ("R51", 3, []))
        for place in ((TABLES_AT, 1, 0), (0, 1, 1), (1 << 40, 0, 0)):
            body = section(b"TABL", struct.pack("<QQIII4x", place[0], len(FILE) - TABLES_AT, *place[1:], 0))
            file = header() + FILE[36:] + body + footer(len(FILE), body)
            result = rbwp_reader.parse(file)
            self.assertEqual((result["block_count"], result["work_items"]), (3, []))
            self.assertEqual(rules(result)[0], "R50")


if __name__ == "__main__":
    unittest.main()
