// All of fmt that is not in its headers for those who link it, as functions of this file (StaticFmt.cmake).
#include <fmt/format.h>

#include <cstdio>
#include <locale>
#include <string>

namespace {

// Using a template instantiates it in this file.
[[gnu::used]] std::string UseAll(std::FILE* file) {
  fmt::vprint(file, "{}", fmt::make_format_args("text"));
  const std::string numbers =
      fmt::format("{} {:.3f} {:e} {:a} {} {:#x} {:+}", 1.5, 1.5F, 2.5, 3.5, 7, 255U, -1LL);
  return numbers + fmt::format(std::locale(), "{:L} {:.2Lf}", 1234567, 0.5) +
         fmt::format("{:>8} {}", "x", 'c') +
         fmt::format("{:{}.{}g} {:n<9}", 1.0L, 10, 3, static_cast<const void*>(file));
}

}  // namespace
