#include <nlohmann/json.hpp>

#include "core/json/json_members.h"
#include "core/json/json_schema_of.h"
#include "core/views.h"
#include "show/formats.h"
#include "show/formats/printed_table.h"

namespace etprof {

template <>
inline constexpr const char* kNames<show::Row::Role>[] = {"plain", "part", "sum"};

namespace {

struct PartJson {
  const show::Part& source;

  template <typename T>
  static const T* GetIf(const PartJson& json) {
    return std::get_if<T>(&json.source);
  }
  static std::optional<show::Table> MakeTable(const PartJson& json) {
    const auto* const table = GetIf<show::Table>(json);
    return table != nullptr ? std::optional(PrintedTable(*table)) : std::nullopt;
  }

  static constexpr const char* kSchemaName = "part";
  static void Describe(auto& v) {
    v("paragraph", &GetIf<show::Paragraph>, {.meaning = "plain text", .omit_if_empty = true});
    v("table", &MakeTable, {.meaning = "of cells", .omit_if_empty = true});
    v("list", &GetIf<show::List>, {.meaning = "of sentences", .omit_if_empty = true});
    v("facts", &GetIf<show::Facts>,
      {.meaning = "what is the same in all of the subject", .omit_if_empty = true});
    v("chart", &GetIf<show::Chart>, {.meaning = "series of values", .omit_if_empty = true});
  }
};

struct SectionJson {
  const show::Section& source;
  bool appendix;

  // All parts except pictures, which only screens show: a table contains their values.
  std::vector<PartJson> Parts() const {
    std::vector<PartJson> parts;
    for (const show::Part& part : source.parts) {
      if (!show::IsPicture(part)) parts.push_back({part});
    }
    return parts;
  }

  static void Describe(auto& v) {
    v("title", &show::Section::title, show::kOmittedIfEmpty.WithMeaning("above it"));
    v("level", &show::Section::visibility, show::kVisibilityInfo);
    v("appendix", show::UnlessDefault(&SectionJson::appendix, false),
      {.meaning = "whether a page has it behind the notes; no key: before them", .omit_if_empty = true});
    v("parts", &SectionJson::Parts, {.meaning = "each has one key, which says what it is"});
  }
};

struct DocumentJson {
  const show::Document& source;

  static void Describe(auto& v) {
    using J = const DocumentJson&;
    DescribeSchemaVersion(v);
    v("title", &show::Document::title, {.meaning = "of the command and its subject"});
    v("facts", &show::Document::facts, {.meaning = "beside the title"});
    v("answers", &show::Document::answers, {.meaning = "what a reader wants to know first"});
    v("measured", &show::Document::measured,
      {.meaning = "what they are of: launches, rounds, seconds", .omit_if_empty = true});
    v("sections_are", &show::Document::section_kind,
      {.meaning = "what the titles of sections name", .omit_if_empty = true});
    v("sections",
      [](J json) {
        std::vector<SectionJson> sections;
        for (const show::Section& section : json.source.sections)
          sections.push_back({.source = section, .appendix = false});
        for (const show::Section& section : json.source.appendix)
          sections.push_back({.source = section, .appendix = true});
        return sections;
      },
      {.meaning = "from top to bottom"});
    v("notes_title", &show::Document::notes_title, show::kOmittedIfEmpty.WithMeaning("of a page"));
    v("notes",
      [](J json) {
        return MapEach(json.source.notes,
                       [&](const show::Note& note) { return show::ToText(note, json.source.time_range); });
      },
      {.meaning = "what one has to know to trust it"});
    v("method", &show::Document::method, {.meaning = "how it was found out", .omit_if_empty = true});
  }
};

}  // namespace

void RenderDocumentJson(const show::Document& document, std::ostream& out) {
  WriteJson(DocumentJson{document}, 1, out);
}

nlohmann::ordered_json DocumentSchema() {
  return MakeSchema<DocumentJson>(
      "A document of etprof: what is said of any subject",
      "What a screen, report.md, or the page shows, as data. Texts are plain. Not there: what only a screen "
      "needs, as widths.");
}

}  // namespace etprof
