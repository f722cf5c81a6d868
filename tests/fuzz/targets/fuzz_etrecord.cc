// The input is a .pte.etrecord if it begins like a zip file ("P"). Otherwise the first byte is skipped, and
// the rest has the contents of a zip, since a fuzzer hardly finds valid checksums: the edge program and,
// after a NUL, debug_handle_map.

#include <minizip/zip.h>

#include <filesystem>

#include "format/program/source/etrecord.h"
#include "fuzz.h"

namespace {

using namespace etprof;

void AddEntry(zipFile zip, const char* name, std::string_view text) {
  fuzz::Require(
      zipOpenNewFileInZip64(zip, name, nullptr, nullptr, 0, nullptr, 0, nullptr, 0, 0, 0) == ZIP_OK &&
          zipWriteInFileInZip(zip, text.data(), static_cast<unsigned>(text.size())) == ZIP_OK &&
          zipCloseFileInZip(zip) == ZIP_OK,
      "an entry could be written");
}

std::filesystem::path WriteZip(std::string_view edge, std::string_view handles) {
  const std::filesystem::path path = fuzz::ScratchFolder() / "zipped.etrecord";
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  fuzz::Require(zip != nullptr, "the archive could be created");
  AddEntry(zip, "edge_dialect_exported_program/forward", edge);
  AddEntry(zip, "debug_handle_map", handles);
  fuzz::Require(zipClose(zip, nullptr) == ZIP_OK, "the archive could be closed");
  return path;
}

std::filesystem::path MakeRecordFile(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || data[0] == 'P') return fuzz::ScratchFile("x.etrecord", fuzz::Bytes(data, size));
  const std::string text = fuzz::Text(data + 1, size - 1);
  const std::size_t split = text.find('\0');
  if (split == std::string::npos) return WriteZip(text, "{}");
  return WriteZip(std::string_view(text).substr(0, split), std::string_view(text).substr(split + 1));
}

}  // namespace

ETPROF_FUZZ_TARGET(etrecord) {
  fuzz::Accepts({ExitCode::kBadInput}, [&] {
    const SourceMap map = ReadEtrecord(MakeRecordFile(data, size));
    fuzz::Require(!map.methods.empty(), "a record that is accepted has a method");
    for (const auto& [name, method] : map.methods) {
      for (const auto& [handle, nodes] : method.handles) {
        for (const std::size_t node : nodes)
          fuzz::Require(node < method.nodes.size(), "a handle's nodes are nodes of its method");
        fuzz::Require(method.FindNodes(handle).size() == nodes.size(), "a handle's nodes are found by it");
      }
      for (const SourceNode& node : method.nodes) {
        for (const SourceFrame& frame : node.frames) fuzz::Require(frame.line >= 0, "lines are not negative");
        const SourceFrame* frame = ModelFrame(node);
        fuzz::Require(frame == nullptr ||
                          (frame >= node.frames.data() && frame < node.frames.data() + node.frames.size()),
                      "the model's line is one of its frames");
      }
    }
  });
  return 0;
}
