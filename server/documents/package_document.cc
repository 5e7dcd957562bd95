#include "server/documents/package_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/status.h"

namespace trivium {

absl::Status InPart(const std::string& name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      fmt::format("{}: {}", name, std::string(status.message())));
}

absl::StatusOr<DecodedText> ReadXmlPart(const std::string& name,
                                        ZipPackage* package) {
  TRIVIUM_ASSIGN_OR_RETURN(const std::string data, package->Read(name));
  auto decoded = DecodeDocument(data, XmlEncoding(data));
  if (!decoded.ok()) return InPart(name, decoded.status());
  return decoded;
}

void PackageDocument::Add(std::string name, DecodedText source,
                          SegmentBuilder builder) {
  parts_.push_back({std::move(name), std::move(source), std::move(builder)});
}

std::vector<const DocumentSegment*> PackageDocument::segments() const {
  std::vector<const DocumentSegment*> all;
  for (const Part& part : parts_) {
    for (const DocumentSegment& one : part.builder.segments()) {
      all.push_back(&one);
    }
  }
  return all;
}

size_t PackageDocument::bytes() const {
  size_t bytes = data_.size();
  for (const Part& part : parts_) bytes += part.source.text.size();
  return bytes;
}

absl::StatusOr<std::string> PackageDocument::Render(
    Translations translations) const {
  std::map<std::string, std::string> changed;
  size_t begin = 0;
  size_t left = MostRenderedBytes();
  for (const Part& part : parts_) {
    const size_t count = part.builder.segments().size();
    if (begin + count > translations.size()) {
      return absl::InternalError(
          "there is not one translation for each segment");
    }
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::string text,
        part.builder.Render(translations.subspan(begin, count), left));
    left -= std::min(left, text.size());
    begin += count;
    if (text == part.source.text) continue;
    TRIVIUM_ASSIGN_OR_RETURN(
        changed[part.name],
        part.source.Encode(text, DecodedText::Missing::kReference));
  }
  if (changed.empty()) return data_;
  return ZipPackage::Replace(data_, changed);
}

}  // namespace trivium
