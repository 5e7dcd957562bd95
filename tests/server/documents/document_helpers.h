#ifndef TRIVIUM_TESTS_SERVER_DOCUMENTS_DOCUMENT_HELPERS_H_
#define TRIVIUM_TESTS_SERVER_DOCUMENTS_DOCUMENT_HELPERS_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/documents/document.h"
#include "server/documents/document_segment.h"
#include "server/documents/zip_package.h"
#include "tests/support/error_texts.h"

namespace trivium {

inline absl::StatusOr<std::unique_ptr<Document>> ReadAs(
    const std::string& format, const std::string& data,
    const DocumentOptions& options = {}) {
  return FindDocumentFormat(format)->read(data, options);
}

inline std::vector<std::string> TextsOf(const std::string& format,
                                        const std::string& data) {
  std::vector<std::string> texts;
  const auto document = ReadAs(format, data);
  EXPECT_TRUE(document.ok()) << document.status();
  if (!document.ok()) return texts;
  for (const DocumentSegment* one : (*document)->segments()) {
    texts.push_back(one->sent.text);
  }
  return texts;
}

// The document with each text in capitals, but for tags and entities.
inline absl::StatusOr<std::string> RenderInCapitals(
    const std::string& format, const std::string& data,
    const DocumentOptions& options = {}) {
  const auto document = ReadAs(format, data, options);
  if (!document.ok()) return document.status();
  std::vector<std::optional<std::string>> translations;
  for (const DocumentSegment* one : (*document)->segments()) {
    std::string text = one->sent.text;
    bool in_tag = false;
    for (char& c : text) {
      if (c == '<' || c == '&') in_tag = true;
      if (!in_tag) c = absl::ascii_toupper(c);
      if (c == '>' || c == ';') in_tag = false;
    }
    translations.emplace_back(std::move(text));
  }
  return (*document)->Render(translations);
}
inline std::string InCapitals(const std::string& format,
                              const std::string& data,
                              const DocumentOptions& options = {}) {
  const auto out = RenderInCapitals(format, data, options);
  EXPECT_TRUE(out.ok()) << out.status();
  return out.value_or("");
}

// Fails unless the document is refused with an error that names `place`.
inline void ExpectRefused(const std::string& format, const std::string& data,
                          const std::string& place) {
  EXPECT_THAT(ReadAs(format, data),
              IsError(absl::StatusCode::kInvalidArgument, place));
}

// Bytes of a number, the lowest first.
inline std::string Number(uint32_t value, int bytes) {
  std::string out;
  for (; bytes > 0; --bytes, value >>= 8) out += static_cast<char>(value);
  return out;
}

// An archive of empty parts, compressed.
inline std::string EmptyParts(const std::vector<std::string>& names) {
  constexpr std::string_view kEmpty("\x03\x00", 2);  // in DEFLATE
  std::string files, directory;
  for (const std::string& name : names) {
    // Version, flags, method, time, date, CRC, sizes, lengths (APPNOTE.TXT).
    const std::string head =
        absl::StrCat(Number(20, 2), Number(0, 2), Number(8, 2), Number(0, 2),
                     Number(33, 2), Number(0, 4), Number(kEmpty.size(), 4),
                     Number(0, 4), Number(name.size(), 2), Number(0, 2));
    absl::StrAppend(&directory, "PK\x01\x02", Number(20, 2), head,
                    std::string(10, '\0'), Number(files.size(), 4), name);
    absl::StrAppend(&files, "PK\x03\x04", head, name, std::string(kEmpty));
  }
  return absl::StrCat(files, directory, "PK\x05\x06", Number(0, 4),
                      Number(names.size(), 2), Number(names.size(), 2),
                      Number(directory.size(), 4), Number(files.size(), 4),
                      Number(0, 2));
}

inline std::string Repeated(std::string_view text, int times) {
  std::string out;
  for (; times > 0; --times) out += text;
  return out;
}

// Bytes that do not compress, so that an archive may unpack to more.
inline std::string Noise() {
  std::string noise;
  uint32_t state = 1;
  while (noise.size() < 100'000) {
    state = state * 1664525 + 1013904223;
    noise += static_cast<char>(state >> 24);
  }
  return noise;
}

// An archive of parts.
inline std::string Packed(
    const std::vector<std::pair<std::string, std::string>>& parts) {
  std::vector<std::string> names;
  std::map<std::string, std::string> contents;
  for (const auto& [name, content] : parts) {
    names.push_back(name);
    contents[name] = content;
  }
  const auto packed = ZipPackage::Replace(EmptyParts(names), contents);
  EXPECT_TRUE(packed.ok()) << packed.status();
  return packed.value_or("");
}

// A part of an archive.
inline std::string PartOfPackage(const std::string& data,
                                 const std::string& name) {
  auto package = ZipPackage::Open(data);
  EXPECT_TRUE(package.ok()) << package.status();
  if (!package.ok()) return "";
  const auto part = package->Read(name);
  EXPECT_TRUE(part.ok()) << part.status();
  return part.value_or("");
}

}  // namespace trivium

#endif  // TRIVIUM_TESTS_SERVER_DOCUMENTS_DOCUMENT_HELPERS_H_
