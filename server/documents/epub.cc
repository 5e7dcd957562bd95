// EPUB 2 and 3 (https://www.w3.org/TR/epub-33/): an archive whose container
// names a package document (.opf), which lists the pages.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_split.h"
#include "base/status.h"
#include "server/documents/entities.h"
#include "server/documents/package_document.h"
#include "server/documents/readers.h"
#include "server/documents/segment_builder.h"
#include "server/documents/text_lines.h"
#include "server/documents/xml_tokens.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using Tokens = std::vector<XmlToken>;

constexpr char kContainer[] = "META-INF/container.xml";
constexpr char kEncryption[] = "META-INF/encryption.xml";
constexpr char kPage[] = "application/xhtml+xml";
constexpr char kContents[] = "application/x-dtbncx+xml";  // EPUB 2's

// Decodes the %20 of an address.
std::string Decoded(std::string_view address) {
  std::string out;
  for (size_t i = 0; i < address.size(); ++i) {
    const std::string_view digits =
        address.substr(std::min(i + 1, address.size()), 2);
    if (address[i] == '%' && digits.size() == 2 &&
        absl::ascii_isxdigit(static_cast<unsigned char>(digits[0])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(digits[1]))) {
      out += absl::HexStringToBytes(std::string(digits));
      i += 2;
    } else {
      out += address[i];
    }
  }
  return out;
}

// The name of the part that `address` means in a file of `folder`, "OEBPS/".
std::string PartOf(const std::string& folder, const std::string& address) {
  const std::string plain =
      folder + Decoded(address.substr(0, address.find_first_of("#?")));
  std::vector<std::string> steps;
  for (const absl::string_view step : absl::StrSplit(plain, '/')) {
    if (step == "..") {
      if (!steps.empty()) steps.pop_back();
    } else if (step != "." && !step.empty()) {
      steps.emplace_back(step);
    }
  }
  std::string name;
  for (const std::string& step : steps) {
    name += (name.empty() ? "" : "/") + step;
  }
  return name;
}

class EpubReader {
 public:
  EpubReader(std::string_view data, ZipPackage package,
             const DocumentOptions& options)
      : package_(std::move(package)),
        options_(options),
        document_(std::make_unique<PackageDocument>(data)) {
    for (std::string& name : package_.Names()) names_.insert(std::move(name));
  }

  absl::StatusOr<std::unique_ptr<Document>> Read() {
    if (names_.contains(kEncryption)) TRIVIUM_RETURN_IF_ERROR(FindEncrypted());
    TRIVIUM_ASSIGN_OR_RETURN(const std::string root, RootFile());
    TRIVIUM_RETURN_IF_ERROR(ReadPackage(root));
    for (const auto& [name, type] : pages_) {
      if (!done_.insert(name).second) continue;
      TRIVIUM_RETURN_IF_ERROR(type == kPage ? AddPage(name)
                                            : AddTexts(name, "text"));
    }
    return std::move(document_);
  }

 private:
  struct Xml {
    std::unique_ptr<DecodedText> source;  // tokens are of its text
    Tokens tokens;
  };

  absl::StatusOr<Xml> ReadXmlTokens(const std::string& name) {
    Xml xml;
    TRIVIUM_ASSIGN_OR_RETURN(DecodedText source, ReadXmlPart(name, &package_));
    xml.source = std::make_unique<DecodedText>(std::move(source));
    auto tokens = XmlTokensOf(xml.source->text, tokens_left_);
    if (!tokens.ok()) return InPart(name, tokens.status());
    tokens_left_ -= tokens->size();
    xml.tokens = *std::move(tokens);
    return xml;
  }

  absl::Status FindEncrypted() {
    TRIVIUM_ASSIGN_OR_RETURN(const Xml xml, ReadXmlTokens(kEncryption));
    for (const XmlToken& token : xml.tokens) {
      if (token.opens() && token.local_name() == "CipherReference") {
        encrypted_.insert(PartOf("", token.Attribute("URI")));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> RootFile() {
    if (!names_.contains(kContainer)) {
      return absl::InvalidArgumentError(
          fmt::format("this is not an EPUB file: it has no {}", kContainer));
    }
    TRIVIUM_ASSIGN_OR_RETURN(const Xml container, ReadXmlTokens(kContainer));
    for (const XmlToken& token : container.tokens) {
      if (token.opens() && token.local_name() == "rootfile") {
        return PartOf("", token.Attribute("full-path"));
      }
    }
    return InPart(kContainer,
                  absl::InvalidArgumentError("it names no rootfile"));
  }

  // Reads the list of pages, and adds the package document's own texts.
  absl::Status ReadPackage(const std::string& name) {
    TRIVIUM_ASSIGN_OR_RETURN(const Xml xml, ReadXmlTokens(name));
    const std::string folder =
        name.substr(0, name.find_last_of('/') + 1);  // npos + 1 is 0
    for (const XmlToken& token : xml.tokens) {
      if (!token.opens() || token.local_name() != "item") continue;
      const std::string type = token.Attribute("media-type");
      if (type == kPage || type == kContents) {
        pages_.emplace_back(PartOf(folder, token.Attribute("href")), type);
      }
    }
    done_.insert(name);
    return AddTexts(name, "title", "description", &xml);
  }

  // Refuses parts with rights management: only the buyer's program has the key.
  absl::Status CheckReadable(const std::string& name) const {
    if (!encrypted_.contains(name)) return absl::OkStatus();
    return InPart(name, absl::InvalidArgumentError(
                            "it is encrypted (rights management); send a book "
                            "without that"));
  }

  absl::Status AddPage(const std::string& name) {
    TRIVIUM_RETURN_IF_ERROR(CheckReadable(name));
    // A list may name what is not there.
    if (!names_.contains(name)) return absl::OkStatus();
    TRIVIUM_ASSIGN_OR_RETURN(const std::string data, package_.Read(name));
    auto page = ReadPage(data, name);
    if (!page.ok()) return InPart(name, page.status());
    return document_->Add(name, *std::move(page));
  }

  absl::Status AddTexts(const std::string& name, std::string_view element) {
    if (!names_.contains(name)) return absl::OkStatus();
    TRIVIUM_RETURN_IF_ERROR(CheckReadable(name));
    TRIVIUM_ASSIGN_OR_RETURN(const Xml xml, ReadXmlTokens(name));
    return AddTexts(name, element, element, &xml);
  }

  // Adds an XML part whose texts are those of two elements. The book's language
  // becomes the translation's, if a text gets another.
  absl::Status AddTexts(const std::string& name, std::string_view element,
                        std::string_view other, const Xml* xml) {
    SegmentBuilder builder(Joined(EscapeMarkup));
    const LinePlaces lines(xml->source->text);
    bool inside = false, author = false, language = false;
    for (const XmlToken& token : xml->tokens) {
      if (!token.name.empty()) {
        const bool opens = token.kind == XmlToken::Kind::kOpen;
        const std::string_view local = token.local_name();
        if (local == "docAuthor") author = opens;
        inside = opens && !author && (local == element || local == other);
        language = opens && token.name == "dc:language";
      }
      const bool is_text = token.kind == XmlToken::Kind::kText;
      if (is_text && language && !options_.target_language.empty()) {
        builder.Literal(EscapeMarkup(options_.target_language));
      } else if (is_text && inside) {
        builder.Text(token.raw,
                     fmt::format("{}, {}", name, lines.Place(token.begin)),
                     DecodeXml);
      } else {
        builder.Literal(token.raw);
      }
      if (!token.name.empty()) builder.Close();
    }
    auto part = NewTextDocument(std::move(*xml->source), std::move(builder),
                                DecodedText::Missing::kReference);
    if (!part.ok()) return InPart(name, part.status());
    return document_->Add(name, *std::move(part), /*follows=*/true);
  }

  ZipPackage package_;
  const DocumentOptions& options_;
  std::unique_ptr<PackageDocument> document_;
  absl::flat_hash_set<std::string> names_, encrypted_, done_;
  std::vector<std::pair<std::string, std::string>> pages_;  // names, types
  size_t tokens_left_ = kMostXmlTokens;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Document>> ReadEpub(
    std::string_view data, const DocumentOptions& options) {
  auto package = ZipPackage::Open(data);
  if (!package.ok()) {
    return InPart("this is not an EPUB file", package.status());
  }
  return EpubReader(data, *std::move(package), options).Read();
}

}  // namespace trivium
