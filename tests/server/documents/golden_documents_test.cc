// Goldens of documents, tests/golden/documents/: their texts, and the documents
// that translations of these make. Another implementation made them: the Python
// client's, which these readers replaced.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "nlohmann/json.hpp"
#include "server/documents/document.h"
#include "server/documents/document_segment.h"
#include "server/documents/zip_package.h"

namespace trivium {
namespace {

using nlohmann::json;

std::string Bytes(const json& base64) {
  std::string out;
  EXPECT_TRUE(absl::Base64Unescape(base64.get<std::string>(), &out));
  return out;
}

std::string NameOf(SegmentText::Format format) {
  // The only format of the goldens with its own markup.
  if (format == SegmentText::Format::kMarkup) return "MARKDOWN";
  return format == SegmentText::Format::kHtml ? "HTML" : "PLAIN";
}

// The parts of an archive, since its compressed bytes depend on a library.
std::map<std::string, std::string> PartsOf(const std::string& data) {
  std::map<std::string, std::string> parts;
  auto package = ZipPackage::Open(data);
  EXPECT_TRUE(package.ok()) << package.status();
  if (!package.ok()) return parts;
  for (const std::string& name : package->Names()) {
    auto part = package->Read(name);
    EXPECT_TRUE(part.ok()) << part.status();
    if (part.ok()) parts[name] = *part;
  }
  return parts;
}

void CheckRender(const Document& document, const json& render, bool packed) {
  std::vector<std::optional<std::string>> translations;
  for (const json& one : render["translations"]) {
    translations.push_back(
        one.is_null() ? std::nullopt : std::optional(one.get<std::string>()));
  }
  const auto made = document.Render(translations);
  if (render.contains("error")) {
    EXPECT_FALSE(made.ok());
    return;
  }
  ASSERT_TRUE(made.ok()) << made.status();
  const std::string expected = Bytes(render["out"]);
  if (*made == expected) return;
  if (packed) {
    EXPECT_EQ(PartsOf(*made), PartsOf(expected));
  } else {
    EXPECT_EQ(*made, expected);
  }
}

void CheckDocument(const json& golden) {
  DocumentOptions options;
  for (const auto& [name, value] : golden["options"].items()) {
    if (name == "target_language") options.target_language = value;
    if (name == "encoding") options.encoding = value;
    if (name == "retranslate") options.retranslate = value;
    if (name == "keys") options.keys = value;
    if (name == "only") options.only_keys = value;
  }
  const std::string format = golden["format"];
  const std::string data = Bytes(golden["data"]);
  SCOPED_TRACE(format + ": " + data.substr(0, 2000));
  const auto document = FindDocumentFormat(format)->read(data, options);
  if (golden.contains("error")) {
    EXPECT_FALSE(document.ok());
    return;
  }
  ASSERT_TRUE(document.ok()) << document.status();
  json segments = json::array();
  for (const DocumentSegment* one : (*document)->segments()) {
    segments.push_back({one->place, one->sent.text, NameOf(one->sent.format)});
  }
  ASSERT_EQ(segments, golden["segments"]);
  for (const json& render : golden["renders"]) {
    CheckRender(**document, render, format == "docx" || format == "pptx");
  }
}

TEST(GoldenDocuments, BecomeWhatTheyMust) {
  const char* const folder = std::getenv("TRIVIUM_DOCUMENT_GOLDENS");
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           folder == nullptr ? "tests/golden/documents" : folder)) {
    std::ifstream file(entry.path());
    for (std::string line; std::getline(file, line); ++count) {
      CheckDocument(json::parse(line));
    }
  }
  EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace trivium
