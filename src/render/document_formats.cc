#include "render/document.h"

namespace etprof {
namespace {

void DocumentAsMarkdown(const say::Document& document, std::ostream& out) {
  RenderDocumentMarkdown(document, 1, out);
}

constexpr DocumentFormat kDocumentFormats[] = {
    {"html", "as a page, which opens from disk", RenderDocumentHtml},
    {"markdown", "as Markdown", DocumentAsMarkdown},
    {"document", "as JSON for programs that show any result (docs/reference/json.md)", RenderDocumentJson}};

}  // namespace

std::span<const DocumentFormat> DocumentFormats() { return kDocumentFormats; }

}  // namespace etprof
