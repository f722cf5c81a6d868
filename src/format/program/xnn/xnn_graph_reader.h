#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "format/program/read/source.h"
#include "format/program/xnn/xnn_graph.h"

namespace etprof {

// Reads the payload of an XNNPACK delegate: a header (4 bytes of zero, "XH00", u16 length of the header, u32
// offset and u32 size of the FlatBuffer, u32 offset and u64 size of the constants; offsets from the payload's
// start), then a FlatBuffer of backends/xnnpack/serialization/schema.fbs, then constants. Older payloads have
// no header: the FlatBuffer begins at the start. (backends/xnnpack/serialization/xnnpack_graph_serialize.py.)
//
// `named_bytes` contains the sizes of the .pte's named data. Throws the Error of Source::MakeError.
XnnGraph ReadXnnGraph(Source& source, std::uint64_t offset, std::uint64_t length,
                      const std::map<std::string, Bytes>& named_bytes);

}  // namespace etprof
