"""Compares the class of machine code (src/isa/code_class.h) with binutils, for XNNPACK's libraries and for every opcode.

objdump disassembles the code. The assembler shows which features an instruction needs: it rejects the instruction while a
needed feature is disabled.
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
    flat: list[str]  # objdump's options for a file that contains only code
    levels: dict[str, set[str]]  # the features of each level, highest level first
    features: list[str]  # features that the assembler can disable

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
# The features do not include sme2, which binutils 2.40 does not know, and jscvt, which its assembler cannot disable.
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
# The assembler's names of features, if they differ from etprof's.
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


def output(*arguments: str | Path, text: str | None = None) -> str:
    completed = call(*arguments, input=text, env={**os.environ, "LC_ALL": "C"})
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def program() -> Path:
    candidates = [Path(path) for path in [os.environ.get("ETPROF_CODE_CLASS", "")] if path]
    candidates += sorted(
        (ROOT / "build").glob("*/tests/tools/etprof_code_class"), key=lambda path: -path.stat().st_mtime
    )
    if not candidates:
        skip("etprof_code_class is not built; script/test builds it")
    return candidates[0]


def classify(tools: Tools, codes: Iterable[bytes]) -> list[str]:
    codes = list(codes)
    text = "".join(f"{tools.architecture} {code.hex()}\n" for code in codes)
    names = output(program(), text=text).splitlines()
    assert len(names) == len(codes)
    return names


def disassemble(tools: Tools, *arguments: str | Path) -> Iterable[tuple[int, Instruction]]:
    comment = re.compile(r"\s*(#|<).*" if tools.x86 else r"\s*(//|<).*")
    for line in output(tools.objdump, "-w", *arguments).splitlines():
        address, *rest = line.split("\t")
        if len(rest) < 2 or not address.endswith(":"):
            continue
        code = bytes.fromhex(rest[0].replace(" ", ""))
        text = comment.sub("", " ".join(rest[1:])).strip()
        yield int(address[:-1], 16), Instruction(code if tools.x86 else code[::-1], text)


def functions(tools: Tools, library: Path) -> list[Function]:
    """All of .text: the functions that .eh_frame bounds, and the code between them, split at symbols."""
    header = re.search(r"\.text +PROGBITS +(\w+) \w+ (\w+)", output("readelf", "-SW", library))
    assert header
    low = int(header[1], 16)
    high = low + int(header[2], 16)
    frames = output("readelf", "--debug-dump=frames-interp", library)
    bounds = {(int(a, 16), int(b, 16)) for a, b in re.findall(r"FDE .* pc=(\w+)\.\.(\w+)", frames)}
    symbols = {}
    for line in output("readelf", "--dyn-syms", "-W", library).splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[3] == "FUNC" and fields[6] != "UND":
            symbols[int(fields[1], 16)] = fields[7].split("@")[0]
    functions_in_order = []
    position = low
    for start, end in [*sorted((a, b) for a, b in bounds if low <= a < b <= high), (high, high)]:
        bounds_of_gap = [position, *sorted(symbol for symbol in symbols if position < symbol < start), start]
        functions_in_order += [Function(a, b) for a, b in itertools.pairwise(bounds_of_gap) if a < b]
        if start < end:
            functions_in_order.append(Function(start, end))
        position = max(position, end)
    functions_left = iter(functions_in_order)
    current = next(functions_left)
    for address, instruction in disassemble(tools, "-d", "-j", ".text", library):
        while address >= current.end:
            current = next(functions_left)
        current.instructions.append(instruction)
    for function in functions_in_order:
        function.name = symbols.get(function.start, "")
    return functions_in_order


def form(tools: Tools, instruction: Instruction) -> str:
    """The common form of instructions that differ only in operands, so that only one of them is assembled. Empty if the
    instruction is in the baseline, or unknown."""
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
    # The prefix makes the assembler use the same encoding.
    first = re.sub(rb"^[\x2e\x36\x3e\x26\x64\x65\x67]+", b"", instruction.code)[:1]
    if not text.startswith("{"):
        text = {b"\x62": "{evex} ", b"\xc4": "{vex} ", b"\xc5": "{vex} "}.get(first, "") + text
    return text


def find_needed_features(tools: Tools, forms: list[str]) -> dict[str, set[str]]:
    """The features that the assembler requires for each form that it knows."""
    needs: dict[str, set[str]] = {text: set() for text in forms}
    for feature in ["", *tools.features]:
        name = ASSEMBLER.get(feature, feature)
        disabled = ("" if tools.x86 else "nothing") if not name else f"no{name}"
        if tools.x86:
            head = f".arch .{disabled}" if disabled else ""
        else:
            extensions = [ASSEMBLER.get(extension, extension) for extension in tools.features if extension != "fcma"]
            head = ".arch armv8.6-a+" + "+".join([*extensions, "sme-f64", "sme-i64", "f64mm", "f32mm", "sve2-bitperm"])
            head += f"; .arch_extension {disabled}" if name else ""
        text = "\n".join([head, *forms]) + "\n"
        errors = call(*tools.assembler, "-o", os.devnull, "-", input=text, env={**os.environ, "LC_ALL": "C"}).stderr
        for line in re.findall(r"^\{standard input\}:(\d+): Error", errors, re.MULTILINE):
            needs[forms[int(line) - 2]].add(feature)
    return {text: to_etprof_features(tools, features) for text, features in needs.items() if "" not in features}


def to_etprof_features(tools: Tools, features: set[str]) -> set[str]:
    """Converts the assembler's features to those of etprof's table.

    For the assembler, SVE includes FCMA, SME includes SVE2, and all of FCMA needs FP16, not only the half-precision forms.
    """
    if tools.x86:
        return features
    without = {"fcma"} if "sve" in features else {"fp16"} if "fcma" in features else set()
    return features - without - ({"sve", "sve2"} if "sme" in features else set())


def misread(tools: Tools, instruction: Instruction) -> bool:
    """True if binutils 2.40 disassembles another instruction, since it does not test all bits."""
    text, word = instruction.text, int.from_bytes(instruction.code[:4], "little")
    if tools.x86:  # these instructions require prefix 66
        return text.startswith(("vrsqrt14p", "vdbpsadbw", "vpshldw", "vpshrdw")) and instruction.code[2] & 3 == 0
    # WHILE with predicates as counters, which is part of SME2, and encodings that do not exist.
    fmlal = re.match(r"fml[as]l2? v[^[]*$", text) is not None
    return (text.startswith("psel") and word & 0x10 != 0) or (fmlal and word & 0x400000 != 0)


def differing(tools: Tools, forms: dict[str, Instruction], needs: dict[str, set[str]]) -> list[str]:
    checkable = [
        text for text in forms if text in needs and not NOP.match(forms[text].text) and not misread(tools, forms[text])
    ]
    classes = classify(tools, (forms[text].code for text in checkable))
    return [
        f"{forms[text].text} ({forms[text].code.hex()}): {actual}, wanted {expected}"
        for text, actual in zip(checkable, classes, strict=True)
        if actual != (expected := level(tools, [forms[text]], needs))
        and not same_class(tools, actual, expected, needs[text])
    ]


def same_class(tools: Tools, actual: str, expected: str, features: set[str]) -> bool:
    """True if the classes differ only in a way that binutils does not show.

    is_vector guesses from the text, and the assembler requires FP16 for all of FCMA.
    """
    base = {"scalar", "SSE2"} if tools.x86 else {"scalar", *(name for name in tools.levels if name.startswith("NEON"))}
    scalar = "scalar" in (actual, expected) or not features
    return actual in base and expected in base and (scalar or "fcma" in features)


def is_vector(tools: Tools, text: str) -> bool:
    """True if the mnemonic and the registers are those of a vector instruction, except for copies, constants, and bitwise
    operations."""
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
    is_register_copy = re.fullmatch(r"\S+ +%xmm\d+,%xmm\d+", text) is not None
    if re.match(r"(and|andn|or|xor)p[sd]$|p(and|andn|or|xor)$", name):
        return False
    if re.match(r"mov([au]p[sd]|dq[au])$", name):
        return not is_register_copy
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
    return next((name for name, features in tools.levels.items() if features & uses), "scalar")


def check_library(tools: Tools, library: Path) -> None:
    all_functions = functions(tools, library)
    forms: dict[str, Instruction] = {}
    for instruction in itertools.chain.from_iterable(function.instructions for function in all_functions):
        forms.setdefault(form(tools, instruction), instruction)
    forms.pop("", None)
    needs = find_needed_features(tools, list(forms))
    assert len(needs) > 0.99 * len(forms) > 5000
    assert differing(tools, forms, needs) == []

    classes = classify(tools, (function.code for function in all_functions))
    wrong = []
    for function, actual in zip(all_functions, classes, strict=True):
        undecodable = sum("(bad)" in instruction.text for instruction in function.instructions)
        if not undecodable and actual != level(tools, function.instructions, needs):
            wrong.append(
                f"{level(tools, function.instructions, needs)} expected of {function.start:#x} {function.name}: {actual}"
            )
    assert wrong == []
    check_names({function.name: actual for function, actual in zip(all_functions, classes, strict=True)})


# The instruction set in a kernel's name (the first match counts), and the classes that such a kernel may have.
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
    # XNNPACK's scalar kernels are portable C, which the compiler may vectorize for the baseline.
    ("__scalar", {"scalar", "SSE2", "NEON"}),
]


def check_names(classes: dict[str, str]) -> None:
    compared, wrong = 0, []
    for name, actual in classes.items():
        if not re.match(r"xnn_\w+_ukernel_|kai_(run|kernel)_", name) or re.search(r"_get_[mn]r$", name):
            continue
        allowed_classes = next((allowed for part, allowed in NAMES if part in f"{name}_"), None)
        # kai_run_x checks its arguments and calls kai_kernel_x, if that exists.
        if allowed_classes is None or (
            name.replace("kai_run_", "kai_kernel_") in classes and name.startswith("kai_run_")
        ):
            continue
        compared += 1
        if actual not in allowed_classes:
            wrong.append(f"{name}: {actual}")
    assert compared > 40
    assert wrong == []


def check_encodings(tools: Tools, codes: list[bytes], folder: Path) -> None:
    """Compares objdump and the assembler with etprof for encodings that no library has."""
    step = 16 if tools.x86 else 4
    flat = folder / "code.bin"
    flat.write_bytes(b"".join(code.ljust(step, b"\x90") for code in codes))
    forms: dict[str, Instruction] = {}
    for address, instruction in disassemble(tools, "-D", *tools.flat, flat):
        if address % step == 0 and "undefined" not in instruction.text:
            forms.setdefault(form(tools, instruction), instruction)
    forms.pop("", None)
    needs = find_needed_features(tools, list(forms))
    assert len(needs) > 3000
    # Skip instructions of the Knights processors, which XNNPACK does not support and etprof has no rules for.
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
    rng = random.Random(20261125)  # noqa: S311
    codes = []
    for _ in range(40000):
        group = rng.choice([0, 2, 2, 2, 7, 15])  # bits 28 to 25
        word = rng.getrandbits(32) & ~(15 << 25) | group << 25 | (0 if group else 1 << 31)
        codes.append(word.to_bytes(4, "little"))
    check_encodings(ARM, codes, tmp_path)
