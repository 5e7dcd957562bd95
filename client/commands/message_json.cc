#include "client/commands/message_json.h"

#include <cmath>
#include <memory>
#include <string_view>

#include "absl/strings/escaping.h"
#include "client/commands/short_name.h"
#include "fmt/format.h"
#include "google/protobuf/any.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/duration.pb.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using google::protobuf::Reflection;

std::string Quoted(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

// Returns the fewest digits that restore the number.
template <typename Float>
std::string Number(Float value) {
  if (!std::isfinite(value)) return Quoted(fmt::format("{}", value));
  return fmt::format("{}", value);
}

std::string DurationText(const Message& message) {
  google::protobuf::Duration duration;
  duration.CopyFrom(message);
  return fmt::format("\"{:.9f}s\"", static_cast<double>(duration.seconds()) +
                                        duration.nanos() * 1e-9);
}

// Returns the message in an Any, with its "@type"; empty if the type is
// unknown.
std::string AnyText(const Message& message) {
  google::protobuf::Any any;
  any.CopyFrom(message);
  const std::string& url = any.type_url();
  const Descriptor* type =
      DescriptorPool::generated_pool()->FindMessageTypeByName(
          url.substr(url.rfind('/') + 1));
  if (type == nullptr) return "";
  const std::unique_ptr<Message> inside(
      MessageFactory::generated_factory()->GetPrototype(type)->New());
  if (!inside->ParseFromString(any.value())) return "";
  const std::string fields = MessageJson(*inside);
  return fmt::format("{{\"@type\":{}{}{}", Quoted(url),
                     fields.size() > 2 ? "," : "", fields.substr(1));
}

// `index` is the index of a value in a repeated field, else -1.
std::string ValueText(const Message& message, const FieldDescriptor& field,
                      int index) {
  const Reflection& reflection = *message.GetReflection();
  const auto get = [&](auto one, auto of_list) {
    return index < 0 ? (reflection.*one)(message, &field)
                     : (reflection.*of_list)(message, &field, index);
  };
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return fmt::format(
          "{}", get(&Reflection::GetInt32, &Reflection::GetRepeatedInt32));
    case FieldDescriptor::CPPTYPE_INT64:
      return fmt::format(
          "{}", get(&Reflection::GetInt64, &Reflection::GetRepeatedInt64));
    case FieldDescriptor::CPPTYPE_UINT32:
      return fmt::format(
          "{}", get(&Reflection::GetUInt32, &Reflection::GetRepeatedUInt32));
    case FieldDescriptor::CPPTYPE_UINT64:
      return fmt::format(
          "{}", get(&Reflection::GetUInt64, &Reflection::GetRepeatedUInt64));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return Number(
          get(&Reflection::GetDouble, &Reflection::GetRepeatedDouble));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return Number(get(&Reflection::GetFloat, &Reflection::GetRepeatedFloat));
    case FieldDescriptor::CPPTYPE_BOOL:
      return get(&Reflection::GetBool, &Reflection::GetRepeatedBool) ? "true"
                                                                     : "false";
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int number =
          get(&Reflection::GetEnumValue, &Reflection::GetRepeatedEnumValue);
      const auto* value = field.enum_type()->FindValueByNumber(number);
      return value == nullptr ? fmt::format("{}", number)
                              : Quoted(ShortName(*value));
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          get(&Reflection::GetString, &Reflection::GetRepeatedString);
      return field.type() == FieldDescriptor::TYPE_BYTES
                 ? Quoted(std::string(absl::Base64Escape(text)))
                 : Quoted(text);
    }
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      return MessageJson(
          index < 0 ? reflection.GetMessage(message, &field)
                    : reflection.GetRepeatedMessage(message, &field, index));
    }
  }
  return "null";
}

}  // namespace

std::string MessageJson(const Message& message) {
  const Descriptor& type = *message.GetDescriptor();
  if (type.full_name() == "google.protobuf.Duration") {
    return DurationText(message);
  }
  if (type.full_name() == "google.protobuf.Any") {
    const std::string text = AnyText(message);
    if (!text.empty()) return text;
  }
  const Reflection& reflection = *message.GetReflection();
  std::string json = "{";
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.has_presence() && !reflection.HasField(message, &field)) continue;
    if (json.size() > 1) json += ',';
    json += fmt::format("\"{}\":", std::string(field.name()));
    if (!field.is_repeated()) {
      json += ValueText(message, field, -1);
      continue;
    }
    json += '[';
    for (int k = 0; k < reflection.FieldSize(message, &field); ++k) {
      if (k > 0) json += ',';
      json += ValueText(message, field, k);
    }
    json += ']';
  }
  return json + "}";
}

}  // namespace trivium
