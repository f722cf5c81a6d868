#pragma once

#include <functional>
#include <ostream>

namespace etprof {

// Streams what `write` produces to `out`, compressed by zlib as one gzip member (RFC 1952). If `out` fails,
// the stream that `write` gets fails, too.
void WriteGzip(std::ostream& out, const std::function<void(std::ostream&)>& write);

}  // namespace etprof
