// Always:
// - Every Reactor raises streams_ once, also one that refuses its stream, and
//   OnDone lowers it. kMaxStreams holds for each version of the service.
// - An unknown name is an answer with an error, and the stream goes on. A
//   question that is too long ends the stream.
// - FilesOf keeps its answers for ever and never changes one. So there are no
//   more of them than files in the program, and a reference is valid without
//   the lock.
// - kServices is written by hand: a new service must be added to it.
#include "server/transports/grpc/reflection.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>

#include <atomic>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "grpc/reflection/v1/reflection.grpc.pb.h"
#include "server/errors/status.h"
#include "server/transports/grpc/call_reactor.h"
#include "server/transports/grpc/grpc_status.h"
#include "server/transports/grpc/kserve_service.h"

namespace trivium {
namespace {

namespace reflection = grpc::reflection::v1;
using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using reflection::ServerReflectionRequest;
using reflection::ServerReflectionResponse;

// Names are far shorter, and few clients look at a time. These also bound what
// is held for clients that do not read their answers.
constexpr size_t kMaxRequestBytes = 16 << 10;
constexpr int kMaxStreams = 64;

constexpr const char* kServices[] = {
    "grpc.health.v1.Health",
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
    kKserveService,
    "trivium.v1.Inference",
    "trivium.v1.Models",
};

void SetError(grpc::StatusCode code, const std::string& message,
              ServerReflectionResponse* out) {
  out->mutable_error_response()->set_error_code(code);
  out->mutable_error_response()->set_error_message(message);
}

// Adds a file and its imports, each once: clients need them all.
void AddFiles(const FileDescriptor* file, std::set<std::string>* seen,
              reflection::FileDescriptorResponse* out) {
  if (!seen->insert(file->name()).second) return;
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  out->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) {
    AddFiles(file->dependency(i), seen, out);
  }
}

// Returns a file with its imports. Made when a client first asks, because that
// takes far longer than to send it.
const reflection::FileDescriptorResponse& FilesOf(const FileDescriptor* file) {
  using Answers =
      std::map<const FileDescriptor*, reflection::FileDescriptorResponse>;
  static Mutex mutex;
  static auto* const answers = new Answers;
  MutexLock lock(&mutex);
  const auto [answer, added] = answers->try_emplace(file);
  if (added) {
    std::set<std::string> seen;
    AddFiles(file, &seen, &answer->second);
  }
  return answer->second;
}

void SetFile(const FileDescriptor* file, const std::string& what,
             ServerReflectionResponse* out) {
  if (file == nullptr) {
    return SetError(grpc::NOT_FOUND,
                    fmt::format("there is no {}", Shorten(what)), out);
  }
  *out->mutable_file_descriptor_response() = FilesOf(file);
}

void SetExtensions(const DescriptorPool& pool, const std::string& type,
                   ServerReflectionResponse* out) {
  const Descriptor* descriptor = pool.FindMessageTypeByName(type);
  if (descriptor == nullptr) {
    return SetError(grpc::NOT_FOUND,
                    fmt::format("there is no {}", Shorten(type)), out);
  }
  std::vector<const FieldDescriptor*> extensions;
  pool.FindAllExtensions(descriptor, &extensions);
  auto* numbers = out->mutable_all_extension_numbers_response();
  numbers->set_base_type_name(type);
  for (const FieldDescriptor* one : extensions) {
    numbers->add_extension_number(one->number());
  }
}

void Answer(const ServerReflectionRequest& request,
            ServerReflectionResponse* out) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  out->Clear();
  out->set_valid_host(request.host());
  *out->mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      return SetFile(pool.FindFileByName(request.file_by_filename()),
                     request.file_by_filename(), out);
    case ServerReflectionRequest::kFileContainingSymbol:
      return SetFile(
          pool.FindFileContainingSymbol(request.file_containing_symbol()),
          request.file_containing_symbol(), out);
    case ServerReflectionRequest::kFileContainingExtension: {
      const reflection::ExtensionRequest& wanted =
          request.file_containing_extension();
      const Descriptor* type =
          pool.FindMessageTypeByName(wanted.containing_type());
      const FieldDescriptor* extension =
          type == nullptr
              ? nullptr
              : pool.FindExtensionByNumber(type, wanted.extension_number());
      return SetFile(
          extension == nullptr ? nullptr : extension->file(),
          fmt::format("extension {} of {}", wanted.extension_number(),
                      wanted.containing_type()),
          out);
    }
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      return SetExtensions(pool, request.all_extension_numbers_of_type(), out);
    case ServerReflectionRequest::kListServices:
      for (const char* name : kServices) {
        out->mutable_list_services_response()->add_service()->set_name(name);
      }
      return;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
      break;
  }
  SetError(grpc::INVALID_ARGUMENT, "the request asks for nothing", out);
}

// Answers each question before it reads the next.
class Reactor : public grpc::ServerBidiReactor<ServerReflectionRequest,
                                               ServerReflectionResponse> {
 public:
  Reactor(std::atomic<int>* streams, const CallContext& context)
      : streams_(streams) {
    if (!context.access.ok()) {
      streams_->fetch_add(1);
      Finish(ToGrpcStatus(context.access, "of reflection"));
    } else if (streams_->fetch_add(1) < kMaxStreams) {
      StartRead(&request_);
    } else {
      Finish({grpc::RESOURCE_EXHAUSTED,
              "too many reflection streams are open; end others"});
    }
  }

  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    if (request_.ByteSizeLong() > kMaxRequestBytes) {
      request_.Clear();
      return Finish(
          {grpc::INVALID_ARGUMENT,
           fmt::format("a question of more than {} bytes", kMaxRequestBytes)});
    }
    Answer(request_, &response_);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override {
    streams_->fetch_sub(1);
    delete this;
  }

 private:
  std::atomic<int>* const streams_;
  ServerReflectionRequest request_;
  ServerReflectionResponse response_;
};

// Serves both versions, whose messages are the same.
class ReflectionService : public grpc::Service {
 public:
  ReflectionService(const char* method, const Environment& environment) {
    AddMethod(new grpc::internal::RpcServiceMethod(
        method, grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
    MarkMethodCallback(
        0, new grpc::internal::CallbackBidiHandler<ServerReflectionRequest,
                                                   ServerReflectionResponse>(
               [this, &environment](grpc::CallbackServerContext* context) {
                 return new Reactor(&streams_,
                                    ToCallContext(environment, *context));
               }));
  }

 private:
  std::atomic<int> streams_ = 0;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> NewReflection(
    const Environment& environment) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  for (const char* method :
       {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"}) {
    services.push_back(
        std::make_unique<ReflectionService>(method, environment));
  }
  return services;
}

}  // namespace trivium
