#include "server/transports/grpc/wire.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>
#include <grpcpp/support/proto_buffer_reader.h>
#include <grpcpp/support/proto_buffer_writer.h>

#include <string>

#include "base/status.h"
#include "base/utf8.h"
#include "server/calls/convert/message_checks.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

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

bool HasMoreFields(const grpc::ByteBuffer& bytes, const Descriptor& message,
                   int64_t most) {
  grpc::ByteBuffer copy = bytes;  // shares the slices
  grpc::ProtoBufferReader reader(&copy);
  return trivium::HasMoreFields(&reader, message, most);
}

}  // namespace

absl::Status ParseMessage(const grpc::ByteBuffer& bytes, int64_t max_bytes,
                          google::protobuf::Message* message) {
  TRIVIUM_RETURN_IF_ERROR(
      CheckRequestBytes(static_cast<int64_t>(bytes.Length()), max_bytes));
  {
    grpc::ByteBuffer copy = bytes;  // shares the slices
    grpc::ProtoBufferReader reader(&copy);
    TRIVIUM_RETURN_IF_ERROR(
        CheckFieldCount(&reader, *message->GetDescriptor(), max_bytes));
  }
  grpc::ByteBuffer copy = bytes;  // shares the slices
  grpc::ProtoBufferReader reader(&copy);
  if (message->ParseFromZeroCopyStream(&reader)) return absl::OkStatus();

  return WhyNoMessage(ToString(bytes), *message->GetDescriptor());
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
  if (HasMoreFields(bytes, *TranslateStreamRequest::descriptor(),
                    MostFields(static_cast<int64_t>(bytes.Length()))) ||
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
