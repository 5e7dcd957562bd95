#ifndef TRIVIUM_SERVER_DOCUMENTS_PACKAGE_DOCUMENT_H_
#define TRIVIUM_SERVER_DOCUMENTS_PACKAGE_DOCUMENT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/documents/document.h"
#include "server/documents/text_document.h"
#include "server/documents/zip_package.h"

namespace trivium {

// A document in several parts of a zip archive, each of which is a document.
class PackageDocument final : public Document {
 public:
  explicit PackageDocument(std::string_view data) : data_(data) {}

  // Adds a part. If it `follows`, it is written if any part has another text,
  // since it tells about the others. INVALID_ARGUMENT if all parts together
  // have too many texts.
  absl::Status Add(std::string name, std::unique_ptr<Document> part,
                   bool follows = false);

  std::vector<const DocumentSegment*> segments() const override;
  size_t bytes() const override;
  absl::StatusOr<std::string> Render(Translations translations) const override;

 private:
  struct Part {
    std::string name;
    std::unique_ptr<Document> document;
    bool follows;
    std::vector<const DocumentSegment*> segments;
  };
  const std::string data_;
  std::vector<Part> parts_;
  size_t segments_ = 0;
};

// Returns an error of a part, with the part's name in front.
absl::Status InPart(const std::string& name, const absl::Status& status);
// Unpacks and decodes a part in XML.
absl::StatusOr<DecodedText> ReadXmlPart(const std::string& name,
                                        ZipPackage* package);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_DOCUMENTS_PACKAGE_DOCUMENT_H_
