#include "server/transports/grpc/service.h"

#include <utility>

#include "server/transports/grpc/kserve_service.h"
#include "server/transports/grpc/reactors.h"
#include "server/transports/grpc/reflection.h"
#include "trivium/v1/inference.grpc.pb.h"
#include "trivium/v1/models.grpc.pb.h"

namespace trivium {
namespace {

using Context = grpc::CallbackServerContext;
using Bytes = grpc::ByteBuffer;

using RawHeads = v1::Inference::WithRawCallbackMethod_Classify<
    v1::Inference::WithRawCallbackMethod_Rerank<
        v1::Inference::WithRawCallbackMethod_ClassifyTokens<
            v1::Inference::WithRawCallbackMethod_FillMask<
                v1::Inference::WithRawCallbackMethod_Answer<
                    v1::Inference::Service>>>>>;
using RawAdded = v1::Inference::WithRawCallbackMethod_EncodeStream<
    v1::Inference::WithRawCallbackMethod_Detokenize<
        v1::Inference::WithRawCallbackMethod_TranslateDocument<
            v1::Inference::WithRawCallbackMethod_Similarity<
                v1::Inference::WithRawCallbackMethod_Score<RawHeads>>>>>;
using RawInference = v1::Inference::WithRawCallbackMethod_Encode<
    v1::Inference::WithRawCallbackMethod_Translate<
        v1::Inference::WithRawCallbackMethod_TranslateStream<
            v1::Inference::WithRawCallbackMethod_Generate<
                v1::Inference::WithRawCallbackMethod_Tokenize<RawAdded>>>>>;

class InferenceService : public RawInference {
 public:
  explicit InferenceService(RpcEnvironment* environment)
      : environment_(environment) {}

  grpc::ServerUnaryReactor* Encode(Context* context, const Bytes* request,
                                   Bytes* response) override {
    return StartUnary(NewEncode, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* Translate(Context* context, const Bytes* request,
                                      Bytes* response) override {
    return StartUnary(NewTranslate, environment_, context, request, response);
  }
  grpc::ServerBidiReactor<Bytes, Bytes>* TranslateStream(
      Context* context) override {
    return StartTranslateStream(environment_, context);
  }
  grpc::ServerBidiReactor<Bytes, Bytes>* TranslateDocument(
      Context* context) override {
    return StartTranslateDocument(environment_, context);
  }
  grpc::ServerBidiReactor<Bytes, Bytes>* EncodeStream(
      Context* context) override {
    return StartEncodeStream(environment_, context);
  }
  grpc::ServerWriteReactor<Bytes>* Generate(Context* context,
                                            const Bytes* request) override {
    return StartGenerate(environment_, context, request);
  }
  grpc::ServerUnaryReactor* Tokenize(Context* context, const Bytes* request,
                                     Bytes* response) override {
    return StartUnary(NewTokenize, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* Detokenize(Context* context, const Bytes* request,
                                       Bytes* response) override {
    return StartUnary(NewDetokenize, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* Score(Context* context, const Bytes* request,
                                  Bytes* response) override {
    return StartUnary(NewScore, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* Classify(Context* context, const Bytes* request,
                                     Bytes* response) override {
    return StartUnary(NewClassify, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* Rerank(Context* context, const Bytes* request,
                                   Bytes* response) override {
    return StartUnary(NewRerank, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* Similarity(Context* context, const Bytes* request,
                                       Bytes* response) override {
    return StartUnary(NewSimilarity, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* ClassifyTokens(Context* context,
                                           const Bytes* request,
                                           Bytes* response) override {
    return StartUnary(NewClassifyTokens, environment_, context, request,
                      response);
  }
  grpc::ServerUnaryReactor* FillMask(Context* context, const Bytes* request,
                                     Bytes* response) override {
    return StartUnary(NewFillMask, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* Answer(Context* context, const Bytes* request,
                                   Bytes* response) override {
    return StartUnary(NewAnswer, environment_, context, request, response);
  }

 private:
  RpcEnvironment* const environment_;
};

using RawModelOrders = v1::Models::WithRawCallbackMethod_LoadModel<
    v1::Models::WithRawCallbackMethod_ReloadModel<
        v1::Models::WithRawCallbackMethod_UnloadModel<v1::Models::Service>>>;
using RawModels = v1::Models::WithRawCallbackMethod_ListModels<
    v1::Models::WithRawCallbackMethod_GetModel<RawModelOrders>>;

class ModelsService : public RawModels {
 public:
  explicit ModelsService(RpcEnvironment* environment)
      : environment_(environment) {}

  grpc::ServerUnaryReactor* ListModels(Context* context, const Bytes* request,
                                       Bytes* response) override {
    return StartUnary(NewListModels, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* GetModel(Context* context, const Bytes* request,
                                     Bytes* response) override {
    return StartUnary(NewGetModel, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* LoadModel(Context* context, const Bytes* request,
                                      Bytes* response) override {
    return StartUnary(NewLoadModel, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* ReloadModel(Context* context, const Bytes* request,
                                        Bytes* response) override {
    return StartUnary(NewReloadModel, environment_, context, request, response);
  }
  grpc::ServerUnaryReactor* UnloadModel(Context* context, const Bytes* request,
                                        Bytes* response) override {
    return StartUnary(NewUnloadModel, environment_, context, request, response);
  }

 private:
  RpcEnvironment* const environment_;
};

}  // namespace

std::vector<std::unique_ptr<grpc::Service>> NewServices(
    RpcEnvironment* environment) {
  std::vector<std::unique_ptr<grpc::Service>> services;
  services.push_back(std::make_unique<InferenceService>(environment));
  services.push_back(std::make_unique<ModelsService>(environment));
  services.push_back(NewKserveService(environment));
  for (auto& service : NewReflection(environment->handlers))
    services.push_back(std::move(service));
  return services;
}

}  // namespace trivium
