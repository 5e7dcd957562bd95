// The API may grow but must not change for clients that were built with an
// older version. proto/trivium.v1.binpb describes the API that was promised.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>

#include <fstream>
#include <set>

#include "trivium/v1/common.pb.h"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

using google::protobuf::DescriptorProto;
using google::protobuf::EnumDescriptorProto;
using google::protobuf::FieldDescriptorProto;
using google::protobuf::FileDescriptorProto;
using google::protobuf::FileDescriptorSet;
using google::protobuf::ServiceDescriptorProto;
using testing::ElementsAre;
using testing::IsEmpty;

// Collects the parts of `before` that are missing or different in `after`.
class Comparison {
 public:
  static std::vector<std::string> Run(const FileDescriptorSet& before,
                                      const FileDescriptorSet& after) {
    Comparison comparison;
    for (const FileDescriptorProto& file : before.file()) {
      const auto* now = comparison.Find(after.file(), file.name(), "file");
      if (now != nullptr) comparison.File(file, *now);
    }
    return comparison.problems_;
  }

 private:
  template <typename List>
  const typename List::value_type* Find(const List& list,
                                        const std::string& name,
                                        const char* what) {
    for (const auto& one : list) {
      if (one.name() == name) return &one;
    }
    problems_.push_back(fmt::format("{} {} was removed", what, name));
    return nullptr;
  }

  void File(const FileDescriptorProto& before,
            const FileDescriptorProto& after) {
    for (const DescriptorProto& message : before.message_type()) {
      const auto* now = Find(after.message_type(), message.name(), "message");
      if (now != nullptr) Message(message, *now);
    }
    for (const EnumDescriptorProto& one : before.enum_type()) {
      const auto* now = Find(after.enum_type(), one.name(), "enum");
      if (now != nullptr) Enum(one, *now);
    }
    for (const ServiceDescriptorProto& service : before.service()) {
      const auto* now = Find(after.service(), service.name(), "service");
      if (now != nullptr) Service(service, *now);
    }
  }

  void Message(const DescriptorProto& before, const DescriptorProto& after) {
    for (const FieldDescriptorProto& field : before.field()) {
      const auto* now = Find(after.field(), field.name(), "field");
      if (now == nullptr) continue;
      const std::string name = before.name() + "." + field.name();
      Same(name, "number", field.number(), now->number());
      Same(name, "type", field.type(), now->type());
      Same(name, "type", field.type_name(), now->type_name());
      Same(name, "label", field.label(), now->label());
      Same(name, "presence", field.proto3_optional(), now->proto3_optional());
      Same(name, "oneof", field.has_oneof_index(), now->has_oneof_index());
    }
    for (const DescriptorProto& nested : before.nested_type()) {
      const auto* now = Find(after.nested_type(), nested.name(), "message");
      if (now != nullptr) Message(nested, *now);
    }
    for (const EnumDescriptorProto& one : before.enum_type()) {
      const auto* now = Find(after.enum_type(), one.name(), "enum");
      if (now != nullptr) Enum(one, *now);
    }
  }

  void Enum(const EnumDescriptorProto& before,
            const EnumDescriptorProto& after) {
    for (const auto& value : before.value()) {
      const auto* now = Find(after.value(), value.name(), "enum value");
      if (now != nullptr) {
        Same(value.name(), "number", value.number(), now->number());
      }
    }
  }

  void Service(const ServiceDescriptorProto& before,
               const ServiceDescriptorProto& after) {
    for (const auto& method : before.method()) {
      const auto* now = Find(after.method(), method.name(), "method");
      if (now == nullptr) continue;
      Same(method.name(), "request", method.input_type(), now->input_type());
      Same(method.name(), "response", method.output_type(), now->output_type());
      Same(method.name(), "streaming", method.client_streaming(),
           now->client_streaming());
      Same(method.name(), "streaming", method.server_streaming(),
           now->server_streaming());
    }
  }

  template <typename Value>
  void Same(const std::string& name, const char* what, const Value& before,
            const Value& after) {
    if (before != after) {
      problems_.push_back(fmt::format("{}: its {} changed", name, what));
    }
  }

  std::vector<std::string> problems_;
};

FileDescriptorSet Promised() {
  FileDescriptorSet set;
  std::ifstream file("proto/trivium.v1.binpb", std::ios::binary);
  EXPECT_TRUE(set.ParseFromIstream(&file)) << "run in the source's root";
  return set;
}

FileDescriptorSet Current() {
  FileDescriptorSet set;
  for (const auto* descriptor :
       {v1::Input::descriptor(), v1::EncodeRequest::descriptor(),
        v1::Model::descriptor()}) {
    descriptor->file()->CopyTo(set.add_file());
  }
  return set;
}

TEST(CompatibilityTest, KeepsEverythingPromised) {
  EXPECT_THAT(Comparison::Run(Promised(), Current()), IsEmpty())
      << "a client built before this change would break";
}

TEST(CompatibilityTest, PromisesEverythingInTheApi) {
  EXPECT_THAT(Comparison::Run(Current(), Promised()), IsEmpty())
      << "something new is not promised yet; if it is meant to stay, run in "
         "proto/: protoc -I. --descriptor_set_out=trivium.v1.binpb "
         "trivium/v1/*.proto";
}

TEST(CompatibilityTest, DetectsWhatBreaksClients) {
  const FileDescriptorSet before = Promised();
  const auto changed = [&](auto change) {
    FileDescriptorSet after = before;
    for (FileDescriptorProto& file : *after.mutable_file()) {
      for (DescriptorProto& message : *file.mutable_message_type()) {
        if (message.name() != "TokenizeRequest") continue;
        change(&file, &message);
        return Comparison::Run(before, after);
      }
    }
    ADD_FAILURE() << "there is no TokenizeRequest";
    return Comparison::Run(before, after);
  };
  using File = FileDescriptorProto*;
  using Message = DescriptorProto*;
  EXPECT_THAT(changed([](File, Message m) {
                m->mutable_field()->DeleteSubrange(1, 1);
              }),
              ElementsAre("field texts was removed"));
  EXPECT_THAT(
      changed([](File, Message m) { m->mutable_field(1)->set_number(99); }),
      ElementsAre("TokenizeRequest.texts: its number changed"));
  EXPECT_THAT(changed([](File, Message m) {
                m->mutable_field(1)->set_type(FieldDescriptorProto::TYPE_BYTES);
              }),
              ElementsAre("TokenizeRequest.texts: its type changed"));
  EXPECT_THAT(
      changed([](File, Message m) {
        m->mutable_field(0)->set_label(FieldDescriptorProto::LABEL_REPEATED);
      }),
      ElementsAre("TokenizeRequest.model: its label changed"));
  EXPECT_THAT(
      changed([](File f, Message) {
        f->mutable_service(0)->mutable_method(0)->set_server_streaming(true);
      }),
      ElementsAre("Encode: its streaming changed"));
  EXPECT_THAT(changed([](File f, Message) {
                f->mutable_service(0)->mutable_method()->RemoveLast();
              }),
              ElementsAre("method FillMask was removed"));
  EXPECT_THAT(changed([](File f, Message) {
                f->mutable_enum_type(0)->mutable_value(1)->set_number(50);
              }),
              ElementsAre("POOLING_MEAN: its number changed"));
  EXPECT_THAT(changed([](File f, Message) { f->add_message_type(); }),
              IsEmpty());
}

}  // namespace
}  // namespace trivium
