#pragma once

#include <filesystem>
#include <string>

#include "core/file/file.h"
#include "format/program/program.h"

namespace etprof {

// Reads a .pte, a FlatBuffer of schema/program.fbs with the identifier "ET12". After the identifier, at byte
// 8, there may be an extended header: "eh00", u32 length of the header, u64 size of the FlatBuffer, u64
// offset of the first segment (0: none) and, in longer headers, u64 size of all segments. Segments follow the
// FlatBuffer: constants, payloads of delegates, named data. (exir/_serialize/_program.py.)
//
// Reads only the structure, never weights: the time depends only on the size of the FlatBuffers. `file_name`
// is only used in messages. Throws Error (kBadInput) with the offset if the file is not a .pte, is truncated,
// or has an invalid offset. The memory use is proportional to the FlatBuffers, whatever they refer to.
//
// In a bundled program (bundled_program.h), the program within it is read, and offsets are relative to that
// program.
Program ReadProgram(ByteView bytes, const std::string& file_name);
Program ReadProgramFile(const std::filesystem::path& path);

// Throws as ReadProgram unless the first bytes are those of a complete program, in any version of the format.
void CheckIsProgram(ByteView bytes, const std::string& file_name);

}  // namespace etprof
