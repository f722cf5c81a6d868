#pragma once

#include <filesystem>
#include <string>

#include "core/file/file.h"
#include "program/program.h"

namespace etprof {

// A .pte is a FlatBuffer of schema/program.fbs, identifier "ET12". Behind the identifier, at byte 8, an
// extended header may stand: "eh00", u32 length of the header, u64 size of the FlatBuffer, u64 offset of the
// first segment (0: none) and, in longer headers, u64 size of all segments. Segments lie behind the
// FlatBuffer: constants, payloads of delegates, named data. (exir/_serialize/_program.py.)
//
// Reads structure only, never weights: a file of any size is read in the time of its FlatBuffers. `file_name`
// is for messages. Throws Error (kBadInput), with the offset, for what is not a .pte, is cut short, or points
// anywhere outside of what it may. Memory: of the order of the FlatBuffers, whatever they refer to.
//
// Of a bundled program (bundled_program.h) the program within it is read, and offsets are within that.
Program ReadProgram(ByteView bytes, const std::string& file_name);
Program ReadProgramFile(const std::filesystem::path& path);

// Whether a file is a program of some version of the format and is all there, by its first bytes. Throws as
// ReadProgram.
void CheckIsProgram(ByteView bytes, const std::string& file_name);

}  // namespace etprof
