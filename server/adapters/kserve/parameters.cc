#include "server/adapters/kserve/parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <vector>

#include "base/status.h"
#include "base/whole_number.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumValueDescriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;
using inference::InferParameter;

// Fields that are no options: the foreign request sets them in other ways, or
// they ask for results that have no place in the answer.
constexpr const char* kNoOptions[] = {
    "model",          "tokens",       "token_vectors", "embedding_format",
    "num_hypotheses", "top_logprobs", "trace",         "sentences",
    "prompt_logprobs"};

bool IsOption(const FieldDescriptor& field) {
  if (std::find(std::begin(kNoOptions), std::end(kNoOptions), field.name()) !=
      std::end(kNoOptions)) {
    return false;
  }
  return field.is_repeated()
             ? field.cpp_type() == FieldDescriptor::CPPTYPE_STRING
             : field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
}

// True for a message whose fields are options, too.
bool HasOptions(const FieldDescriptor& field) {
  return field.name() == "options" || field.name() == "decoding";
}

void AddNames(const Descriptor& message, std::vector<std::string>* names) {
  for (int i = 0; i < message.field_count(); ++i) {
    const FieldDescriptor& field = *message.field(i);
    if (HasOptions(field)) AddNames(*field.message_type(), names);
    if (IsOption(field)) names->push_back(field.name());
  }
}

// Returns the option's field, and in `message` the message that has it; null if
// there is no such option.
const FieldDescriptor* Find(const std::string& name, Message** message) {
  const Descriptor& type = *(*message)->GetDescriptor();
  const FieldDescriptor* const own = type.FindFieldByName(name);
  if (own != nullptr && IsOption(*own)) return own;
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (!HasOptions(field)) continue;
    Message* inner =
        (*message)->GetReflection()->MutableMessage(*message, &field);
    if (const FieldDescriptor* const found = Find(name, &inner)) {
      *message = inner;
      return found;
    }
  }
  return nullptr;
}

// Sets `out` to a whole number; returns false if the value is not one of type
// T. 10.0 is one: JSON of some languages has no other numbers.
template <typename T>
bool Whole(const InferParameter& value, T* out) {
  if (value.has_double_param()) {
    const int64_t number = WholeNumber(value.double_param()).value_or(-1);
    *out = static_cast<T>(number);
    return number >= 0 &&
           static_cast<uint64_t>(number) <=
               static_cast<uint64_t>(std::numeric_limits<T>::max());
  }
  if (value.has_uint64_param()) {
    const uint64_t number = value.uint64_param();
    *out = static_cast<T>(number);
    return number <= static_cast<uint64_t>(std::numeric_limits<T>::max());
  }
  const int64_t number = value.int64_param();
  *out = static_cast<T>(number);
  return value.has_int64_param() &&
         (number >= 0 ? static_cast<uint64_t>(number) <=
                            static_cast<uint64_t>(std::numeric_limits<T>::max())
                      : std::numeric_limits<T>::is_signed &&
                            number >= static_cast<int64_t>(
                                          std::numeric_limits<T>::lowest()));
}

// Sets the field and returns null; or returns what the value must be.
const char* SetNumber(const InferParameter& value, const FieldDescriptor* field,
                      Message* message) {
  const Reflection& set = *message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32: {
      uint32_t number;
      if (!Whole(value, &number)) return "must be a whole number below 2^32";
      set.SetUInt32(message, field, number);
      return nullptr;
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      uint64_t number;
      if (!Whole(value, &number)) return "must be a whole number";
      set.SetUInt64(message, field, number);
      return nullptr;
    }
    case FieldDescriptor::CPPTYPE_FLOAT:
      if (value.has_double_param()) {
        set.SetFloat(message, field, static_cast<float>(value.double_param()));
      } else if (value.has_int64_param()) {
        set.SetFloat(message, field, static_cast<float>(value.int64_param()));
      } else if (value.has_uint64_param()) {
        set.SetFloat(message, field, static_cast<float>(value.uint64_param()));
      } else {
        return "must be a number";
      }
      return nullptr;
    default:
      return "is not supported";
  }
}

const char* Set(const InferParameter& value, const FieldDescriptor* field,
                Message* message) {
  const Reflection& set = *message->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!value.has_bool_param()) return "must be a boolean";
      set.SetBool(message, field, value.bool_param());
      return nullptr;
    case FieldDescriptor::CPPTYPE_STRING:
      if (!value.has_string_param()) return "must be a text";
      if (field->is_repeated()) {
        set.AddString(message, field, value.string_param());
      } else {
        set.SetString(message, field, value.string_param());
      }
      return nullptr;
    case FieldDescriptor::CPPTYPE_ENUM: {
      const EnumValueDescriptor* const one =
          field->enum_type()->FindValueByName(value.string_param());
      if (one == nullptr) return "must be a name of proto/trivium/v1";
      set.SetEnum(message, field, one);
      return nullptr;
    }
    default:
      return SetNumber(value, field, message);
  }
}

}  // namespace

absl::Status SetOptions(
    const google::protobuf::Map<std::string, InferParameter>& parameters,
    Message* request) {
  for (const auto& [name, value] : parameters) {
    if (IsTritonParameter(name)) continue;
    Message* message = request;
    const FieldDescriptor* const field = Find(name, &message);
    const std::string place = fmt::format("parameters[\"{}\"]", Shorten(name));
    if (field == nullptr) {
      std::vector<std::string> names;
      AddNames(*request->GetDescriptor(), &names);
      return InvalidField(place, fmt::format("is not among the options of the "
                                             "model's call: {}",
                                             fmt::join(names, ", ")));
    }
    if (const char* const wrong = Set(value, field, message)) {
      return InvalidField(place, wrong);
    }
  }
  return absl::OkStatus();
}

}  // namespace trivium
