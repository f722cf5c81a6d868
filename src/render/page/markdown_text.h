#pragma once

#include <ostream>
#include <string>

#include "core/escape.h"
#include "core/table.h"

// What the files that write Markdown share.
namespace etprof::markdown {

// A file of Markdown: what is written as a literal or a table is Markdown; every other text is anybody's, and
// is shown as it is (EscapeMarkdown).
class Out {
 public:
  explicit Out(std::ostream& out) : out_(out) {}

  // A literal: nobody else's text is of this type.
  Out& operator<<(const char* markup) {
    out_ << markup;
    return *this;
  }
  Out& operator<<(char markup) {
    out_ << markup;
    return *this;
  }
  Out& operator<<(int number) {
    out_ << number;
    return *this;
  }
  Out& operator<<(const std::string& text) {
    out_ << EscapeMarkdown(text);
    return *this;
  }
  Out& operator<<(const Table& table) {
    out_ << table.ToMarkdown();
    return *this;
  }

 private:
  std::ostream& out_;
};

}  // namespace etprof::markdown
