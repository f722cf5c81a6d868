#include "measure/participants/unpacked_program.h"

#include <ostream>
#include <system_error>

#include "core/error.h"
#include "core/file/file.h"
#include "core/tensors/safetensors.h"
#include "format/program/read/bundled_program.h"

namespace etprof {
namespace {

std::filesystem::path WriteTensors(const std::filesystem::path& program, const char* ending,
                                   const SavedValues& values) {
  if (values.empty()) return {};
  std::filesystem::path path = program;
  path += ending;
  WriteSafetensors(path, values.tensors, values.metadata);
  return path;
}

}  // namespace

void UnpackedProgram::Remove() const {
  std::error_code error;
  for (const auto& path : {program, inputs, expected_outputs}) {
    if (!path.empty()) std::filesystem::remove(path, error);
  }
}

std::optional<UnpackedProgram> UnpackProgram(const std::filesystem::path& model,
                                             const std::filesystem::path& program) {
  const MappedFile file = MappedFile::Open(model);
  if (!IsBundledProgram(file.bytes())) return std::nullopt;
  const BundledProgram bundled = ReadBundledProgram(file.bytes(), model.string());
  std::filesystem::create_directories(program.parent_path());
  WriteFileAtomically(program, [&](std::ostream& out) {
    out.write(reinterpret_cast<const char*>(bundled.program.data()),
              static_cast<std::streamsize>(bundled.program.size()));
  });
  UnpackedProgram unpacked{.program = program, .inputs = {}, .tested_methods = {}, .expected_outputs = {}};
  for (const Program::TestCases& tests : bundled.test_cases) {
    if (tests.count > 0) unpacked.tested_methods.insert(tests.method);
  }
  try {
    unpacked.inputs = WriteTensors(program, ".inputs", bundled.inputs);
    unpacked.expected_outputs = WriteTensors(program, ".expected", bundled.expected_outputs);
  } catch (const Error&) {
    unpacked.Remove();
    throw;
  }
  return unpacked;
}

}  // namespace etprof
