// Requests of tools that use grpc.reflection.v1 (grpcurl, Postman).
#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>

#include <set>

#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "tests/server/transports/grpc/rpc_fixture.h"

namespace trivium {
namespace {

namespace reflection = grpc::reflection::v1;
using reflection::ServerReflectionRequest;
using reflection::ServerReflectionResponse;

class ReflectionTest : public RpcTest {
 protected:
  void SetUp() override {
    RpcTest::SetUp();
    reflection_ = reflection::ServerReflection::NewStub(channel_);
    context_ = Context();
    stream_ = reflection_->ServerReflectionInfo(context_.get());
  }
  void TearDown() override {
    stream_->WritesDone();
    EXPECT_TRUE(stream_->Finish().ok());
  }

  ServerReflectionResponse Ask(const ServerReflectionRequest& request) {
    ServerReflectionResponse response;
    EXPECT_TRUE(stream_->Write(request));
    EXPECT_TRUE(stream_->Read(&response));
    EXPECT_EQ(response.original_request().SerializeAsString(),
              request.SerializeAsString());
    return response;
  }
  // The names of the files that hold a symbol and what it needs.
  std::set<std::string> FilesOf(const std::string& symbol) {
    ServerReflectionRequest request;
    request.set_file_containing_symbol(symbol);
    const ServerReflectionResponse response = Ask(request);
    std::set<std::string> names;
    for (const std::string& bytes :
         response.file_descriptor_response().file_descriptor_proto()) {
      google::protobuf::FileDescriptorProto file;
      EXPECT_TRUE(file.ParseFromString(bytes));
      EXPECT_TRUE(names.insert(file.name()).second) << "sent twice";
    }
    return names;
  }

  std::unique_ptr<reflection::ServerReflection::Stub> reflection_;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReaderWriter<ServerReflectionRequest,
                                           ServerReflectionResponse>>
      stream_;
};

TEST_F(ReflectionTest, ListsTheServices) {
  ServerReflectionRequest request;
  request.set_list_services("");
  const ServerReflectionResponse response = Ask(request);
  std::vector<std::string> names;
  for (const auto& service : response.list_services_response().service()) {
    names.push_back(service.name());
  }
  EXPECT_THAT(
      names, testing::IsSupersetOf({"trivium.v1.Inference", "trivium.v1.Models",
                                    "grpc.health.v1.Health",
                                    "grpc.reflection.v1.ServerReflection"}));
}

TEST_F(ReflectionTest, ReturnsFilesWithTheirImports) {
  const std::set<std::string> files = FilesOf("trivium.v1.Inference");
  EXPECT_THAT(files,
              testing::IsSupersetOf(
                  {"trivium/v1/inference.proto", "trivium/v1/common.proto",
                   "google/rpc/status.proto", "google/protobuf/any.proto"}));
  EXPECT_EQ(FilesOf("trivium.v1.Inference.Encode"), files);
  ServerReflectionRequest request;
  request.set_file_by_filename("trivium/v1/common.proto");
  EXPECT_GE(
      Ask(request).file_descriptor_response().file_descriptor_proto_size(), 2);
}

TEST_F(ReflectionTest, AnUnknownNameDoesNotEndTheStream) {
  ServerReflectionRequest request;
  const auto code = [&] { return Ask(request).error_response().error_code(); };
  EXPECT_EQ(code(), grpc::INVALID_ARGUMENT);
  request.set_file_by_filename("no.proto");
  EXPECT_EQ(code(), grpc::NOT_FOUND);
  request.set_file_containing_symbol(std::string(10000, 'x'));
  EXPECT_EQ(code(), grpc::NOT_FOUND);
  request.mutable_file_containing_extension()->set_containing_type("no");
  EXPECT_EQ(code(), grpc::NOT_FOUND);
  request.set_all_extension_numbers_of_type("no");
  EXPECT_EQ(code(), grpc::NOT_FOUND);
  request.set_all_extension_numbers_of_type("trivium.v1.Input");
  EXPECT_EQ(Ask(request).all_extension_numbers_response().base_type_name(),
            "trivium.v1.Input");
}

// The client keeps asking and does not read the answers.
TEST_F(ReflectionTest, StreamsAndQuestionsAreBounded) {
  for (const char* version : {"v1", "v1alpha"}) {
    const std::string method = std::string("/grpc.reflection.") + version +
                               ".ServerReflection/ServerReflectionInfo";
    ServerReflectionRequest request;
    request.set_file_by_filename(std::string(20'000, 'x'));
    EXPECT_EQ(SendBytes(method, request.SerializeAsString()).error_code(),
              grpc::INVALID_ARGUMENT);
  }
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts;
  std::vector<decltype(stream_)> streams;
  ServerReflectionRequest request;
  request.set_list_services("");
  ServerReflectionResponse response = Ask(request);
  for (int i = 0; i < 63; ++i) {
    contexts.push_back(Context());
    streams.push_back(reflection_->ServerReflectionInfo(contexts.back().get()));
    ASSERT_TRUE(streams.back()->Write(request));
    ASSERT_TRUE(streams.back()->Read(&response));
  }
  const auto context = Context();
  EXPECT_EQ(
      reflection_->ServerReflectionInfo(context.get())->Finish().error_code(),
      grpc::RESOURCE_EXHAUSTED);
  for (auto& stream : streams) {
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }
  Ask(request);
}

}  // namespace
}  // namespace trivium
