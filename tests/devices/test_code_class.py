"""The class of machine code (src/isa/code_class.h) is what binutils says of XNNPACK's libraries and of every opcode.

objdump takes code apart. What an instruction needs is asked of the assembler: it refuses an instruction while a feature
that the instruction needs is switched off.
"""

from __future__ import annotations

import itertools
import os
import platform
import random
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bundle_bench import ROOT, Bundle, call, skip

if TYPE_CHECKING:
    from collections.abc import Iterable

LIBRARY = "libexecutorch_backend_xnnpack.so"
NOP = re.compile(r"(cs |data16 )*(nop|xchg +%ax,%ax|int3|udf|add +%al,\(%rax\)$)")


@dataclass(frozen=True)
class Tools:
    architecture: str
    objdump: str
    assembler: list[str]
    flat: list[str]  # objdump's words for a file of nothing but code
    levels: dict[str, set[str]]  # highest first, and what makes each
    features: list[str]  # that the assembler can switch off

    @property
    def x86(self) -> bool:
        return self.architecture == "x86-64"


X86 = Tools(
    "x86-64",
    "objdump",
    ["as", "--64"],
    ["-b", "binary", "-m", "i386:x86-64"],
    {
        "AMX": {"amx_tile", "amx_int8", "amx_bf16", "amx_fp16"},
        "AVX-512 FP16": {"avx512fp16"},
        "AVX-512 BF16": {"avx512bf16"},
        "AVX-512 VNNI": {"avx512vnni"},
        "AVX-512 VBMI": {"avx512vbmi", "avx512vbmi2"},
        "AVX-512": {"avx512f", "avx512bw"},
        "AVX-VNNI": {"avxvnni", "avxvnniint8"},
        "AVX2": {"avx2", "avxneconvert"},
        "FMA3": {"fma3"},
        "F16C": {"f16c"},
        "AVX": {"avx"},
        "SSE4.2": {"sse4_2"},
        "SSE4.1": {"sse4_1"},
        "SSSE3": {"ssse3"},
        "SSE3": {"sse3"},
        "SSE2": {"vector"},
    },
    [
        "sse3",
        "ssse3",
        "sse4_1",
        "sse4_2",
        "avx",
        "f16c",
        "fma3",
        "avx2",
        "gfni",
        "avxvnni",
        "avxvnniint8",
        "avxneconvert",
        "avx512f",
        "avx512cd",
        "avx512dq",
        "avx512bw",
        "avx512vl",
        "avx512ifma",
        "avx512vbmi",
        "avx512vbmi2",
        "avx512bitalg",
        "avx512vpopcntdq",
        "avx512vnni",
        "avx512bf16",
        "avx512fp16",
        "avx512vp2intersect",
        "amx_tile",
        "amx_int8",
        "amx_bf16",
        "amx_fp16",
    ],
)
# Without sme2, which binutils 2.40 does not know, and jscvt, which its assembler cannot switch off.
ARM = Tools(
    "aarch64",
    "aarch64-linux-gnu-objdump",
    ["aarch64-linux-gnu-as"],
    ["-b", "binary", "-m", "aarch64"],
    {
        "SME2": {"sme2"},
        "SME": {"sme"},
        "SVE2": {"sve2"},
        "SVE": {"sve"},
        "NEON BF16": {"vector bf16"},
        "NEON i8mm": {"i8mm"},
        "NEON dot product": {"dotprod"},
        "NEON FP16": {"vector fp16", "vector fhm"},
        "NEON": {"vector"},
    },
    ["atomics", "rdm", "fcma", "fp16", "fhm", "dotprod", "bf16", "i8mm", "sve", "sve2", "sme"],
)
# The assembler's names, where they are others than etprof's.
ASSEMBLER = {
    "sse4_1": "sse4.1",
    "sse4_2": "sse4.2",
    "fma3": "fma",
    "avxvnni": "avx_vnni",
    "avxvnniint8": "avx_vnni_int8",
    "avxneconvert": "avx_ne_convert",
    **{
        f"avx512{name}": f"avx512_{name}"
        for name in ("vbmi2", "bitalg", "vpopcntdq", "vnni", "bf16", "fp16", "vp2intersect")
    },
    "atomics": "lse",
    "rdm": "rdma",
    "fhm": "fp16fml",
    "fcma": "compnum",
}


@dataclass
class Instruction:
    code: bytes
    text: str


@dataclass
class Function:
    start: int
    end: int
    name: str = ""
    instructions: list[Instruction] = field(default_factory=list)

    @property
    def code(self) -> bytes:
        return b"".join(instruction.code for instruction in self.instructions)


def output(*words: str | Path, text: str | None = None) -> str:
    done = call(*words, input=text, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def program() -> Path:
    built = [Path(path) for path in [os.environ.get("ETPROF_CODE_CLASS", "")] if path]
    built += sorted((ROOT / "build").glob("*/tests/tools/etprof_code_class"), key=lambda path: -path.stat().st_mtime)
    if not built:
        skip("etprof_code_class is not built; script/test builds it")
    return built[0]


def classify(tools: Tools, codes: Iterable[bytes]) -> list[str]:
    codes = list(codes)
    text = "".join(f"{tools.architecture} {code.hex()}\n" for code in codes)
    names = output(program(), text=text).splitlines()
    assert len(names) == len(codes)
    return names


def disassembled(tools: Tools, *words: str | Path) -> Iterable[tuple[int, Instruction]]:
    comment = re.compile(r"\s*(#|<).*" if tools.x86 else r"\s*(//|<).*")
    for line in output(tools.objdump, "-w", *words).splitlines():
        address, *rest = line.split("\t")
        if len(rest) < 2 or not address.endswith(":"):
            continue
        code = bytes.fromhex(rest[0].replace(" ", ""))
        text = comment.sub("", " ".join(rest[1:])).strip()
        yield int(address[:-1], 16), Instruction(code if tools.x86 else code[::-1], text)


def functions(tools: Tools, library: Path) -> list[Function]:
    """The whole of .text: every function that .eh_frame bounds, and what lies between, cut at the symbols."""
    header = re.search(r"\.text +PROGBITS +(\w+) \w+ (\w+)", output("readelf", "-SW", library))
    assert header
    low = int(header[1], 16)
    high = low + int(header[2], 16)
    frames = output("readelf", "--debug-dump=frames-interp", library)
    bounds = {(int(a, 16), int(b, 16)) for a, b in re.findall(r"FDE .* pc=(\w+)\.\.(\w+)", frames)}
    symbols = {}
    for line in output("readelf", "--dyn-syms", "-W", library).splitlines():
        words = line.split()
        if len(words) == 8 and words[3] == "FUNC" and words[6] != "UND":
            symbols[int(words[1], 16)] = words[7].split("@")[0]
    found = []
    at = low
    for start, end in [*sorted((a, b) for a, b in bounds if low <= a < b <= high), (high, high)]:
        cuts = [at, *sorted(symbol for symbol in symbols if at < symbol < start), start]
        found += [Function(a, b) for a, b in itertools.pairwise(cuts) if a < b]
        if start < end:
            found.append(Function(start, end))
        at = max(at, end)
    functions_left = iter(found)
    current = next(functions_left)
    for address, instruction in disassembled(tools, "-d", "-j", ".text", library):
        while address >= current.end:
            current = next(functions_left)
        current.instructions.append(instruction)
    for function in found:
        function.name = symbols.get(function.start, "")
    return found


def form(tools: Tools, instruction: Instruction) -> str:
    """What many instructions have in common, so that one of them is assembled. Empty: it is of the base, or unknown."""
    text = instruction.text
    if not tools.x86:
        branch = r"(b|bl|b\.\w+|cbn?z|tbn?z|adrp?|prfm .*,|ldr(sw)? [xwsdq]\d+,) [0-9a-fx]+|(cb|tb)n?z |\."
        if re.match(branch, text):
            return ""
        if not re.search(r"\{|\[w1\d", text):  # lists are of successive registers, and few can be a slice's index
            text = re.sub(r"\b([xwvsdqbhzp])\d+", r"\g<1>2", text)
        return text
    if re.match(r"(bnd |notrack )*(j[a-z]+|call|ret|loop|xbegin)", text) or "(bad)" in text or text.startswith("lock"):
        return ""
    if "gather" not in text and "scatter" not in text:
        text = re.sub(r"-?0x[0-9a-f]+\(|(?<![\w)])\((?=%[re])", "0x40(", text)
        text = re.sub(r"\(%[re][^)]*\)", "(%rax)", text)
        text = text if "%xmm0," in text and "blendv" in text else re.sub(r"%([xyz]mm)\d+", r"%\g<1>1", text)
        text = re.sub(r"%k[1-7]", "%k1", text)
    text = re.sub(r"\$0x[0-9a-f]+", "$0x1", text)
    # The assembler chooses the encoding, unless it is told.
    first = re.sub(rb"^[\x2e\x36\x3e\x26\x64\x65\x67]+", b"", instruction.code)[:1]
    if not text.startswith("{"):
        text = {b"\x62": "{evex} ", b"\xc4": "{vex} ", b"\xc5": "{vex} "}.get(first, "") + text
    return text


def needed(tools: Tools, forms: list[str]) -> dict[str, set[str]]:
    """Of each form that the assembler knows, the features that it wants for it."""
    needs: dict[str, set[str]] = {text: set() for text in forms}
    for feature in ["", *tools.features]:
        name = ASSEMBLER.get(feature, feature)
        off = ("" if tools.x86 else "nothing") if not name else f"no{name}"
        if tools.x86:
            head = f".arch .{off}" if off else ""
        else:
            every = [ASSEMBLER.get(each, each) for each in tools.features if each != "fcma"]
            head = ".arch armv8.6-a+" + "+".join([*every, "sme-f64", "sme-i64", "f64mm", "f32mm", "sve2-bitperm"])
            head += f"; .arch_extension {off}" if name else ""
        text = "\n".join([head, *forms]) + "\n"
        said = call(*tools.assembler, "-o", os.devnull, "-", input=text, env={**os.environ, "LC_ALL": "C"}).stderr
        for line in re.findall(r"^\{standard input\}:(\d+): Error", said, re.MULTILINE):
            needs[forms[int(line) - 2]].add(feature)
    return {text: ours(tools, features) for text, features in needs.items() if "" not in features}


def ours(tools: Tools, features: set[str]) -> set[str]:
    """The assembler's features by etprof's table.

    To the assembler SVE has FCMA, SME has SVE2, and all of FCMA needs FP16, as that of half precision does.
    """
    if tools.x86:
        return features
    without = {"fcma"} if "sve" in features else {"fp16"} if "fcma" in features else set()
    return features - without - ({"sve", "sve2"} if "sme" in features else set())


def misread(tools: Tools, instruction: Instruction) -> bool:
    """What binutils 2.40 takes for another instruction than it is, for want of a test of all its bits."""
    text, word = instruction.text, int.from_bytes(instruction.code[:4], "little")
    if tools.x86:  # these want prefix 66
        return text.startswith(("vrsqrt14p", "vdbpsadbw", "vpshldw", "vpshrdw")) and instruction.code[2] & 3 == 0
    # WHILE of predicates as counters, which is SME2's, and what does not exist.
    fmlal = re.match(r"fml[as]l2? v[^[]*$", text) is not None
    return (text.startswith("psel") and word & 0x10 != 0) or (fmlal and word & 0x400000 != 0)


def differing(tools: Tools, forms: dict[str, Instruction], needs: dict[str, set[str]]) -> list[str]:
    told = [
        text for text in forms if text in needs and not NOP.match(forms[text].text) and not misread(tools, forms[text])
    ]
    found = classify(tools, (forms[text].code for text in told))
    return [
        f"{forms[text].text} ({forms[text].code.hex()}): {one}, wanted {wanted}"
        for text, one in zip(told, found, strict=True)
        if one != (wanted := level(tools, [forms[text]], needs)) and not same_class(tools, one, wanted, needs[text])
    ]


def same_class(tools: Tools, one: str, wanted: str, features: set[str]) -> bool:
    """Whether they differ only in what binutils does not tell.

    Whether it is a vector instruction is a guess from its text (is_vector), and all of FCMA needs FP16 to the assembler.
    """
    base = {"scalar", "SSE2"} if tools.x86 else {"scalar", *(name for name in tools.levels if name.startswith("NEON"))}
    scalar = "scalar" in (one, wanted) or not features
    return one in base and wanted in base and (scalar or "fcma" in features)


def is_vector(tools: Tools, text: str) -> bool:
    """By mnemonic and registers, whether it works on a vector; not what copies, is a constant, or works on bits."""
    name = text.split()[0]
    if not tools.x86:
        if re.match(r"(mov|movi|mvni?|fmov|and|orr|orn|eor|bic|bit|bif|bsl)$", name) and ".d[" not in text:
            return "[" in text and name == "mov" and re.search(r"\bv\d+\.[bhsd]\[", text.split(",")[0]) is not None
        if re.match(r"(ld|st)\w+ ", text):
            return re.search(r"^\S+ \{|\bq\d+", text) is not None
        return re.search(r"\bv\d+\.\d+[bhsdq]\b", text) is not None or (
            re.match(r"[us]mov|ins|mov", name) is not None and re.search(r"\bv\d+\.[bhsd]\[", text) is not None
        )
    if "%xmm" not in text:
        return False
    between = re.fullmatch(r"\S+ +%xmm\d+,%xmm\d+", text) is not None
    if re.match(r"(and|andn|or|xor)p[sd]$|p(and|andn|or|xor)$", name):
        return False
    if re.match(r"mov([au]p[sd]|dq[au])$", name):
        return not between
    single = r"(mov[dq]|mov[lh]p[sd]|pinsr[bwdq]|pextr[bwdq]|extractps|insertps|u?comis[sd]|cvtt?s[sd]2si[lq]?"
    single += r"|cvtsi2s[sd][lq]?|cvts[sd]2s[sd]|\w+s[sd]|movhlps|movlhps|cmp\w+s[sd])$"
    return re.match(single, name) is None or re.match(r"ps(ubs|adb)|pabs", name) is not None


def level(tools: Tools, instructions: list[Instruction], needs: dict[str, set[str]]) -> str:
    uses = set()
    for instruction in instructions:
        features = needs.get(form(tools, instruction), set())
        uses |= features
        if instruction.text.startswith(".") or misread(tools, instruction):
            uses.add("sme2")
        elif is_vector(tools, instruction.text):
            uses |= {"vector", *(f"vector {feature}" for feature in features)}
    return next((name for name, made in tools.levels.items() if made & uses), "scalar")


def check_library(tools: Tools, library: Path) -> None:
    everything = functions(tools, library)
    forms: dict[str, Instruction] = {}
    for instruction in itertools.chain.from_iterable(function.instructions for function in everything):
        forms.setdefault(form(tools, instruction), instruction)
    forms.pop("", None)
    needs = needed(tools, list(forms))
    assert len(needs) > 0.99 * len(forms) > 5000
    assert differing(tools, forms, needs) == []

    found = classify(tools, (function.code for function in everything))
    wrong = []
    for function, one in zip(everything, found, strict=True):
        bad = sum("(bad)" in each.text for each in function.instructions)
        if not bad and one != level(tools, function.instructions, needs):
            wrong.append(
                f"{level(tools, function.instructions, needs)} expected of {function.start:#x} {function.name}: {one}"
            )
    assert wrong == []
    check_names({function.name: one for function, one in zip(everything, found, strict=True)})


# The instruction set in a kernel's name, the first that is found, and the classes that it may have.
NAMES = [
    ("_sme2_", {"SME2"}),
    ("_sme_", {"SME"}),
    ("_neon_i8mm", {"NEON i8mm"}),
    ("_neon_dotprod", {"NEON dot product"}),
    ("__neonfp16arith", {"NEON FP16"}),
    ("__neon", {"NEON"}),
    ("__avx512fp16", {"AVX-512 FP16"}),
    ("__avx512vnni", {"AVX-512 VNNI"}),
    ("__avx512", {"AVX-512"}),
    ("__avx2", {"AVX2"}),
    ("__fma3", {"FMA3"}),
    ("__f16c", {"F16C"}),
    ("__avx", {"AVX"}),
    ("__sse2", {"SSE2"}),
    # What XNNPACK calls scalar is portable C, which the compiler vectorizes for the base where it can.
    ("__scalar", {"scalar", "SSE2", "NEON"}),
]


def check_names(classes: dict[str, str]) -> None:
    compared, wrong = 0, []
    for name, found in classes.items():
        if not re.match(r"xnn_\w+_ukernel_|kai_(run|kernel)_", name) or re.search(r"_get_[mn]r$", name):
            continue
        told = next((allowed for part, allowed in NAMES if part in f"{name}_"), None)
        # kai_run_x checks its arguments and calls kai_kernel_x, where there is one.
        if told is None or (name.replace("kai_run_", "kai_kernel_") in classes and name.startswith("kai_run_")):
            continue
        compared += 1
        if found not in told:
            wrong.append(f"{name}: {found}")
    assert compared > 40
    assert wrong == []


def check_encodings(tools: Tools, codes: list[bytes], folder: Path) -> None:
    """objdump and the assembler against etprof, over encodings that no library has."""
    step = 16 if tools.x86 else 4
    flat = folder / "code.bin"
    flat.write_bytes(b"".join(code.ljust(step, b"\x90") for code in codes))
    forms: dict[str, Instruction] = {}
    for address, instruction in disassembled(tools, "-D", *tools.flat, flat):
        if address % step == 0 and "undefined" not in instruction.text:
            forms.setdefault(form(tools, instruction), instruction)
    forms.pop("", None)
    needs = needed(tools, list(forms))
    assert len(needs) > 3000
    # Of the Knights processors, which no release of XNNPACK supports: no rule knows them.
    knights = re.compile(r"(\{evex\} )?(vexp2|vrcp28|vrsqrt28|v4fn?madd|vp4dpwssd|v(gather|scatter)pf)")
    for text in [text for text in needs if knights.match(text)]:
        del needs[text]
    assert differing(tools, forms, needs) == []


def binutils(tools: Tools) -> None:
    if platform.system() != "Linux" or not all(shutil.which(tool) for tool in (tools.objdump, tools.assembler[0])):
        skip(f"binutils for {tools.architecture} are not installed: {tools.objdump}")


def test_every_function_of_the_library_for_x86():
    binutils(X86)
    executorch = pytest.importorskip("executorch", reason="the executorch wheel is not installed")
    library = Path(next(iter(executorch.__path__))) / "lib" / LIBRARY
    if "X86-64" not in output("readelf", "-h", library):
        pytest.skip("this CPU is not x86-64, and so the installed wheel's library is not")
    check_library(X86, library)


def test_every_function_of_the_library_for_arm(bundle: Bundle):
    binutils(ARM)
    check_library(ARM, bundle.folder / LIBRARY)


def test_every_opcode_of_vex_and_evex(tmp_path: Path):
    binutils(X86)
    codes = []
    # ModRM: registers, memory, and (its middle bits choose among the shifts of opcode 73) both of each group.
    for pp, w, op, modrm in itertools.product(range(4), (0, 1), range(256), (0xCA, 0x48, 0xD2, 0xF2)):
        for map_, wide, v in itertools.product((1, 2, 3), (0, 1), (0x68, 0x78)):
            codes.append(bytes([0xC4, 0xE0 | map_, w << 7 | v | wide << 2 | pp, op, modrm]))
        codes.append(bytes([0xC4, 0xE2, w << 7 | 0x78 | pp, op, 0x4C, 0x08]))  # of AMX, with SIB
        masked = 1 if 0x90 <= op <= 0x93 or 0xA0 <= op <= 0xA3 else 0  # gathers want a mask
        for map_, length, v in itertools.product((1, 2, 3, 5, 6), (0, 1, 2), (0x6C, 0x7C)):
            codes.append(bytes([0x62, 0xF0 | map_, w << 7 | v | pp, length << 5 | 8 | masked, op, modrm]))
    check_encodings(X86, codes, tmp_path)


def test_random_words_of_arms_vector_groups(tmp_path: Path):
    binutils(ARM)
    chance = random.Random(20261125)  # noqa: S311
    codes = []
    for _ in range(40000):
        group = chance.choice([0, 2, 2, 2, 7, 15])  # bits 28 to 25
        word = chance.getrandbits(32) & ~(15 << 25) | group << 25 | (0 if group else 1 << 31)
        codes.append(word.to_bytes(4, "little"))
    check_encodings(ARM, codes, tmp_path)
