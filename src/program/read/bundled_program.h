#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/file/file.h"
#include "core/tensors/safetensors.h"
#include "program/program.h"

namespace etprof {

// What WriteSafetensors takes: value i of method m is named "m/i"; what is not a tensor stands in the
// metadata as JSON {"type", "value"}, as in an .inputs file.
struct SavedValues {
  std::vector<std::pair<std::string, TensorBytes>> tensors;
  std::map<std::string, std::string> metadata;
  std::deque<std::vector<std::byte>> copies;  // what tensors point to that are not row-major in the file

  bool empty() const { return tensors.empty() && metadata.size() <= 1; }  // one: the format's name
};

// A program with test cases of its methods: a .bpte is a FlatBuffer of devtools/bundled_program's
// bundled_program_schema.fbs, identifier "BP08".
struct BundledProgram {
  ByteView program = {};  // the .pte, within the file
  std::vector<Program::TestCases> test_cases = {};
  SavedValues inputs = {}, expected_outputs = {};  // of each method's first test case
};

bool IsBundledProgram(ByteView bytes);

// Throws Error (kBadInput), with the offset, for what is malformed or cut short.
BundledProgram ReadBundledProgram(ByteView bytes, const std::string& file_name);

// The program in a file without the values of test cases: of a bundled program the one within it, else all of
// the file. Throws as ReadBundledProgram.
BundledProgram ProgramIn(ByteView bytes, const std::string& file_name);

}  // namespace etprof
