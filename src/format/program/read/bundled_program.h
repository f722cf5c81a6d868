#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/file/file.h"
#include "core/tensors/safetensors.h"
#include "format/program/program.h"

namespace etprof {

// Values in the form that WriteSafetensors expects: value i of method m is named "m/i". Values other than
// tensors are in the metadata as JSON {"type", "value"}, as in an .inputs file.
struct SavedValues {
  std::vector<std::pair<std::string, TensorBytes>> tensors;
  std::map<std::string, std::string> metadata;
  std::deque<std::vector<std::byte>> copies;  // row-major copies of tensors in another order

  bool empty() const { return tensors.empty() && metadata.size() <= 1; }  // one entry is the format's name
};

// A program with test cases for its methods. A .bpte is a FlatBuffer of devtools/bundled_program's
// bundled_program_schema.fbs with the identifier "BP08".
struct BundledProgram {
  ByteView program = {};  // the .pte in the file
  std::vector<Program::TestCases> test_cases = {};
  SavedValues inputs = {}, expected_outputs = {};  // values of the first test case of each method
};

bool IsBundledProgram(ByteView bytes);

// Throws Error (kBadInput) with the offset if the file is malformed or truncated.
BundledProgram ReadBundledProgram(ByteView bytes, const std::string& file_name);

// Finds the program in a file, without reading the values of test cases: the program in a bundled program,
// otherwise the whole file. Throws as ReadBundledProgram.
BundledProgram ExtractProgram(ByteView bytes, const std::string& file_name);

}  // namespace etprof
