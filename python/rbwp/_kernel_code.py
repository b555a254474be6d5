# SPDX-License-Identifier: Apache-2.0
"""Device side of event buffers and lane buffers, for Triton and for Gluon: this text is executed once for each
(_dialect.py), with the names below already there. Do not import it; import rbwp.triton or rbwp.gluon.

A program, or a partition of warp_specialize, counts as one writer: scalars are computed by all of its threads and
stored by its first. No function here returns out of a condition that the device decides: such a function cannot be
called within a loop. Whatever is decided at compile time is `if`/`else` on constants, so that what is off is not even
built: tracing that is off is another class, without a single value of the device in it.

Annotations are types here, not texts: the classes' values are checked against them."""

from typing import Any

aggregate: Any  # the decorator for values of several parts
checked_context: Any
checked_event: Any
checked_operands: Any
constexpr_function: Any
dsl: Any  # triton.language, or triton.experimental.gluon.language
element_bytes: Any
jit: Any
must_use: Any
one_thread_acts: Any
target: Any
tensor: Any

# ---- time and place --------------------------------------------------------------------------------


@jit
def read_time():
    """The device's constant-rate clock, 64 bits: nanoseconds on NVIDIA, 100 MHz on AMD, there once earlier memory
    operations have ended."""
    if target() == "nvidia":
        return dsl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=dsl.int64, is_pure=False, pack=1)
    elif target() == "gfx12":
        return dsl.inline_asm_elementwise(
            "s_wait_loadcnt 0x0\ns_wait_storecnt 0x0\ns_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\n"
            "s_wait_kmcnt 0x0", "=s", [], dtype=dsl.int64, is_pure=False, pack=1)
    elif target() == "gfx11":
        return dsl.inline_asm_elementwise(
            "s_waitcnt vmcnt(0)\ns_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\ns_waitcnt lgkmcnt(0)", "=s", [],
            dtype=dsl.int64, is_pure=False, pack=1)
    else:
        return dsl.inline_asm_elementwise("s_waitcnt vmcnt(0)\ns_memrealtime $0\ns_waitcnt lgkmcnt(0)", "=s", [],
                                          dtype=dsl.int64, is_pure=False, pack=1)


@jit
def read_time_low():
    """The low 32 bits of the clock; nothing is waited for.

    On NVIDIA under a condition that always holds, and of which the assembler sees only that it may differ from thread
    to thread: it reads an unconditional 32-bit time once for the whole warp, through the path of uniform values
    (S2UR), which is waited for about 25 cycles longer than a thread's own reading (CS2R)."""
    if target() == "nvidia":
        return dsl.inline_asm_elementwise(
            "{\n.reg .pred p;\n.reg .b32 m;\nmov.u32 m, %lanemask_eq;\nsetp.ne.u32 p, m, 0;\nmov.u32 $0, 0;\n"
            "@p mov.u32 $0, %globaltimer_lo;\n}", "=r", [], dtype=dsl.int32, is_pure=False, pack=1)
    else:
        return read_time().to(dsl.int32)


@jit
def fence_block():
    """Earlier memory operations of this thread come before later ones, as its block sees them."""
    if target() == "nvidia":
        dsl.inline_asm_elementwise("fence.acq_rel.cta;\nmov.u32 $0, 0;", "=r", [], dtype=dsl.int32, is_pure=False,
                                   pack=1)
    elif target() != "gfx12":
        dsl.inline_asm_elementwise("s_waitcnt vmcnt(0) lgkmcnt(0)\ns_mov_b32 $0, 0", "=s", [], dtype=dsl.int32,
                                   is_pure=False, pack=1)


@jit
def chiplet():
    if target() == "xcc":
        return dsl.inline_asm_elementwise("s_getreg_b32 $0, hwreg(HW_REG_XCC_ID, 0, 16)", "=s", [], dtype=dsl.int32,
                                          is_pure=False, pack=1)
    else:
        return dsl.cast(0, dsl.int32)


@jit
def compute_unit():
    """The SM on NVIDIA, the CU with its shader engine on AMD's gfx9; 0 elsewhere."""
    if target() == "nvidia":
        return dsl.inline_asm_elementwise("mov.u32 $0, %smid;", "=r", [], dtype=dsl.int32, is_pure=True, pack=1)
    elif target() == "xcc" or target() == "gfx9":
        return dsl.inline_asm_elementwise("s_getreg_b32 $0, hwreg(HW_REG_HW_ID, 8, 8)", "=s", [], dtype=dsl.int32,
                                          is_pure=False, pack=1)
    else:
        return dsl.cast(0, dsl.int32)


@jit
def warp_in_block():
    if target() == "nvidia":
        return dsl.inline_asm_elementwise("mov.u32 $0, %tid.x;\nshr.u32 $0, $0, 5;", "=r", [], dtype=dsl.int32,
                                          is_pure=True, pack=1)
    else:
        return dsl.cast(0, dsl.int32)


@jit
def words(address):
    """A pointer to 8-byte words, whatever the pointer's own type."""
    return dsl.cast(address, dsl.pointer_type(dsl.int64))


@jit
def unsigned64(value):
    """A 32-bit value widened with zeros."""
    return value.to(dsl.uint32).to(dsl.int64)


# ---- events ------------------------------------------------------------------------------------------


@jit
def lowest(values):
    """The smallest of a block of pointers, as a number; of a single one, itself."""
    smallest = dsl.cast(values, dsl.int64)
    for _ in dsl.static_range(len(smallest.shape)):
        smallest = dsl.min(smallest, axis=0)
    return smallest


@jit
def payload_bytes(address, mask):
    """Bytes that the true elements of the mask stand for; 0, that is unknown, without one."""
    if mask is None:
        return dsl.cast(0, dsl.int32)
    else:
        count = dsl.cast(dsl.cast(mask, dsl.int1), dsl.int32)
        for _ in dsl.static_range(len(count.shape)):
            count = dsl.sum(count, axis=0)
        return (count * element_bytes(address)).to(dsl.int32)


@jit
def count_one(counter):
    """One more in a 32-bit counter; what it held before. It stops at 2^31 and so never comes round to 0."""
    before = dsl.atomic_add(counter, dsl.cast(1, dsl.int32), sem="relaxed")
    if before < 0:
        dsl.atomic_add(counter, dsl.cast(-1, dsl.int32), sem="relaxed")
    return before


def start_text():
    """An event's start as PTX. The program's first thread leads: it alone asks for a slot, and has it; the others' slot is
    one that no event has, so that an end of theirs does nothing.

    As in rbwp_device.h, all threads of a warp go through it together, and branches are on votes; nothing that the
    counters give is looked at before the columns' addresses are under way; where the leader's whole warp is there,
    thread i takes what column i gets, and 13 threads store at once (13 and 14 put the counters back to 2^31 then);
    otherwise the leader stores alone, and counters that lie apart are asked out of the way. What is added is 1, and
    the assembler does not know that: of an addend that all threads share it adds the sum for the warp, and computes
    each thread's part afterwards."""
    values = ("$6", "$7", "$8", "$9", "$10", "$11", "0", "unit", "now", "$12", "0", "order", "$13")
    lines = [
        "{", ".reg .pred act, one, apart, any, room, past, mine, wide, narrow, hold, eighth, eleventh;",
        ".reg .b32 thread, active, unit, added, slot, order, low, high, k, most, size, first;",
        ".reg .b64 ones, both, now, at, c<13>;",
        "mov.u32 thread, %tid.x;", "add.u32 added, thread, 1;", "mov.b64 ones, {added, added};",
        "setp.eq.u32 act, thread, 0;", "mov.b32 slot, 0xffffffff;", "@act mov.b32 slot, 0;",
        "setp.ne.and.u32 one, $2, 0, act;", "setp.ne.and.u32 act, $1, 0, act;",
        "mov.b64 both, 0;", "@one atom.global.add.u64 both, [$3], ones;",
        "activemask.b32 active;", "mov.u32 unit, %smid;",
        "setp.eq.and.u32 any, active, 0xffffffff, one;", "vote.sync.any.pred any, any, active;", "@any bra together;",
        "vote.sync.any.pred any, act, active;", "@!any bra done;",
        "setp.eq.and.u32 apart, $2, 0, act;", "vote.sync.any.pred any, apart, active;", "@!any bra asked;",
        "mov.b32 low, 0;", "mov.b32 order, 0;", "@apart atom.global.add.u32 low, [$3], added;",
        "@apart atom.global.add.u32 order, [$4], added;", "mov.b64 both, {low, order};",
        "asked:", *(f"@act ld.global.nc.u64 c{i}, [$5+{8 * i}];" for i in range(13)),
        "mov.b64 {low, order}, both;", "@act mov.b32 slot, low;", "mov.u64 now, %globaltimer;",
        "setp.lt.u32 room, slot, $1;"]
    for i in (8, 11, 10, 0, 1, 2, 3, 4, 5, 6, 7, 12, 9):  # last what may be loaded
        size = 8 if 8 <= i <= 10 else 4
        lines += [f"mul.wide.u32 at, slot, {size};", f"@act add.s64 at, at, c{i};",
                  f"@room st.global.u{8 * size} [at], {values[i]};"]
    lines += ["setp.lt.and.s32 past, slot, 0, act;", "@past st.global.u32 [$3], 0x80000000;",
              "setp.lt.and.s32 past, order, 0, act;", "@past st.global.u32 [$4], 0x80000000;", "bra done;",
              "together:", "min.u32 size, thread, 12;", "mad.wide.u32 at, size, 8, $5;", "ld.global.nc.u64 at, [at];",
              "mov.b32 k, $6;"]
    for i in (1, 2, 3, 4, 5, 6, 7, 10, 12):
        lines += [f"setp.eq.u32 mine, thread, {i};", f"selp.b32 k, {values[i]}, k, mine;"]
    lines += ["mov.b64 {low, high}, $12;", "setp.eq.u32 mine, thread, 9;", "selp.b32 k, low, k, mine;",
              "selp.b32 high, high, 0, mine;", "setp.gt.u32 hold, thread, 12;", "selp.b32 most, 0x80000000, $1, hold;",
              "selp.b32 k, 0x80000000, k, hold;", "setp.eq.u32 mine, thread, 13;", "selp.b64 at, $3, at, mine;",
              "setp.eq.u32 mine, thread, 14;", "selp.b64 at, $4, at, mine;", "sub.u32 size, thread, 8;",
              "setp.lt.u32 wide, size, 3;", "selp.b32 size, 8, 4, wide;", "selp.b32 size, 0, size, hold;",
              "setp.lt.u32 narrow, thread, 15;", "@wide setp.gt.u32 narrow, thread, 15;",
              "setp.eq.u32 eighth, thread, 8;", "setp.eq.u32 eleventh, thread, 11;",
              # 0, but the assembler does not know: it would put the shuffles that wait for the slot in front of all this.
              "shfl.sync.idx.b32 first, k, thread, 31, 0xffffffff;", "xor.b32 first, first, k;",
              "mov.b64 {low, order}, both;", "shfl.sync.idx.b32 low, low, first, 31, 0xffffffff;", "@one mov.b32 slot, low;",
              "shfl.sync.idx.b32 order, order, first, 31, 0xffffffff;", "mov.u64 now, %globaltimer;",
              "mad.wide.u32 at, low, size, at;", "setp.lt.xor.u32 room, low, most, hold;",
              "selp.b32 k, order, k, eleventh;", "mov.b64 {low, order}, now;", "selp.b32 k, low, k, eighth;",
              "selp.b32 high, order, high, eighth;", "mov.b64 now, {k, high};", "and.pred wide, wide, room;",
              "and.pred narrow, narrow, room;", "@wide st.global.u64 [at], now;", "@narrow st.global.u32 [at], k;",
              "done:", "mov.b32 $0, slot;", "}"]
    return "\n".join(lines)


START = dsl.constexpr(start_text())
END = dsl.constexpr(
    "{\n.reg .pred act;\n.reg .b64 now, at;\nmov.u64 now, %globaltimer;\nsetp.lt.u32 act, $1, $2;\nmul.wide.u32 at, $1, 8;\n"
    "add.s64 at, at, $3;\n@act st.global.u64 [at], now;\nmov.b32 $0, 0;\n}")


@aggregate
class NoTracing:
    """DeviceTracing that was compiled out: the same calls, and nothing of the device in it."""
    enabled: dsl.constexpr

    @constexpr_function
    def __init__(self):
        self.enabled = dsl.constexpr(False)

    @jit
    def record_event_start(self, event_id, target_rank, address, pid_m, pid_n, mask=None):
        return dsl.cast(0, dsl.int32)

    @jit
    def record_event_end(self, handle):
        pass


@aggregate
class DeviceTracing:
    """Events of one rank, as the context array of rbwp.Tracing says where they go.

    tracing = DeviceTracing.initialize(context, tracing=TRACING)
    handle = tracing.record_event_start(PUT, target_rank, pointers, pid_m, pid_n, mask)
    ...
    tracing.record_event_end(handle)"""
    enabled: dsl.constexpr
    rank: tensor
    max_events: tensor  # 0 where the host has tracing switched off
    paired: tensor  # the two counters are neighbours and count in one atomic operation
    both_counters: tensor
    trace_counter: tensor
    op_index_counter: tensor
    event_id: tensor
    pid: tensor
    pid_m: tensor
    pid_n: tensor
    cur_rank: tensor
    target_rank: tensor
    xcc_id: tensor
    cu_id: tensor
    timestamp: tensor
    address: tensor
    duration_cycles: tensor
    op_index: tensor
    payload_size: tensor
    columns: tensor  # where the context has the addresses of all these

    @constexpr_function
    def __init__(self, rank, max_events, paired, both_counters, trace_counter, op_index_counter, event_id, pid, pid_m,
                 pid_n, cur_rank, target_rank, xcc_id, cu_id, timestamp, address, duration_cycles, op_index,
                 payload_size, columns):
        self.enabled = dsl.constexpr(True)
        self.rank = rank
        self.max_events = max_events
        self.paired = paired
        self.both_counters = both_counters
        self.trace_counter = trace_counter
        self.op_index_counter = op_index_counter
        self.event_id = event_id
        self.pid = pid
        self.pid_m = pid_m
        self.pid_n = pid_n
        self.cur_rank = cur_rank
        self.target_rank = target_rank
        self.xcc_id = xcc_id
        self.cu_id = cu_id
        self.timestamp = timestamp
        self.address = address
        self.duration_cycles = duration_cycles
        self.op_index = op_index
        self.payload_size = payload_size
        self.columns = columns

    @jit
    def initialize(context, tracing: dsl.constexpr = True):
        """It traces unless it is asked not to; iris's default is the other way round."""
        if tracing:
            return from_context(words(checked_context(context)))
        else:
            return NoTracing()

    @jit
    def take_slot(self):
        """The event's slot and its place in the order of operations."""
        slot = dsl.cast(0, dsl.int32)
        order = dsl.cast(0, dsl.int32)
        if self.paired:
            before = dsl.atomic_add(self.both_counters, dsl.cast(0x100000001, dsl.int64), sem="relaxed")
            slot = before.to(dsl.int32)
            order = (before >> 32).to(dsl.int32)
            if slot < 0:
                dsl.atomic_add(self.both_counters, dsl.cast(-0x100000001, dsl.int64), sem="relaxed")
        else:
            slot = count_one(self.trace_counter)
            order = count_one(self.op_index_counter)
        return slot, order

    @jit
    def record_event_start(self, event_id, target_rank, address, pid_m, pid_n, mask=None):
        """Begins an event of this program; its handle, an i32 for record_event_end alone, also where there was no room
        left: where one thread acts, it alone has the slot in it.

        address: a pointer or a block of them, of one or two dimensions. mask: which of them take part, or None."""
        checked_operands(address, mask)
        place = lowest(address)
        size = payload_bytes(address, mask)
        if one_thread_acts():
            paired = self.paired & (self.max_events > 0)
            return dsl.inline_asm_elementwise(
                START, "=r,r,r,l,l,l,r,r,r,r,r,r,l,r", [
                    self.max_events, paired.to(dsl.int32), dsl.cast(self.trace_counter, dsl.int64),
                    dsl.cast(self.op_index_counter, dsl.int64), self.columns, dsl.cast(event_id, dsl.int32),
                    dsl.cast(dsl.program_id(0), dsl.int32), dsl.cast(pid_m, dsl.int32), dsl.cast(pid_n, dsl.int32),
                    self.rank, dsl.cast(target_rank, dsl.int32), place, size
                ], dtype=dsl.int32, is_pure=False, pack=1)
        else:
            return self.start_by_all(event_id, target_rank, place, pid_m, pid_n, size)

    @jit
    def start_by_all(self, event_id, target_rank, place, pid_m, pid_n, size):
        """All threads know the slot, and the compiler chooses who stores: a barrier of the block's."""
        slot = dsl.cast(0, dsl.int32)
        if self.max_events > 0:
            slot, order = self.take_slot()
            if slot.to(dsl.uint32) < self.max_events.to(dsl.uint32):
                dsl.store(self.event_id + slot, dsl.cast(event_id, dsl.int32))
                dsl.store(self.pid + slot, dsl.cast(dsl.program_id(0), dsl.int32))
                dsl.store(self.pid_m + slot, dsl.cast(pid_m, dsl.int32))
                dsl.store(self.pid_n + slot, dsl.cast(pid_n, dsl.int32))
                dsl.store(self.cur_rank + slot, self.rank)
                dsl.store(self.target_rank + slot, dsl.cast(target_rank, dsl.int32))
                dsl.store(self.xcc_id + slot, chiplet())
                dsl.store(self.cu_id + slot, compute_unit())
                dsl.store(self.timestamp + slot, read_time())
                dsl.store(self.address + slot, place)
                dsl.store(self.duration_cycles + slot, dsl.cast(0, dsl.int64))
                dsl.store(self.op_index + slot, order)
                dsl.store(self.payload_size + slot, size)
        return slot

    @jit
    def record_event_end(self, handle):
        if one_thread_acts():
            dsl.inline_asm_elementwise(END, "=r,r,r,l",
                                       [handle, self.max_events, dsl.cast(self.duration_cycles, dsl.int64)],
                                       dtype=dsl.int32, is_pure=False, pack=1)
        else:
            now = read_time()
            dsl.store(self.duration_cycles + handle, now, mask=handle.to(dsl.uint32) < self.max_events.to(dsl.uint32))


@jit
def narrow_pointer(entries, index: dsl.constexpr, present):
    """The pointer to 32-bit values in an entry of the context; null where the context ends before."""
    return dsl.cast(dsl.load(entries + index, mask=present, other=0), dsl.pointer_type(dsl.int32))


@jit
def wide_pointer(entries, index: dsl.constexpr, present):
    return dsl.cast(dsl.load(entries + index, mask=present, other=0), dsl.pointer_type(dsl.int64))


@jit
def arrived(value):
    """The same value, waited for here: of one that is still under way in a loop the assembler would wait for all that is,
    for an event's slot, too. What is added is 0, which the assembler does not know."""
    if target() == "nvidia":
        return dsl.inline_asm_elementwise(
            "{\n.reg .b32 none;\nmov.u32 none, %laneid;\nshr.u32 none, none, 5;\nadd.u32 $0, $1, none;\n}", "=r,r", [value],
            dtype=dsl.int32, is_pure=False, pack=1)
    else:
        return value


@jit
def from_context(context):
    """What a context array says: 3 + N entries where tracing is off on the host, or 19 + N. Entries are counted from
    the flag at 2 + N."""
    flag = context + (dsl.load(context + 1) + 2)
    on = dsl.load(flag) != 0
    most = dsl.load(flag + 1, mask=on, other=0)
    most = dsl.minimum(dsl.maximum(most, 0), 0x7fffffff)
    counter = dsl.load(flag + 2, mask=on, other=0)
    order_counter = dsl.load(flag + 3, mask=on, other=0)
    return DeviceTracing(
        arrived(dsl.cast(dsl.load(context), dsl.int32)),
        dsl.cast(most, dsl.int32),
        (order_counter == counter + 4) & ((counter & 7) == 0),
        dsl.cast(counter, dsl.pointer_type(dsl.int64)),
        dsl.cast(counter, dsl.pointer_type(dsl.int32)),
        dsl.cast(order_counter, dsl.pointer_type(dsl.int32)),
        narrow_pointer(flag, 4, on),  # event_id
        narrow_pointer(flag, 5, on),
        narrow_pointer(flag, 6, on),
        narrow_pointer(flag, 7, on),
        narrow_pointer(flag, 8, on),  # cur_rank
        narrow_pointer(flag, 9, on),
        narrow_pointer(flag, 10, on),
        narrow_pointer(flag, 11, on),  # cu_id
        wide_pointer(flag, 12, on),  # timestamp
        wide_pointer(flag, 13, on),
        wide_pointer(flag, 14, on),  # duration_cycles
        narrow_pointer(flag, 15, on),  # op_index
        narrow_pointer(flag, 16, on),
        dsl.cast(flag + 4, dsl.int64))


# ---- lanes ------------------------------------------------------------------------------------------


@aggregate
class NoLanes:
    """Lanes that were compiled out: the same calls, and nothing of the device in it."""
    enabled: dsl.constexpr

    @constexpr_function
    def __init__(self):
        self.enabled = dsl.constexpr(False)

    @must_use
    @jit
    def begin(self, event):
        return self

    @must_use
    @jit
    def end(self, event):
        return self

    @must_use
    @jit
    def instant(self, event):
        return self

    @must_use
    @jit
    def heartbeat(self):
        return self

    @jit
    def finalize(self):
        pass


@aggregate
class Lanes:
    """The lane of one program and group. It is a value that each call gives anew:

    lane = Lanes.init(buffer, stride, group, num_groups, num_blocks, max_records, enabled=TRACING)
    lane = lane.begin(WAIT)
    ...
    lane = lane.end(WAIT)
    lane.finalize()"""
    enabled: dsl.constexpr
    version: dsl.constexpr
    fence: dsl.constexpr
    first: tensor  # where the lane's first record goes
    next: tensor  # where the next record would go; beyond finalize's place nothing is stored
    step: tensor  # from one record to the next, in words of 8 bytes
    last: tensor  # number of the record that is kept for finalize; negative: no room for any
    count: tensor  # records asked for so far
    tag: tensor
    latest: tensor  # low half of the time of the last record
    drops: tensor  # the lane's counter of what was dropped, or null

    @constexpr_function
    def __init__(self, version, fence, first, next, step, last, count, tag, latest, drops):
        self.enabled = dsl.constexpr(True)
        self.version = dsl.constexpr(version)
        self.fence = dsl.constexpr(fence)
        self.first = first
        self.next = next
        self.step = step
        self.last = last
        self.count = count
        self.tag = tag
        self.latest = latest
        self.drops = drops

    @jit
    def init(buffer, stride, group, num_groups, num_blocks, max_records, drops=None, enabled: dsl.constexpr = True,
             version: dsl.constexpr = 1, fence: dsl.constexpr = True):
        """The lane of this program and the given group.

        stride: records from one of a lane to its next, at least num_blocks x num_groups. max_records: of a lane, the
        one of finalize among them; 0 writes nothing. drops: u32 per lane, or None. version: 1, records of 8 bytes, or
        2, of 16 behind a header that the host has written. fence: order the block's memory operations at each
        record. A program that the buffer has no lane for writes nothing."""
        if enabled and buffer is not None:
            return open_lane(words(buffer), dsl.cast(stride, dsl.int64), dsl.cast(group, dsl.int32),
                             dsl.cast(num_groups, dsl.int32), dsl.cast(num_blocks, dsl.int32),
                             dsl.cast(max_records, dsl.int32), drops, version, fence)
        else:
            return NoLanes()

    @jit
    def put(self, kind: dsl.constexpr, event):
        """Writes a record of this moment, if there is room, and counts it. No record waits for a product or a choice:
        the place moves on by an addition, stored to or not, and finalize computes its own."""
        tag = self.tag | ((dsl.cast(event, dsl.int32) & 1023) << 2) | kind
        room = self.count < self.last
        place = self.next
        if self.version == 1:
            now = read_time_low()
            dsl.store(place, (unsigned64(now) << 32) | unsigned64(tag), mask=room)
        else:
            time = read_time()
            now = time.to(dsl.int32)
            where = (unsigned64(warp_in_block() & 255) << 48) | (unsigned64(compute_unit() & 65535) << 32)
            dsl.store(place, time, mask=room)
            dsl.store(place + 1, where | unsigned64(tag), mask=room)
        # The count stops short of its sign, and no lane is that long.
        return Lanes(self.version, self.fence, self.first, place + self.step, self.step, self.last,
                     dsl.minimum(self.count, 0x7ffffffe) + 1, self.tag, now, self.drops)

    @must_use
    @jit
    def begin(self, event):
        after = self.put(0, checked_event(event))
        if self.fence:
            fence_block()
        return after

    @must_use
    @jit
    def end(self, event):
        if self.fence:
            fence_block()
        return self.put(1, checked_event(event))

    @must_use
    @jit
    def instant(self, event):
        if self.fence:
            fence_block()
        after = self.put(2, checked_event(event))
        if self.fence:
            fence_block()
        return after

    @must_use
    @jit
    def heartbeat(self):
        """An instant of event 1023 if the lane has been silent for more than 2 seconds: records of version 1 hold 4.29
        seconds at most. For the body of a loop that may run that long without a record."""
        place = self.next
        count = self.count
        latest = self.latest
        if self.version == 1:
            if (read_time_low() - latest).to(dsl.uint32) > 2000000000:
                after = self.put(2, 1023)
                place = after.next
                count = after.count
                latest = after.latest
        return Lanes(self.version, self.fence, self.first, place, self.step, self.last, count, self.tag, latest,
                     self.drops)

    @jit
    def finalize(self):
        """Closes the lane. It is not to be used afterwards."""
        if self.fence:
            fence_block()
        dropped = dsl.maximum(self.count - self.last, 0)
        tag = self.tag | 3
        there = self.last >= 0
        place = self.first + dsl.minimum(self.count, self.last).to(dsl.int64) * self.step
        if self.version == 1:
            dsl.store(place, (unsigned64(read_time_low()) << 32) | unsigned64(tag), mask=there)
        else:
            dsl.store(place, read_time(), mask=there)
            dsl.store(place + 1, (unsigned64(dropped) << 32) | unsigned64(tag), mask=there)
        dsl.store(self.drops, dropped, mask=there & (dsl.cast(self.drops, dsl.int64) != 0))


@jit
def open_lane(buffer, stride, group, num_groups, num_blocks, max_records, drops, version: dsl.constexpr,
              fence: dsl.constexpr):
    dsl.static_assert(version == 1 or version == 2, "version: a lane's records are of version 1 or 2")
    block = (dsl.program_id(2) * dsl.num_programs(1) + dsl.program_id(1)) * dsl.num_programs(0) + dsl.program_id(0)
    lane = block * num_groups + group
    inside = (block < num_blocks) & (group >= 0) & (group < num_groups) & (lane < stride) & (lane < 1048576)
    there = inside & (max_records > 0)
    last = dsl.where(there, max_records - 1, -1)
    if version == 1:
        # Each lane's first thread writes the same header: no group need be there for another's sake.
        dsl.store(buffer, (unsigned64(num_groups) << 32) | unsigned64(num_blocks), mask=there)
        first = buffer + 1 + lane
        step = stride
    else:
        anchor = dsl.load(buffer + 5, mask=there, other=1)
        if anchor == 0:
            dsl.atomic_cas(buffer + 5, dsl.cast(0, dsl.int64), read_time(), sem="relaxed")
        first = buffer + 8 + 2 * lane
        step = 2 * stride
    if drops is None:
        own_drops = dsl.cast(dsl.cast(0, dsl.int64), dsl.pointer_type(dsl.int32))
    else:
        own_drops = dsl.cast(drops, dsl.pointer_type(dsl.int32)) + lane
    return Lanes(version, fence, first, first, step, last, dsl.cast(0, dsl.int32), lane << 12, read_time_low(),
                 own_drops)
