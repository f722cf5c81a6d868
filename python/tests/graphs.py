"""XNNPACK's graphs as ExecuTorch's own schema has them, for tests that need another reading than etprof's."""

import importlib.resources
import json
import re
from pathlib import Path

import executorch.backends.xnnpack.serialization as xnnpack_schema
from executorch.backends.xnnpack.serialization.xnnpack_graph_serialize import XNNHeader
from executorch.exir._serialize._flatbuffer import _flatc_decompile

NO_ID = 2**32 - 1
INPUT_FIELDS = ["input_id", "input1_id", "input2_id", "input3_id", "input4_id", "input5_id", "filter_id", "bias_id"]


def graph_of(payload: bytes, folder: Path) -> dict:
    """The graph of an XNNPACK payload as flatc and ExecuTorch's schema read it."""
    header = XNNHeader.from_bytes(payload[: XNNHeader.EXPECTED_LENGTH])
    schema_file = folder / "schema.fbs"
    schema_file.write_bytes(importlib.resources.files(xnnpack_schema).joinpath("schema.fbs").read_bytes())
    flatbuffer = folder / "graph.bin"
    flatbuffer.write_bytes(payload[header.flatbuffer_offset :][: header.flatbuffer_size])
    _flatc_decompile(str(folder), str(schema_file), str(flatbuffer), ["--raw-binary"])
    text = (folder / "graph.json").read_text()
    return json.loads(re.sub(r"(: -?)inf\b", r"\1Infinity", text))


def inputs_of(node: dict) -> list[int]:
    """The ids of the values that an entry of `xnodes` reads, in the order of its arguments."""
    union = node["xnode_union"]
    used = [field for field in INPUT_FIELDS if field in union]
    if node["xnode_union_type"].startswith("XNNConcatenate"):
        used = used[: int(node["xnode_union_type"][-1])]
    return [union[field] for field in used if union[field] != NO_ID]
