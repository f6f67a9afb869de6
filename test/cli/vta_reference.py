"""A decoder and simulator of the VTA accelerator, written from docs/vta-isa.md alone.

It shares no code with Headrace, checks nothing that a right program does not need, and is slow.
"""

from __future__ import annotations

import json
from collections import deque
from pathlib import Path

import numpy as np

LOAD, STORE, GEMM, FINISH, ALU = range(5)
UOP, WGT, INP, ACC, OUT, ACC_8BIT = range(6)
TYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32}


class Machine:
    """Sizes, and where the fields of instructions are."""

    def __init__(self, config: dict[str, int]) -> None:
        self.batch = 1 << config["LOG_BATCH"]
        self.block = 1 << config["LOG_BLOCK"]
        self.inp_type = np.dtype(f"i{1 << config['LOG_INP_WIDTH'] >> 3}")
        self.wgt_type = np.dtype(f"i{1 << config['LOG_WGT_WIDTH'] >> 3}")
        vector = self.batch * self.block
        self.bytes = {
            UOP: 4,
            WGT: self.block * self.block * self.wgt_type.itemsize,
            INP: vector * self.inp_type.itemsize,
            ACC: vector * 4,
            OUT: vector * self.inp_type.itemsize,
            ACC_8BIT: vector,
        }
        self.depth = {
            UOP: (1 << config["LOG_UOP_BUFF_SIZE"]) // self.bytes[UOP],
            WGT: (1 << config["LOG_WGT_BUFF_SIZE"]) // self.bytes[WGT],
            INP: (1 << config["LOG_INP_BUFF_SIZE"]) // self.bytes[INP],
            ACC: (1 << config["LOG_ACC_BUFF_SIZE"]) // self.bytes[ACC],
        }
        bits = {memory: depth.bit_length() - 1 for memory, depth in self.depth.items()}
        self.uop_bits = (bits[ACC], bits[INP], bits[WGT])
        head = [("opcode", 3), ("pop_prev", 1), ("pop_next", 1), ("push_prev", 1), ("push_next", 1)]
        transfer = (
            [*head, ("memory", 3), ("sram", 16), ("dram", 32)],
            [("rows", 16), ("columns", 16), ("stride", 16)]
            + [("top", 4), ("bottom", 4), ("left", 4), ("right", 4)],
        )
        loops = (
            [*head, ("reset", 1), ("begin", bits[UOP]), ("end", bits[UOP] + 1)]
            + [("outer", 14), ("inner", 14)],
            [("dst_outer", bits[ACC]), ("dst_inner", bits[ACC])]
            + [("src_outer", bits[INP]), ("src_inner", bits[INP])],
        )
        gemm = (loops[0], [*loops[1], ("wgt_outer", bits[WGT]), ("wgt_inner", bits[WGT])])
        alu = (loops[0], [*loops[1], ("operation", 3), ("use_imm", 1), ("imm", 16)])
        self.fields = {LOAD: transfer, STORE: transfer, GEMM: gemm, ALU: alu, FINISH: (head, [])}

    def decode(self, word: bytes) -> dict[str, int]:
        halves = int.from_bytes(word[:8], "little"), int.from_bytes(word[8:], "little")
        instruction = {}
        for half, fields in zip(halves, self.fields[halves[0] & 7]):
            for name, width in fields:
                instruction[name] = half & ((1 << width) - 1)
                half >>= width
            assert half == 0, "bits that no field has"
        if instruction.get("imm", 0) >= 1 << 15:
            instruction["imm"] -= 1 << 16
        return instruction

    def decode_micro_op(self, word: int) -> tuple[int, int, int]:
        dst, src, wgt = self.uop_bits
        return (
            word & ((1 << dst) - 1),
            word >> dst & ((1 << src) - 1),
            word >> (dst + src) & ((1 << wgt) - 1),
        )

    def dram_bytes(self, i: dict[str, int]) -> int:
        if i["opcode"] not in (LOAD, STORE):
            return 0
        return i["rows"] * i["columns"] * self.bytes[i["memory"]]


def module_of(i: dict[str, int]) -> str:
    if i["opcode"] == STORE:
        return "store"
    return "load" if i["opcode"] == LOAD and i["memory"] in (INP, WGT) else "compute"


def queues_of(i: dict[str, int], verb: str) -> list[tuple[str, str]]:
    order = ["load", "compute", "store"]
    at = order.index(module_of(i))
    queues = []
    for side, step in (("prev", -1), ("next", 1)):
        if i[f"{verb}_{side}"]:
            other = order[at + step]
            queues.append((other, order[at]) if verb == "pop" else (order[at], other))
    return queues


class Simulator:
    def __init__(self, machine: Machine, dram: bytes) -> None:
        self.machine = machine
        self.dram = np.frombuffer(dram, np.uint8).copy()
        shape = (machine.batch, machine.block)
        self.uop = [(0, 0, 0)] * machine.depth[UOP]
        self.inp = np.zeros((machine.depth[INP], *shape), np.int32)
        self.wgt = np.zeros((machine.depth[WGT], machine.block, machine.block), np.int32)
        self.acc = np.zeros((machine.depth[ACC], *shape), np.int32)

    def run(self, instructions: list[dict[str, int]]) -> None:
        """Always the first module that can go on."""
        pending = {name: deque() for name in ("store", "compute", "load")}
        for i in instructions:
            pending[module_of(i)].append(i)
        tokens: dict[tuple[str, str], int] = {}
        while any(pending.values()):
            for queue in pending.values():
                if queue and all(tokens.get(q, 0) for q in queues_of(queue[0], "pop")):
                    break
            else:
                raise AssertionError("deadlock")
            i = queue.popleft()
            for q in queues_of(i, "pop"):
                tokens[q] -= 1
            self.execute(i)
            for q in queues_of(i, "push"):
                tokens[q] = tokens.get(q, 0) + 1
        assert not any(tokens.values()), "leftover tokens"

    def execute(self, i: dict[str, int]) -> None:
        {
            LOAD: self.load,
            STORE: self.store,
            GEMM: self.gemm,
            ALU: self.alu,
            FINISH: lambda _: None,
        }[i["opcode"]](i)

    def rows(self, i: dict[str, int]):
        size = self.machine.bytes[i["memory"]]
        for row in range(i["rows"]):
            first = (i["dram"] + row * i["stride"]) * size
            yield row, slice(first, first + i["columns"] * size)

    def load(self, i: dict[str, int]) -> None:
        if i["columns"] == 0:
            return
        m, memory = self.machine, i["memory"]
        width = i["left"] + i["columns"] + i["right"]
        height = i["top"] + i["rows"] + i["bottom"]
        types = {UOP: np.dtype("u4"), WGT: m.wgt_type, INP: m.inp_type, ACC: np.dtype("i4")}
        dtype = types.get(memory, np.dtype("i1"))
        tile = np.zeros((height, width, m.bytes[memory] // dtype.itemsize), dtype)
        for row, where in self.rows(i):
            values = self.dram[where].view(dtype).reshape(i["columns"], -1)
            tile[i["top"] + row, i["left"] : i["left"] + i["columns"]] = values
        tile = tile.reshape(height * width, -1)
        where = slice(i["sram"], i["sram"] + height * width)
        if memory == UOP:
            self.uop[where] = [m.decode_micro_op(int(word)) for word in tile[:, 0]]
        else:
            to = {WGT: self.wgt, INP: self.inp}.get(memory, self.acc)
            to[where] = tile.reshape(to[where].shape)

    def store(self, i: dict[str, int]) -> None:
        for row, where in self.rows(i):
            first = i["sram"] + row * i["columns"]
            values = self.acc[first : first + i["columns"]].astype(self.machine.inp_type)
            self.dram[where] = np.ascontiguousarray(values).reshape(-1).view(np.uint8)

    def micro_ops(self, i: dict[str, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The indices of dst, src and wgt, in the order of the loops."""
        ops = np.array(self.uop[i["begin"] : i["end"]]).reshape(-1, 3)
        y, x = np.arange(i["outer"])[:, None, None], np.arange(i["inner"])[None, :, None]
        names = ("dst", "src", "wgt")
        factors = [(i.get(f"{name}_outer", 0), i.get(f"{name}_inner", 0)) for name in names]
        dst, src, wgt = (
            (y * outer + x * inner + ops[:, n]).reshape(-1)
            for n, (outer, inner) in enumerate(factors)
        )
        return dst, src, wgt

    def gemm(self, i: dict[str, int]) -> None:
        dst, src, wgt = self.micro_ops(i)
        if i["reset"]:
            self.acc[dst] = 0
            return
        for part in range(0, len(dst), 4096):
            chosen = slice(part, part + 4096)
            products = self.inp[src[chosen]] @ self.wgt[wgt[chosen]].transpose(0, 2, 1)
            np.add.at(self.acc, dst[chosen], products)  # sums come in any order

    def alu(self, i: dict[str, int]) -> None:
        dst, src, _ = self.micro_ops(i)
        # All at once where no micro-op reads what another one has written.
        apart = len(np.unique(dst)) == len(dst)
        apart = apart and (i["use_imm"] or not np.intersect1d(dst, src).size)
        for d, s in [(dst, src)] if apart else zip(dst, src):
            x = self.acc[d].astype(np.int64)
            y = np.full_like(x, i["imm"]) if i["use_imm"] else self.acc[s].astype(np.int64)
            self.acc[d] = wrapped(alu_operation(i["operation"], x, y))


def alu_operation(operation: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if operation == 3:
        left = np.where(y <= -32, 0, x << np.clip(-y, 0, 31))
        return np.where(y >= 0, x >> np.clip(y, 0, 31), left)
    return [np.minimum, np.maximum, np.add, None, np.multiply][operation](x, y)


def wrapped(values: np.ndarray) -> np.ndarray:
    return (values & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


def cycles_of(machine: Machine, instructions: list[dict[str, int]], port: int = 8) -> int:
    """The cycle model: every module in order, tokens, one port for reads and one for writes."""
    pending = {name: deque() for name in ("load", "compute", "store")}
    for i in instructions:
        pending[module_of(i)].append(i)
    free = dict.fromkeys(pending, 0)
    tokens: dict[tuple[str, str], deque[int]] = {}
    read_port = 0
    while any(pending.values()):
        candidates = []
        for name, queue in pending.items():
            pops = queues_of(queue[0], "pop") if queue else []
            if queue and all(tokens.get(q) for q in pops):
                start = max([free[name], *(tokens[q][0] for q in pops)])
                reads = queue[0]["opcode"] == LOAD and machine.dram_bytes(queue[0]) > 0
                candidates.append((start + 64 * reads, start, name))
        # The first of those that ask at the same time is load: its name is the first of `pending`.
        _, start, name = min(candidates, key=lambda candidate: candidate[0])
        i = pending[name].popleft()
        moved = machine.dram_bytes(i)
        if moved:
            begin = start + 64
            if i["opcode"] == LOAD:
                begin = max(begin, read_port)
            end = begin - (-moved // port)
            read_port = end if i["opcode"] == LOAD else read_port
        elif i["opcode"] in (GEMM, ALU):
            count = (i["end"] - i["begin"]) * i["outer"] * i["inner"]
            end = start + max(1, count * (2 if i["opcode"] == ALU else 1))
        else:
            end = start + 1
        for q in queues_of(i, "pop"):
            tokens[q].popleft()
        for q in queues_of(i, "push"):
            tokens.setdefault(q, deque()).append(end)
        free[name] = end
    return max(free.values())


def unpack(dram: np.ndarray, buffer: dict) -> np.ndarray:
    """A buffer of the DRAM as the tensor it holds."""
    memory = dram[buffer["offset"] : buffer["offset"] + buffer["bytes"]].view(
        TYPES[buffer["dtype"]]
    )
    shape, blocks, extents = buffer["shape"], {}, []
    for axis in buffer["layout"]:
        d = axis["dimension"]
        whole = blocks.get(d, -(-shape[d] // axis["block"]) * axis["block"])
        extents.append(whole // axis["block"])
        blocks[d] = axis["block"]
    order = sorted(range(len(extents)), key=lambda a: buffer["layout"][a]["dimension"])
    padded = [1] * len(shape)
    for axis, extent in zip(buffer["layout"], extents):
        padded[axis["dimension"]] *= extent
    tensor = memory.reshape(extents).transpose(order).reshape(padded)
    return tensor[tuple(slice(size) for size in shape)]


class Program:
    """The five files of a directory."""

    def __init__(self, folder: Path) -> None:
        self.machine = Machine(json.loads((folder / "config.json").read_text()))
        words = (folder / "insn.bin").read_bytes()
        self.instructions = [
            self.machine.decode(words[i : i + 16]) for i in range(0, len(words), 16)
        ]
        self.dram = (folder / "dram.bin").read_bytes()
        description = json.loads((folder / "buffers.json").read_text())
        self.buffers = {buffer["name"]: buffer for buffer in description["buffers"]}
        self.runs = description["runs"]

    def run(self) -> np.ndarray:
        """The DRAM after the program."""
        dram = self.dram
        for run in self.runs:
            simulator = Simulator(self.machine, dram)
            simulator.run(self.instructions[run["begin"] : run["end"]])
            dram = simulator.dram.tobytes()
        return np.frombuffer(dram, np.uint8)

    def cycles(self, port: int = 8) -> int:
        return sum(
            cycles_of(self.machine, self.instructions[run["begin"] : run["end"]], port)
            for run in self.runs
        )

    def bytes_moved(self) -> int:
        return sum(self.machine.dram_bytes(i) for i in self.instructions)
