#include "server/documents/package_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/status.h"
#include "server/documents/document_segment.h"

namespace trivium {
namespace {

// True if a translation differs from its text.
bool HasChange(const std::vector<const DocumentSegment*>& segments,
               Translations translations) {
  for (size_t i = 0; i < segments.size(); ++i) {
    if (translations[i] && *translations[i] != segments[i]->sent.text) {
      return true;
    }
  }
  return false;
}

}  // namespace

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

absl::Status PackageDocument::Add(std::string name,
                                  std::unique_ptr<Document> part,
                                  bool follows) {
  std::vector<const DocumentSegment*> segments = part->segments();
  segments_ += segments.size();
  if (segments_ > kMostDocumentItems) {
    return InPart(name, absl::InvalidArgumentError(fmt::format(
                            "the document has more than {} texts; split it",
                            kMostDocumentItems)));
  }
  parts_.push_back(
      {std::move(name), std::move(part), follows, std::move(segments)});
  return absl::OkStatus();
}

std::vector<const DocumentSegment*> PackageDocument::segments() const {
  std::vector<const DocumentSegment*> all;
  for (const Part& part : parts_) {
    all.insert(all.end(), part.segments.begin(), part.segments.end());
  }
  return all;
}

size_t PackageDocument::bytes() const {
  size_t bytes = data_.size();
  for (const Part& part : parts_) bytes += part.document->bytes();
  return bytes;
}

absl::StatusOr<std::string> PackageDocument::Render(
    Translations translations) const {
  if (translations.size() != segments_) {
    return absl::InternalError("there is not one translation for each segment");
  }
  if (!HasChange(segments(), translations)) return data_;
  std::map<std::string, std::string> changed;
  size_t begin = 0, bytes = 0;
  for (const Part& part : parts_) {
    const Translations own = translations.subspan(begin, part.segments.size());
    begin += own.size();
    if (!part.follows && !HasChange(part.segments, own)) continue;
    TRIVIUM_ASSIGN_OR_RETURN(std::string text, part.document->Render(own));
    bytes += text.size();
    TRIVIUM_RETURN_IF_ERROR(CheckRenderedBytes(bytes, MostRenderedBytes()));
    changed[part.name] = std::move(text);
  }
  return ZipPackage::Replace(data_, changed);
}

}  // namespace trivium
