#include "server/rpc/wire.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/unknown_field_set.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <map>
#include <string>

#include "base/utf8.h"
#include "server/handlers/status.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// Of a message that is small in any case.
constexpr int64_t kFewFields = 1024;
// As deep as protobuf itself reads.
constexpr int kMaxParsedDepth = 100;
// The API's messages are nested less deeply than this, but for the values of a
// Struct in others.
constexpr int kMaxDepth = 8;

std::string ToString(const grpc::ByteBuffer& bytes) {
  std::vector<grpc::Slice> slices;
  std::string text;
  if (!bytes.Dump(&slices).ok()) return text;
  text.reserve(bytes.Length());
  for (const grpc::Slice& slice : slices) {
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  }
  return text;
}

// Takes the fields of a message and of those in it from `left`, and stops where
// there are more: each may take two bytes, and a hundred in memory. What does
// not parse is left to the parser.
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

bool HasMoreFields(const grpc::ByteBuffer& bytes, const Descriptor* descriptor,
                   int64_t most) {
  grpc::ByteBuffer copy = bytes;  // shares the slices
  grpc::ProtoBufferReader reader(&copy);
  CodedInputStream in(&reader);
  CountFields(descriptor, 0, &in, &most);
  return most < 0;
}

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

absl::Status ParseMessage(const grpc::ByteBuffer& bytes, int64_t max_bytes,
                          google::protobuf::Message* message) {
  if (static_cast<int64_t>(bytes.Length()) > max_bytes) {
    return absl::InvalidArgumentError(fmt::format(
        "the request has {} bytes and the server takes at most {}; send its "
        "inputs in several calls",
        bytes.Length(), max_bytes));
  }
  const int64_t most_fields = max_bytes / kBytesAField + kFewFields;
  if (HasMoreFields(bytes, message->GetDescriptor(), most_fields)) {
    return absl::InvalidArgumentError(fmt::format(
        "the request has more than {} fields in all; send its inputs in "
        "several calls",
        most_fields));
  }
  grpc::ByteBuffer copy = bytes;  // shares the slices
  grpc::ProtoBufferReader reader(&copy);
  if (message->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();

  UnknownFieldSet fields;
  if (fields.ParseFromString(ToString(bytes))) {
    const std::string path = FindBadText(fields, message->GetDescriptor(), 0);
    if (!path.empty()) {
      return InvalidField(path, "is not valid UTF-8; send text as UTF-8");
    }
  }
  return absl::InvalidArgumentError(
      fmt::format("the bytes of the request are not a {} message",
                  message->GetDescriptor()->full_name()));
}

grpc::ByteBuffer SerializeMessage(const google::protobuf::Message& message) {
  grpc::Slice slice(message.ByteSizeLong());
  message.SerializeWithCachedSizesToArray(const_cast<uint8_t*>(slice.begin()));
  return grpc::ByteBuffer(&slice, 1);
}

std::optional<std::string> FindItemId(const grpc::ByteBuffer& bytes) {
  using v1::EncodeStreamRequest;
  using v1::TranslateStreamRequest;
  static_assert(int{EncodeStreamRequest::kItemFieldNumber} ==
                    int{TranslateStreamRequest::kItemFieldNumber} &&
                int{EncodeStreamRequest::Item::kIdFieldNumber} ==
                    int{TranslateStreamRequest::Item::kIdFieldNumber});
  UnknownFieldSet fields;
  if (HasMoreFields(
          bytes, TranslateStreamRequest::descriptor(),
          static_cast<int64_t>(bytes.Length()) / kBytesAField + kFewFields) ||
      !fields.ParseFromString(ToString(bytes))) {
    return std::nullopt;
  }
  for (int i = 0; i < fields.field_count(); ++i) {
    const UnknownField& field = fields.field(i);
    UnknownFieldSet item;
    if (field.number() != TranslateStreamRequest::kItemFieldNumber ||
        field.type() != UnknownField::TYPE_LENGTH_DELIMITED ||
        !item.ParseFromString(field.length_delimited())) {
      continue;
    }
    std::string id;  // proto3's default where the field is missing
    for (int k = 0; k < item.field_count(); ++k) {
      if (item.field(k).number() ==
              TranslateStreamRequest::Item::kIdFieldNumber &&
          item.field(k).type() == UnknownField::TYPE_LENGTH_DELIMITED) {
        id = item.field(k).length_delimited();
      }
    }
    return IsUtf8(id) ? std::optional(id) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace trivium
