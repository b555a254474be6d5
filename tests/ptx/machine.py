# SPDX-License-Identifier: Apache-2.0
"""A machine for the little PTX that the fixtures and probes consist of: one thread after the other,
memory as bytes, a clock that the test sets. What a GPU would store in the buffer comes out without one."""
import re
import struct

MASK = {"16": 0xFFFF, "32": 0xFFFFFFFF, "64": 0xFFFFFFFFFFFFFFFF}


class Machine:
    """memory: bytes from address BASE on; variables: module's .global ones, by name."""
    BASE = 0x10000

    def __init__(self, text, memory, variables=(), params=(), clock=1000, step=1):
        body = text[text.index("\n{") + 2:text.rindex("}")]
        body = re.sub(r"//[^\n]*", "", body)
        self.code, self.labels = [], {}
        for piece in re.split(r"(?<=[;:])\s|\n", body):
            piece = piece.strip()
            if not piece or piece.startswith(".") or piece in "{}":
                continue
            if piece.endswith(":"):
                self.labels[piece[:-1]] = len(self.code)
            else:
                self.code.append(piece.rstrip(";").strip())
        self.memory = memory
        self.variables = dict(variables)
        self.params = dict(params)
        self.clock, self.step = clock, step
        self.fired = 0

    def special(self, name):
        if name in ("%clock64", "%globaltimer"):
            self.clock += self.step
            return self.clock
        if name in ("%clock", "%clock_hi"):
            self.clock += self.step
            return self.clock & MASK["32"] if name == "%clock" else self.clock >> 32
        return self.specials.get(name, 0)

    def value(self, word):
        if word.startswith("!"):
            return int(not self.value(word[1:]))
        if word.startswith("%"):
            return self.registers[word] if word in self.registers else self.special(word)
        return int(word, 0)

    def address(self, word):
        name, _, offset = word.strip("[]").partition("+")
        return (self.value(name) if name.startswith("%") else name), int(offset or 0)

    def store(self, at, size, value):
        at -= self.BASE
        assert 0 <= at <= len(self.memory) - size, f"a store outside of the buffer: {at}"
        self.memory[at:at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, "little")

    def step_one(self, at):
        text = self.code[at]
        guard = re.match(r"@(!?)(%\w+)\s+(.*)", text)
        if guard:
            if bool(self.registers.get(guard[2], 0)) == bool(guard[1]):
                return at + 1
            text = guard[3]
        opcode, _, rest = text.partition(" ") if " " in text else text.partition("\t")
        operands = re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^\s,]+", rest)
        return self.execute(at, opcode.split("."), operands)

    def execute(self, at, opcode, operands):
        name, width = opcode[0], MASK["64"] if "wide" in opcode else MASK.get(opcode[-1][1:], MASK["64"])
        put = lambda value: self.registers.__setitem__(operands[0], value & width)
        args = [self.value(word) for word in operands[1:] if word[0] not in "[{"] if name not in ("bra", "ld", "st", "red") else []
        if name in ("ret", "exit"):
            return None
        if name == "bra":
            return self.labels[operands[0]]
        if name == "mov" and operands[0][0] == "{":
            low, high = operands[0].strip("{}").replace(" ", "").split(",")
            self.registers[low], self.registers[high] = args[0] & MASK["32"], args[0] >> 32
        elif name == "mov" and operands[1][0] == "{":
            low, high = (self.value(word) for word in operands[1].strip("{}").replace(" ", "").split(","))
            put(low | high << 32)
        elif name in ("mov", "cvt", "cvta"):
            put(args[0])
        elif name == "ld":
            where, offset = self.address(operands[1])
            put(self.params[where] if where in self.params else self.variables[where])
        elif name == "st":
            where, offset = self.address(operands[0])
            words = operands[1].strip("{}").replace(" ", "").split(",")
            for i, word in enumerate(words):
                self.store(where + offset + i * int(opcode[-1][1:]) // 8, int(opcode[-1][1:]) // 8, self.value(word))
        elif name == "red":
            where, offset = self.address(operands[0])
            if where in self.variables:
                self.variables[where] += self.value(operands[1])
            else:
                old = struct.unpack_from("<I", self.memory, where + offset - self.BASE)[0]
                self.store(where + offset, 4, old + self.value(operands[1]))
        elif name == "setp":
            a, b = args[0], args[1]
            if opcode[-1][0] == "s":
                sign = (width + 1) >> 1
                a, b = (a & width ^ sign) - sign, (b & width ^ sign) - sign
            result = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}[opcode[1]]
            self.registers[operands[0]] = int(result and (opcode[2] != "and" or bool(args[2])))
        elif name == "bfi":
            mask = (1 << args[3]) - 1
            put(args[1] & ~(mask << args[2]) | (args[0] & mask) << args[2])
        elif name == "mad" and opcode[1] == "wide":
            self.registers[operands[0]] = (args[0] * args[1] + args[2]) & MASK["64"]
        elif name == "bar":
            pass
        else:
            put({"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
                 "mad": lambda a, b, c: a * b + c, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
                 "shr": lambda a, b: a >> b, "shl": lambda a, b: a << b, "xor": lambda a, b: a ^ b, "min": min, "rem": lambda a, b: a % b, "div": lambda a, b: a // b}[name](*args))
        return at + 1

    def thread(self, **specials):
        """Runs one thread; specials: tid_x and so on, 0 without, sizes 1."""
        self.specials = {f"%{name}.{axis}": 1 for name in ("ntid", "nctaid") for axis in "xyz"}
        self.specials.update({"%" + name.replace("_", "."): value for name, value in specials.items()})
        self.registers, at, steps = {}, 0, 0
        while at is not None:
            at = self.step_one(at)
            steps += 1
            assert steps < 100000, "the kernel does not end"
