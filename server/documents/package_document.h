#ifndef TRIVIUM_SERVER_DOCUMENTS_PACKAGE_DOCUMENT_H_
#define TRIVIUM_SERVER_DOCUMENTS_PACKAGE_DOCUMENT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/documents/document.h"
#include "server/documents/segment_builder.h"
#include "server/documents/text_document.h"
#include "server/documents/zip_package.h"

namespace trivium {

// A document in several texts of a zip archive.
class PackageDocument final : public Document {
 public:
  explicit PackageDocument(std::string_view data) : data_(data) {}

  // Adds a part; its characters that the encoding lacks become numbers.
  void Add(std::string name, DecodedText source, SegmentBuilder builder);

  std::vector<const DocumentSegment*> segments() const override;
  size_t bytes() const override;
  absl::StatusOr<std::string> Render(Translations translations) const override;

 private:
  struct Part {
    std::string name;
    DecodedText source;
    SegmentBuilder builder;
  };
  const std::string data_;
  std::vector<Part> parts_;
};

// Returns an error of a part, with the part's name in front.
absl::Status InPart(const std::string& name, const absl::Status& status);
// Unpacks and decodes a part in XML.
absl::StatusOr<DecodedText> ReadXmlPart(const std::string& name,
                                        ZipPackage* package);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_PACKAGE_DOCUMENT_H_
