#include "server/handlers/message_checks.h"

#include <fmt/format.h>
#include <google/protobuf/unknown_field_set.h>

#include <map>

#include "base/utf8.h"
#include "server/handlers/status.h"

namespace trivium {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// The API's messages are nested less deeply than this, but for the values of a
// Struct in others.
constexpr int kMaxDepth = 8;

// The path of the first text that is not UTF-8, reading the wire format
// without the checks of generated code; empty if there is none.
std::string FindBadText(const UnknownFieldSet& fields,
                        const Descriptor* descriptor, int depth) {
  std::map<int, int> counts;  // of repeated fields met so far
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    const FieldDescriptor* known =
        descriptor->FindFieldByNumber(field.number());
    if (known == nullptr ||
        field.type() != UnknownField::TYPE_LENGTH_DELIMITED) {
      continue;
    }
    std::string path = known->name();
    if (known->is_repeated()) {
      path += fmt::format("[{}]", counts[field.number()]++);
    }
    const std::string& bytes = field.length_delimited();
    if (known->type() == FieldDescriptor::TYPE_STRING) {
      if (!IsUtf8(bytes)) return path;
    } else if (known->type() == FieldDescriptor::TYPE_MESSAGE &&
               depth < kMaxDepth) {
      UnknownFieldSet nested;
      if (!nested.ParseFromString(bytes)) continue;
      const std::string rest =
          FindBadText(nested, known->message_type(), depth + 1);
      if (!rest.empty()) return path + "." + rest;
    }
  }
  return "";
}

}  // namespace

absl::Status CheckRequestBytes(int64_t bytes, int64_t max_bytes) {
  if (bytes <= max_bytes) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "the request has {} bytes and the server takes at most {}; send its "
      "inputs in several calls",
      bytes, max_bytes));
}

absl::Status WhyNoMessage(const std::string& bytes, const Descriptor& message) {
  UnknownFieldSet fields;
  if (fields.ParseFromString(bytes)) {
    const std::string path = FindBadText(fields, &message, 0);
    if (!path.empty()) {
      return InvalidField(path, "is not valid UTF-8; send text as UTF-8");
    }
  }
  return absl::InvalidArgumentError(fmt::format(
      "the bytes of the request are not a {} message", message.full_name()));
}

}  // namespace trivium
