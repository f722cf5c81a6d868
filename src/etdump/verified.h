#pragma once

#include <string>

#include "core/file.h"
#include "etdump_schema_flatcc_generated.h"

namespace etprof {

// The root of a verified ETDump inside `bytes`: every offset below it may be followed. Throws Error
// (kBadInput) for what is not an ETDump, is cut short or is malformed. `root_offset` receives where the
// FlatBuffer begins in `bytes`.
const ::etdump::ETDump& VerifiedEtdump(ByteView bytes, const std::string& file_name,
                                       std::size_t* root_offset = nullptr);

}  // namespace etprof
