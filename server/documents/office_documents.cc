// DOCX and PPTX: Office Open XML (ECMA-376).
#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "server/documents/office_runs.h"
#include "server/documents/package_document.h"
#include "server/documents/readers.h"
#include "server/documents/xml_tokens.h"

namespace trivium {
namespace {

struct OfficeKind {
  const char* name;  // "DOCX"
  const RE2* parts;  // names of the parts with text
  const char* needed;
  const RunNames& runs;
  std::string_view attribute;  // of the root: the namespace of the runs
  std::string_view namespaces[2];
};

absl::StatusOr<std::unique_ptr<Document>> ReadOffice(const OfficeKind& kind,
                                                     std::string_view data) {
  auto package = ZipPackage::Open(data);
  const auto not_it = [&kind](const absl::Status& status) {
    return InPart(fmt::format("this is not a {} file", kind.name), status);
  };
  if (!package.ok()) return not_it(package.status());
  auto document = std::make_unique<PackageDocument>(data);
  bool found = false;
  size_t tokens_left = kMostXmlTokens;
  for (const std::string& name : package->Names()) {
    if (!RE2::FullMatch(name, *kind.parts)) continue;
    found |= name.starts_with(kind.needed);
    TRIVIUM_ASSIGN_OR_RETURN(DecodedText source, ReadXmlPart(name, &*package));
    const auto tokens = XmlTokensOf(source.text, tokens_left);
    if (!tokens.ok()) return InPart(name, tokens.status());
    tokens_left -= tokens->size();
    const auto root =
        std::find_if(tokens->begin(), tokens->end(),
                     [](const XmlToken& token) { return token.opens(); });
    const std::string space = root->Attribute(kind.attribute);
    if (space != kind.namespaces[0] && space != kind.namespaces[1]) {
      return InPart(name, absl::InvalidArgumentError(fmt::format(
                              "its elements are not those of {} ({})",
                              kind.name, kind.attribute)));
    }
    SegmentBuilder builder = ReadRuns(kind.runs, name, *tokens);
    auto part = NewTextDocument(std::move(source), std::move(builder),
                                DecodedText::Missing::kReference);
    if (!part.ok()) return InPart(name, part.status());
    TRIVIUM_RETURN_IF_ERROR(document->Add(name, *std::move(part)));
  }
  if (!found) {
    return not_it(
        absl::InvalidArgumentError(fmt::format("it has no {}", kind.needed)));
  }
  return document;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadDocx(
    std::string_view data, const DocumentOptions& options) {
  static const RE2& parts = *new RE2(
      R"(word/(?:document|header\d*|footer\d*|footnotes|endnotes)\.xml)");
  return ReadOffice(
      {"DOCX",
       &parts,
       "word/document.xml",
       WordRuns(),
       "xmlns:w",
       {"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
        "http://purl.oclc.org/ooxml/wordprocessingml/main"}},
      data);
}

absl::StatusOr<std::unique_ptr<Document>> ReadPptx(
    std::string_view data, const DocumentOptions& options) {
  static const RE2& parts =
      *new RE2(R"(ppt/(?:slides/slide|notesSlides/notesSlide)\d+\.xml)");
  return ReadOffice({"PPTX",
                     &parts,
                     "ppt/slides/slide",
                     DrawingRuns(),
                     "xmlns:a",
                     {"http://schemas.openxmlformats.org/drawingml/2006/main",
                      "http://purl.oclc.org/ooxml/drawingml/main"}},
                    data);
}

}  // namespace trivium
