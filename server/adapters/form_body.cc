#include "server/adapters/form_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "base/status.h"
#include "base/utf8.h"
#include "server/adapters/http_status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr char kMultipart[] = "multipart/form-data";
// Far more fields, and longer heads, than any known client sends.
constexpr size_t kMostFields = 64;
constexpr size_t kMostHeaderBytes = 4096;
constexpr size_t kMostBoundaryBytes = 70;  // RFC 2046

absl::Status Malformed(std::string_view what) {
  return absl::InvalidArgumentError(
      fmt::format("the body is not a form: {}", what));
}

// Removes the text before `separator`, and the separator, and returns the text.
std::string_view TakeUntil(std::string_view separator, std::string_view* text) {
  const size_t end = text->find(separator);
  const std::string_view taken = text->substr(0, end);
  text->remove_prefix(end == text->npos ? text->size()
                                        : end + separator.size());
  return taken;
}

std::string_view Trimmed(std::string_view text) {
  while (text.starts_with(' ') || text.starts_with('\t')) text.remove_prefix(1);
  while (text.ends_with(' ') || text.ends_with('\t')) text.remove_suffix(1);
  return text;
}

// A % that does not begin a code stands for itself, as in browsers.
std::string UrlDecoded(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::ascii_isxdigit(text[i + 1]) &&
        absl::ascii_isxdigit(text[i + 2])) {
      out += absl::HexStringToBytes(std::string(text.substr(i + 1, 2)));
      i += 2;
    } else {
      out += text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

// Returns the parameter of a header's value, as in: text/plain; name="value".
std::optional<std::string> Parameter(std::string_view header,
                                     std::string_view wanted) {
  TakeUntil(";", &header);
  while (!header.empty()) {
    const std::string_view name = Trimmed(TakeUntil("=", &header));
    std::string value;
    if (header.starts_with('"')) {
      header.remove_prefix(1);
      while (!header.empty() && header.front() != '"') {
        if (header.front() == '\\' && header.size() > 1) {
          header.remove_prefix(1);
        }
        value += header.front();
        header.remove_prefix(1);
      }
      TakeUntil(";", &header);
    } else {
      value = Trimmed(TakeUntil(";", &header));
    }
    if (absl::EqualsIgnoreCase({name.data(), name.size()},
                               {wanted.data(), wanted.size()})) {
      return value;
    }
  }
  return std::nullopt;
}

absl::Status CheckText(const FormField& field) {
  // Files have any bytes.
  if (IsUtf8(field.name) && (field.file_name || IsUtf8(field.value))) {
    return absl::OkStatus();
  }
  return InvalidField(Shorten(field.name), "is not UTF-8");
}

absl::StatusOr<std::vector<FormField>> ParseUrlEncoded(std::string_view body) {
  std::vector<FormField> fields;
  while (!body.empty()) {
    std::string_view pair = TakeUntil("&", &body);
    if (pair.empty()) continue;
    if (fields.size() == kMostFields)
      return Malformed("it has too many fields");
    std::string name = UrlDecoded(TakeUntil("=", &pair));
    fields.push_back({std::move(name), UrlDecoded(pair)});
    TRIVIUM_RETURN_IF_ERROR(CheckText(fields.back()));
  }
  return fields;
}

// Makes a field, without its value, of the headers of a part.
absl::StatusOr<FormField> ParsePartHead(std::string_view head) {
  FormField field;
  bool named = false;
  while (!head.empty()) {
    std::string_view line = TakeUntil("\r\n", &head);
    const std::string name =
        absl::AsciiStrToLower(std::string(Trimmed(TakeUntil(":", &line))));
    if (name == "content-transfer-encoding") {
      return Malformed("its parts may have no Content-Transfer-Encoding");
    }
    if (name != "content-disposition") continue;
    const auto wanted = Parameter(line, "name");
    if (!wanted) break;
    field.name = *wanted;
    field.file_name = Parameter(line, "filename");
    named = true;
  }
  if (!named) return Malformed("a part has no name in Content-Disposition");
  return field;
}

absl::StatusOr<std::vector<FormField>> ParseMultipart(std::string_view type,
                                                      std::string_view body) {
  const auto boundary = Parameter(type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > kMostBoundaryBytes) {
    return Malformed("Content-Type names no boundary");
  }
  const std::string between = "\r\n--" + *boundary;
  if (!body.starts_with(std::string_view(between).substr(2))) {
    return Malformed("it does not begin with the boundary of Content-Type");
  }
  body.remove_prefix(between.size() - 2);
  std::vector<FormField> fields;
  while (!body.starts_with("--")) {
    if (!Trimmed(TakeUntil("\r\n", &body)).empty()) {
      return Malformed("its boundary is followed by something else");
    }
    const size_t head = body.find("\r\n\r\n");
    const size_t end = body.find(between, head == body.npos ? head : head + 2);
    if (end == body.npos) return Malformed("it has no end");
    if (head > kMostHeaderBytes) return Malformed("a part's head is too long");
    if (fields.size() == kMostFields)
      return Malformed("it has too many fields");
    TRIVIUM_ASSIGN_OR_RETURN(FormField field,
                             ParsePartHead(body.substr(0, head)));
    // If the value is empty, the boundary may begin with the head's last line
    // break.
    const size_t begin = std::min(head + 4, end);
    field.value = body.substr(begin, end - begin);
    TRIVIUM_RETURN_IF_ERROR(CheckText(field));
    fields.push_back(std::move(field));
    body.remove_prefix(end + between.size());
  }
  return fields;
}

}  // namespace

bool IsForm(const RequestHead& head) {
  const std::string type = TypeOf(head);
  return type == kUrlEncoded || type == kMultipart;
}

absl::Status CheckFormIsNoPages(const RequestHead& head) {
  if (head.trusted_page) return absl::OkStatus();
  for (const char* name : {"Origin", "Sec-Fetch-Site"}) {
    if (const std::string value = head.header(name); !value.empty()) {
      return absl::PermissionDeniedError(fmt::format(
          "forms of web pages are refused, and '{}: {}' says that this is one; "
          "send JSON, or start the server with --cors-allow-origin for the "
          "page's origin",
          name, Shorten(value)));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<FormField>> ParseForm(std::string_view type,
                                                 std::string_view body) {
  return absl::StartsWithIgnoreCase({type.data(), type.size()}, kMultipart)
             ? ParseMultipart(type, body)
             : ParseUrlEncoded(body);
}

absl::StatusOr<nlohmann::json> FormToJson(std::vector<FormField> fields) {
  nlohmann::json out = nlohmann::json::object();
  for (FormField& field : fields) {
    if (field.file_name) {
      return InvalidField(Shorten(field.name),
                          "is a file; send it to /translate_file");
    }
    if (out.contains(field.name)) {
      return InvalidField(Shorten(field.name), "is set twice; set it once");
    }
    out[field.name] = std::move(field.value);
  }
  return out;
}

}  // namespace trivium
