// Sends bytes that are no messages, and messages with absurd contents, to every
// call of the API. It bypasses the generated stubs.

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "grpcpp/generic/generic_stub.h"
#include "grpcpp/grpcpp.h"
#include "tests/integration/good_calls.h"
#include "tests/integration/server_process.h"

namespace trivium {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// Calls `attack` for every text field of a message, with that field set to
// `text`. Messages that can contain others of their own type are entered once;
// `path` has the types around this one.
void ForEachText(const std::string& text, const Descriptor* descriptor,
                 Message* message, const std::function<void()>& attack,
                 std::vector<const Descriptor*> path = {}) {
  if (std::ranges::find(path, descriptor) != path.end()) return;
  path.push_back(descriptor);
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    const google::protobuf::Reflection* reflection = message->GetReflection();
    const std::unique_ptr<Message> before(message->New());
    before->CopyFrom(*message);
    if (field->type() == FieldDescriptor::TYPE_STRING) {
      if (field->is_repeated()) {
        reflection->AddString(message, field, text);
      } else {
        reflection->SetString(message, field, text);
      }
      attack();
    } else if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
      ForEachText(text, field->message_type(),
                  field->is_repeated()
                      ? reflection->AddMessage(message, field)
                      : reflection->MutableMessage(message, field),
                  attack, path);
    }
    message->CopyFrom(*before);
  }
}

class HostileTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    std::string folder = testing::TempDir() + "/hostile.XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    std::vector<std::string> flags = HeadModels(folder);
    flags.insert(flags.end(), {"--model-root", "tests/golden"});
    server_ = new ServerProcess(flags);
    std::filesystem::remove_all(folder);
  }
  static void TearDownTestSuite() {
    EXPECT_TRUE(server_->running()) << "the server died";
    delete server_;
  }

  // Sends the messages and returns the status of the call.
  grpc::Status Call(const std::string& method,
                    const std::vector<std::string>& messages) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::seconds(60));
    grpc::CompletionQueue queue;
    const auto call = stub_.PrepareCall(&context, method, &queue);
    const auto wait = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    call->StartCall(nullptr);
    wait();
    for (const std::string& message : messages) {
      const grpc::Slice slice(message);
      call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      if (!wait()) break;
    }
    call->WritesDone(nullptr);
    wait();
    grpc::ByteBuffer answer;
    bool more = true;
    while (more) {
      call->Read(&answer, nullptr);
      more = wait();
    }
    grpc::Status status;
    call->Finish(&status, nullptr);
    wait();
    queue.Shutdown();
    return status;
  }

  static void ExpectClientsFault(const grpc::Status& status,
                                 const std::string& what) {
    const auto code = status.error_code();
    EXPECT_TRUE(code == grpc::StatusCode::OK ||
                code == grpc::StatusCode::INVALID_ARGUMENT ||
                code == grpc::StatusCode::NOT_FOUND ||
                code == grpc::StatusCode::ALREADY_EXISTS ||
                code == grpc::StatusCode::FAILED_PRECONDITION ||
                code == grpc::StatusCode::RESOURCE_EXHAUSTED)
        << what << ": " << code << " " << status.error_message();
  }

  static ServerProcess* server_;
  grpc::GenericStub stub_{grpc::CreateChannel(
      server_->address(), grpc::InsecureChannelCredentials())};
};

ServerProcess* HostileTest::server_ = nullptr;

// Shows that the attacks below reach every call, as deep as its good messages
// go.
TEST_F(HostileTest, AnswersGoodMessagesOfEveryCall) {
  std::map<std::string, int> methods;
  for (const char* name : {"trivium.v1.Inference", "trivium.v1.Models"}) {
    const auto* service =
        DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr);
    for (int i = 0; i < service->method_count(); ++i) {
      methods["/" + std::string(name) + "/" + service->method(i)->name()] = 0;
    }
  }
  for (const GoodCall& good : GoodCalls()) {
    ++methods[good.method];
    const grpc::Status status = Call(good.method, good.Bytes());
    EXPECT_TRUE(status.ok()) << good.method << " " << status.error_message();
  }
  for (const auto& [method, calls] : methods) EXPECT_EQ(calls, 1) << method;
}

TEST_F(HostileTest, BlamesTheClientForRandomBytes) {
  std::mt19937 random(17);
  for (int round = 0; round < 60; ++round) {
    std::string bytes(random() % 200, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    for (const GoodCall& good : GoodCalls()) {
      ExpectClientsFault(Call(good.method, {bytes}), good.method);
    }
  }
}

TEST_F(HostileTest, BlamesTheClientForTruncatedAndChangedMessages) {
  std::mt19937 random(18);
  for (const GoodCall& good : GoodCalls()) {
    std::vector<std::string> messages = good.Bytes();
    for (std::string& message : messages) {
      const std::string whole = message;
      for (size_t i = 0; i < whole.size(); ++i) {
        const std::string what = good.method + " at " + std::to_string(i);
        message = whole.substr(0, i);
        ExpectClientsFault(Call(good.method, messages), what);
        message = whole;
        message[i] = static_cast<char>(random());
        ExpectClientsFault(Call(good.method, messages), what);
      }
      message = whole;
    }
  }
}

TEST_F(HostileTest, BlamesTheClientForExtremeNumbers) {
  for (const GoodCall& good : GoodCalls()) {
    for (const auto& message : good.messages) {
      const std::unique_ptr<Message> before(message->New());
      before->CopyFrom(*message);
      const Descriptor* descriptor = message->GetDescriptor();
      const google::protobuf::Reflection* reflection = message->GetReflection();
      for (int i = 0; i < descriptor->field_count(); ++i) {
        const FieldDescriptor* field = descriptor->field(i);
        for (const uint32_t value : {0u, 77u, UINT32_MAX}) {
          if (field->is_repeated()) continue;
          if (field->type() == FieldDescriptor::TYPE_UINT32) {
            reflection->SetUInt32(message.get(), field, value);
          } else if (field->type() == FieldDescriptor::TYPE_ENUM) {
            reflection->SetEnumValue(message.get(), field,
                                     static_cast<int>(value));
          } else {
            continue;
          }
          ExpectClientsFault(Call(good.method, good.Bytes()),
                             good.method + " " + field->name());
        }
        message->CopyFrom(*before);
      }
      // More inputs, texts or documents than a call accepts, and none.
      for (int i = 0; i < descriptor->field_count(); ++i) {
        const FieldDescriptor* field = descriptor->field(i);
        if (!field->is_repeated()) continue;
        reflection->ClearField(message.get(), field);
        ExpectClientsFault(Call(good.method, good.Bytes()),
                           good.method + " without " + field->name());
        for (int k = 0; k < 1000; ++k) {
          if (field->type() == FieldDescriptor::TYPE_MESSAGE) {
            reflection->AddMessage(message.get(), field);
          } else if (field->type() == FieldDescriptor::TYPE_STRING) {
            reflection->AddString(message.get(), field, "a");
          }
        }
        ExpectClientsFault(Call(good.method, good.Bytes()),
                           good.method + " with many " + field->name());
        message->CopyFrom(*before);
      }
    }
  }
}

TEST_F(HostileTest, AnswersACallWithoutAMessage) {
  for (const GoodCall& good : GoodCalls()) {
    ExpectClientsFault(Call(good.method, {}), good.method);
  }
}

TEST_F(HostileTest, RefusesInvalidUtf8InEveryTextField) {
  const std::string bad = "a\xff\xfe";
  int texts = 0;
  for (const GoodCall& good : GoodCalls()) {
    // A stream's bad item fails alone.
    Message* message = good.messages.front().get();
    ForEachText(bad, message->GetDescriptor(), message, [&] {
      if (good.method.ends_with("Stream") &&
          message->ShortDebugString().find("start") != 0) {
        return;
      }
      const grpc::Status status = Call(good.method, good.Bytes());
      EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT)
          << good.method << " " << message->ShortDebugString() << " "
          << status.error_message();
      ++texts;
    });
  }
  EXPECT_GT(texts, 40);
}

TEST_F(HostileTest, RefusesStreamsOutOfOrder) {
  v1::TranslateStreamRequest start, item;
  start.mutable_start();
  item.mutable_item()->mutable_input()->set_text("Hi.");
  for (const std::vector<std::string>& messages :
       std::vector<std::vector<std::string>>{
           {item.SerializeAsString()},
           {""},
           {start.SerializeAsString(), start.SerializeAsString()},
           {start.SerializeAsString(), ""},
           {start.SerializeAsString(), "\xff\xff"}}) {
    EXPECT_EQ(Call(kTranslateStream, messages).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT);
  }
}

TEST_F(HostileTest, RefusesOversizedMessages) {
  for (const GoodCall& good : GoodCalls()) {
    ExpectClientsFault(Call(good.method, {std::string(9 << 20, '\0')}),
                       good.method);
  }
}

}  // namespace
}  // namespace trivium
