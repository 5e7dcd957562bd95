#include "server/calls/convert/message_checks.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/wire_format_lite.h>

#include <map>

#include "base/utf8.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The API's messages are nested less deeply than this, except for the values of
// a Struct.
constexpr int kMaxDepth = 8;
// The depth to which protobuf itself parses.
constexpr int kMaxParsedDepth = 100;
// Any message may have so many fields, as it is small in any case.
constexpr int64_t kFewFields = 1024;

// Subtracts the number of fields of a message, and of the messages in it, from
// `left`; stops when that is below 0. Stops at bytes that do not parse, too,
// about which the parser complains.
void CountFields(const Descriptor* descriptor, int depth, CodedInputStream* in,
                 int64_t* left) {
  while (const uint32_t tag = in->ReadTag()) {
    if (--*left < 0) return;
    uint64_t number = 0;
    uint32_t length = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        if (!in->ReadVarint64(&number)) return;
        break;
      case WireFormatLite::WIRETYPE_FIXED32:
        if (!in->Skip(4)) return;
        break;
      case WireFormatLite::WIRETYPE_FIXED64:
        if (!in->Skip(8)) return;
        break;
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED: {
        if (!in->ReadVarint32(&length) || length > INT32_MAX) return;
        const auto size = static_cast<int>(length);
        const FieldDescriptor* const known = descriptor->FindFieldByNumber(
            WireFormatLite::GetTagFieldNumber(tag));
        if (known == nullptr ||
            known->type() != FieldDescriptor::TYPE_MESSAGE) {
          if (!in->Skip(size)) return;
          break;
        }
        if (depth == kMaxParsedDepth) return;
        const auto limit = in->PushLimit(size);
        CountFields(known->message_type(), depth + 1, in, left);
        if (in->BytesUntilLimit() > 0) return;
        in->PopLimit(limit);
        break;
      }
      default:  // a group's begin or end
        break;
    }
  }
}

// Returns the path of the first text that is not UTF-8; empty if there is none.
// Reads the wire format without the checks of generated code.
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
    const int index = known->is_repeated() ? counts[field.number()]++ : -1;
    const auto path = [&] {
      return index < 0 ? known->name()
                       : fmt::format("{}[{}]", known->name(), index);
    };
    const std::string& bytes = field.length_delimited();
    if (known->type() == FieldDescriptor::TYPE_STRING) {
      if (!IsUtf8(bytes)) return path();
    } else if (known->type() == FieldDescriptor::TYPE_MESSAGE &&
               depth < kMaxDepth) {
      UnknownFieldSet nested;
      if (!nested.ParseFromString(bytes)) continue;
      const std::string rest =
          FindBadText(nested, known->message_type(), depth + 1);
      if (!rest.empty()) return path() + "." + rest;
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

int64_t MostFields(int64_t bytes) {
  return bytes / kMessageBytesAField + kFewFields;
}

bool HasMoreFields(google::protobuf::io::ZeroCopyInputStream* bytes,
                   const Descriptor& message, int64_t most) {
  CodedInputStream in(bytes);
  CountFields(&message, 0, &in, &most);
  return most < 0;
}

absl::Status CheckFieldCount(google::protobuf::io::ZeroCopyInputStream* bytes,
                             const Descriptor& message, int64_t max_bytes) {
  const int64_t most = MostFields(max_bytes);
  if (!HasMoreFields(bytes, message, most)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the request has more than {} fields in all; send its inputs "
                  "in several calls",
                  most));
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
