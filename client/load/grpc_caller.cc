#include <memory>
#include <utility>
#include <vector>

#include "client/channel.h"
#include "client/load/caller.h"
#include "client/load/grpc_calls.h"
#include "client/load/requests.h"

namespace trivium {
namespace {

using Inference = v1::Inference::StubInterface::async_interface;
using Models = v1::Models::StubInterface::async_interface;

// The stubs of one connection.
struct Services {
  std::unique_ptr<v1::Inference::Stub> inference;
  std::unique_ptr<v1::Models::Stub> models;

  void Get(Inference** service) const { *service = inference->async(); }
  void Get(Models** service) const { *service = models->async(); }
};

// RequestMaker's transport for one gRPC call.
class GrpcTransport {
 public:
  GrpcTransport(const Workload::Options& workload,
                const Client::Options& client, const Services& services,
                std::stop_token stop, Done done)
      : workload_(workload),
        client_(client),
        services_(services),
        stop_(std::move(stop)),
        done_(std::move(done)) {}

  template <typename Service, typename Request, typename Response>
  void Unary(UnaryMethod<Service, Request, Response> method, Request request) {
    Service* service;
    services_.Get(&service);
    New<LoadCall<Request, Response>>()->Run(service, method,
                                            std::move(request));
  }

  void Generate(v1::GenerateRequest request) {
    Inference* service;
    services_.Get(&service);
    New<GenerateCall>()->Run(service, std::move(request));
  }

  template <typename Service, typename Request, typename Response>
  void Stream(StreamMethod<Service, Request, Response> method,
              std::vector<Request> requests) {
    Service* service;
    services_.Get(&service);
    New<StreamCall<Request, Response>>()->Run(service, method,
                                              std::move(requests));
  }

  void OpenAiEmbeddings(const std::vector<v1::Input>&) {
    CallOutcome outcome;
    outcome.code = grpc::StatusCode::UNIMPLEMENTED;
    outcome.message = "OpenAI's embeddings are called over HTTP";
    done_(std::move(outcome));
  }

 private:
  template <typename Call>
  Call* New() {
    return new Call(workload_, client_, stop_, std::move(done_));
  }

  const Workload::Options& workload_;
  const Client::Options& client_;
  const Services& services_;
  const std::stop_token stop_;
  Done done_;
};

class GrpcCaller : public Caller {
 public:
  GrpcCaller(const Workload::Options& workload, const Client::Options& client,
             int connections)
      : workload_(workload), client_(client) {
    for (int i = 0; i < connections; ++i) {
      const auto channel = MakeChannel(client_, /*own_connection=*/true);
      connections_.push_back(
          {v1::Inference::NewStub(channel), v1::Models::NewStub(channel)});
    }
  }

  void Start(PlannedCall call, std::stop_token stop, Done done) override {
    const Services& services = connections_[next_++ % connections_.size()];
    GrpcTransport transport(workload_, client_, services, std::move(stop),
                            std::move(done));
    RequestMaker(workload_, &transport).Make(call);
  }

 private:
  const Workload::Options& workload_;
  const Client::Options client_;
  std::vector<Services> connections_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Caller> MakeGrpcCaller(const Workload::Options& workload,
                                       const Client::Options& client,
                                       int connections) {
  return std::make_unique<GrpcCaller>(workload, client, connections);
}

}  // namespace trivium
