#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace etprof {

// Without the blanks (space, tab, CR, newline) at both ends.
std::string_view Trimmed(std::string_view text);

// The last line that says something, without the blanks behind it; empty where none does.
std::string LastLine(std::string_view text);

// Split at blanks; none is empty.
std::vector<std::string> Words(const std::string& text);

}  // namespace etprof
