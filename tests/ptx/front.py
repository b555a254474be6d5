#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The front end of rbwp ptx: printing gives the text back byte for byte; blocks by line and by flow
are those that the rules give; what is no PTX is refused with line, column, reason and a caret."""
from lib import CORPUS, check, corpus, finish, rbwp, rbwp_json


def identity():
    """Print is the identity: as the files are, with CRLF, without the last newline, with comments."""
    for path in corpus():
        text = path.read_bytes()
        for what, bytes_in in [("as it is", text), ("CRLF", text.replace(b"\n", b"\r\n")),
                               ("cut newline", text.rstrip(b"\n")), ("tabs", text.replace(b" ", b"\t")),
                               ("comments", text.replace(b"\n{", b"\n/* a { \n b */{ // } \n"))]:
            check(f"{path.name}: {what}", rbwp("print", "-", stdin=bytes_in)[0] == bytes_in, True)
    for text in [b"", b"\n", b"// nothing", b"/**/", b".version 8.0"]:
        check(f"print of {text}", rbwp("print", "-", stdin=text)[0], text)


def functions(name, stdin=None):
    if stdin is None:
        stdin = (CORPUS / name).read_bytes()
    return {function["name"]: function for function in rbwp_json("blocks", "--json", "-", stdin=stdin)["functions"]}


def table(function):
    """(entry, exit, file, loc, what it is besides) for each block of lines."""
    return [(b["entry"], b["exit"], b["file"], b["loc"],
             "".join(letter for letter, key in [("S", "is_start"), ("E", "is_end"), ("W", "is_sync")] if b[key]))
            for b in function["blocks"]]


FIXTURE_A = [(13, 15, 1, -1, "S"), (17, 17, 1, 10, ""), (19, 22, 1, 11, ""), (24, 24, 2, 40, ""), (26, 26, 1, 12, ""),
             (27, 27, 1, 12, ""), (28, 28, 1, 12, ""), (29, 29, 1, 12, ""), (31, 32, 1, 13, ""), (33, 33, 1, 13, ""),
             (35, 36, 1, 14, ""), (37, 37, 1, 14, ""), (39, 39, 1, 15, ""), (41, 41, 1, 15, ""), (43, 43, 1, 16, "E")]
FIXTURE_B = [(10, 11, 1, -1, "S"), (13, 13, 1, 5, ""), (15, 15, 1, 6, ""), (16, 16, 1, 6, ""), (17, 17, 1, 6, "W"),
             (18, 18, 1, 6, ""), (20, 21, 1, 7, ""), (23, 23, 1, 8, "E")]


def lines():
    """P1: the blocks of both fixtures; the same with CRLF and with tabs for blanks."""
    for name, kernel, expected in [("fixture_a.ptx", "k", FIXTURE_A), ("fixture_b.ptx", "s", FIXTURE_B)]:
        text = (CORPUS / name).read_bytes()
        for what, bytes_in in [("as it is", text), ("CRLF", text.replace(b"\n", b"\r\n")),
                               ("blanks", text.replace(b"\n\t", b"\n   "))]:
            check(f"{name}: {what}", table(functions(name, bytes_in)[kernel]), expected)
    blocks = functions("fixture_a.ptx")["k"]["blocks"]
    check("lines of comments", blocks[2]["empty"], [20, 22])
    check("lines of mma", functions("fixture_b.ptx")["s"]["blocks"][6]["mma"], [21])
    no_loc = b"\n".join(line for line in (CORPUS / "fixture_a.ptx").read_bytes().split(b"\n") if b".loc" not in line)
    check("without .loc", {(b["file"], b["loc"]) for b in functions("", no_loc)["k"]["blocks"]}, {(1, -1)})
    no_ret = (CORPUS / "fixture_a.ptx").read_bytes().replace(b"\tret;\n", b"\tmov.u32 %r1, %r2;\n")
    check("without ret", table(functions("", no_ret)["k"])[-1], (43, 43, 1, 16, "E"))


def pragma():
    """Directives between a kernel's parameters and its body, of which .pragma has a semicolon, are ignored."""
    text = (CORPUS / "fixture_a.ptx").read_bytes().replace(b".maxntid 128\n", b'.maxntid 128 .pragma "nounroll"; .minnctapersm 2\n')
    check(".pragma in the head", table(functions("", text)["k"]), FIXTURE_A)
    check("print with it", rbwp("print", "-", stdin=text)[0] == text, True)


def many():
    """P16: several kernels and functions, ways out in the middle, indexed branches, braces that wait
    and a { in the first column, a call over several lines."""
    found = functions("many.ptx")
    check("functions", [(f["name"], f["kind"]) for f in found.values()],
          [("twice", "func"), ("leaves", "entry"), ("waits", "entry")])
    check("lines of twice", table(found["twice"]), [(14, 14, 1, -1, "S"), (16, 19, 2, 3, "E")])
    check("lines of leaves", table(found["leaves"]),
          [(27, 29, 1, -1, "S"), (31, 32, 1, 10, ""), (33, 33, 1, 10, ""), (35, 35, 1, 11, ""), (36, 36, 1, 11, ""),
           (37, 37, 1, 11, "E"), (39, 39, 1, 11, ""), (42, 52, 2, 7, ""), (54, 57, 1, 13, ""), (58, 58, 1, 13, ""),
           (59, 59, 1, 13, ""), (61, 61, 1, 14, ""), (62, 62, 1, 14, ""), (64, 64, 1, 15, ""), (65, 65, 1, 15, ""),
           (67, 70, 1, 16, "E")])
    waits = table(found["waits"])
    check("a wait through labels is one", [b for b in waits if "W" in b[4]], [(101, 104, 1, 22, "W")])
    check("the brace in the first column begins nothing", [b for b in waits if "S" in b[4]], [(81, 83, 1, -1, "S")])
    check("mma", [b["mma"] for b in found["waits"]["blocks"] if b["mma"]], [[107, 108]])
    nvcc = functions("nvcc_k.ptx")
    check("kernels of nvcc", list(nvcc), ["spin", "empty", "gtres", "reduce", "transpose"])


def flow_of(function):
    return [[(e["to"], e["kind"]) for e in block["edges"]] + (["out"] if block["leaves"] else [])
            for block in function["cfg"]]


def flow():
    """Basic blocks and edges, those of braces with labels of their own among them."""
    falls, taken, indexed = "falls", "taken", "indexed"
    check("flow of fixture A", flow_of(functions("fixture_a.ptx")["k"]),
          [[(4, taken), (1, falls)], [(2, taken)], [(2, taken), (3, falls)], [(4, falls)], ["out"]])
    found = functions("many.ptx")
    check("flow of leaves", flow_of(found["leaves"]),
          [[(1, falls), "out"], [(3, taken), (2, falls)], ["out"], [(4, indexed), (5, indexed)], [(6, taken)],
           [(6, falls)], ["out"]])
    check("flow of waits", flow_of(found["waits"]),
          [[(1, falls)], [(3, taken), (2, falls)], [(1, taken)], [(4, falls)], [(4, taken), (5, falls)], ["out"]])
    check("inlined at", [b.get("inlined_at") for b in found["leaves"]["cfg"]][3:5], [{"file": 1, "loc": 12}, None])
    check("flow of an empty body", flow_of(functions("", b".version 8.0\n.target sm_80\n.entry a()\n{\n}\n")["a"]), [])
    # A label in braces hides one of the same name outside, and is not seen from there.
    scopes = b".entry a()\n{\nL: { bra L; L: ret; }\nbra L;\n}\n"
    check("labels in braces", flow_of(functions("", scopes)["a"]), [[(1, taken)], ["out"], [(0, taken)]])
    many = (CORPUS / "many.ptx").read_bytes()
    check("files", rbwp_json("blocks", "--json", "-", stdin=many)["files"], {"1": "/src/many.cu", "2": "/src/inner.cuh"})
    check("files as text", rbwp("blocks", "-", stdin=many)[0].splitlines()[:2], [b"file 1: /src/many.cu", b"file 2: /src/inner.cuh"])
    for path in corpus():
        for function in functions(path.name).values():
            count = len(function["cfg"])
            check(f"{path.name}: edges lead to blocks", [e for b in function["cfg"] for e in b["edges"] if e["to"] >= count], [])
            check(f"{path.name}: somewhere it ends", any(b["leaves"] for b in function["cfg"]), True)


def refused(text, place, reason, caret, subcommand="print"):
    errors = rbwp(subcommand, "-", stdin=text, code=1)[1].split("\n")
    check(f"error of {text[:40]}", errors[0], f"standard input:{place}: {reason}")
    if caret is not None:
        check(f"caret of {text[:40]}", errors[2].index("^"), caret)


def errors():
    """Line, column and reason; the caret stands under the byte, tabs or not."""
    head = b".version 8.0\n.entry k()\n{\n"
    refused(head + b"\tadd.u32 %r1, %r2\n}\n", "4:2", "no semicolon ends this", 1)
    refused(head + b"\tret;\n", "3:1", "no brace closes this", 0)
    refused(head + b"\t@%p1\n\t;}", "5:2", "an instruction is missing here", 1)
    refused(head + b"@!;}", "4:3", "a predicate is missing here", 2)
    refused(head + b"  [x];}", "4:3", "neither instruction, label nor directive", 2)
    refused(head + b"\xff", "4:1", "byte 0xff is no PTX", 0)
    refused(b".version 8.0\n\x00", "2:1", "byte 0x00 is no PTX", None)
    refused(b"/* never\nclosed", "1:1", "this comment is not closed", 0)
    refused(b'.file 1 "never\nclosed"', "1:9", "this string is not closed in its line", 8)
    refused(b"add.u32 a, b;", "1:1", "no directive, and outside of a function", 0)
    refused(b".entry k(.param .u64 a {", "1:24", "a parenthesis is not closed before this", 23)
    refused(b".visible .entry (a) {", "1:21", "a function without a name ends here", 20)
    refused(b".visible .entry k(", "1:19", "a parenthesis is not closed before this", None)
    refused(b".visible .entry k", "1:1", "this function has no body and no semicolon", 0)
    refused(b".section .x { 1", "1:1", "no brace closes this", 0)
    refused(head + b"{" * 300, "4:256", "braces are nested too deep", None)
    refused(head + b"bra $L__nowhere;}", "4:5", "no label '$L__nowhere' in this function", 4, "blocks")
    refused(head + b"x: brx.idx %r1, x;}", "4:17", "no .branchtargets behind this label", 16, "blocks")
    refused(head + b" " * 3000 + b"[", "4:3001", "neither instruction, label nor directive", 63)


identity()
lines()
pragma()
many()
flow()
errors()
finish()
