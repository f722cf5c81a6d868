#pragma once

#include <functional>
#include <ostream>

namespace etprof {

// Streams what `write` writes to `out`, compressed as one gzip member (RFC 1952) by zlib. Where `out` fails,
// so does the stream that `write` gets.
void WriteGzip(std::ostream& out, const std::function<void(std::ostream&)>& write);

}  // namespace etprof
