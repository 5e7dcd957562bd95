// Tokenize: makes ids of texts, with their places. Detokenize: makes texts of
// ids.
#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"
#include "server/calls/convert/convert.h"
#include "server/calls/handlers.h"
#include "server/calls/unary.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

// The fewest bytes that a token takes on the wire besides its piece: any token
// (its id, its piece's size and where it ends), and one that is not the first
// of its text.
constexpr int64_t kTokenBytes = 8;
constexpr int64_t kLaterTokenBytes = 14;
// Ids that are decoded, or tokens that are converted, between two checks that
// the call is alive.
constexpr int kIdsAtOnce = 4096;

class TokenizeCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    const RequestLimits& limits = environment().limits;
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer, so its texts cannot be "
          "tokenized");
    }
    if (!request_.texts().empty() && !request_.pairs().empty()) {
      return InvalidField("pairs", "and texts are both set; set one of them");
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckInputCount(parts(), pairs() ? "pairs" : "texts", limits));
    for (int i = 0; i < request_.texts_size(); ++i) {
      TRIVIUM_RETURN_IF_ERROR(CheckTextBytes(
          request_.texts(i).size(), fmt::format("texts[{}]", i), limits));
    }
    for (int i = 0; i < request_.pairs_size(); ++i) {
      const v1::TextPair& pair = request_.pairs(i);
      const std::string path = fmt::format("pairs[{}]", i);
      TRIVIUM_RETURN_IF_ERROR(
          CheckTextBytes(pair.first().size(), path + ".first", limits));
      TRIVIUM_RETURN_IF_ERROR(
          CheckTextBytes(pair.second().size(), path + ".second", limits));
    }
    if (pairs() && request_.target()) {
      return InvalidField("target", "is for texts, not for pairs");
    }
    return absl::OkStatus();
  }

  bool NeedsBatcher() const override { return false; }

  bool pairs() const { return !request_.pairs().empty(); }
  int parts() const override {
    return pairs() ? request_.pairs_size() : request_.texts_size();
  }
  int64_t TextBytes(int part) const override {
    if (!pairs()) return trivium::TextBytes(request_.texts(part));
    return trivium::TextBytes(request_.pairs(part).first()) +
           trivium::TextBytes(request_.pairs(part).second());
  }

  absl::Status Prepare(int part, std::vector<Request>*) override {
    EncodeOptions options;
    options.side = request_.target() ? TextSide::kTarget : TextSide::kSource;
    options.add_special_tokens =
        !request_.has_add_special_tokens() || request_.add_special_tokens();
    // More tokens do not fit into the response.
    options.most_tokens =
        environment().limits.max_response_bytes / kLaterTokenBytes;
    options.check_alive = call().alive_check();
    const Tokenizer& tokenizer = *model().tokenizer();
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<Token> tokens,
        AboutText(pairs() ? tokenizer.TokenizePair(
                                request_.pairs(part).first(),
                                request_.pairs(part).second(), options)
                          : tokenizer.Tokenize(request_.texts(part), options),
                  fmt::format("{}[{}]", pairs() ? "pairs" : "texts", part)));
    for (const Token& token : tokens) {
      response_bytes_ += kTokenBytes + static_cast<int64_t>(token.piece.size());
    }
    TRIVIUM_RETURN_IF_ERROR(
        CheckResponseSize(response_bytes_, environment().limits));
    v1::TokenizedText* result = response_.add_results();
    for (const Token& token : tokens) {
      if (result->tokens_size() % kIdsAtOnce == 0) {
        TRIVIUM_RETURN_IF_ERROR(call().CheckAlive());
      }
      v1::Token* added = result->add_tokens();
      *added = ConvertToken(token);
      if (model().info().type_vocabulary > 0) {
        added->set_type_id(static_cast<uint32_t>(token.type_id));
      }
      if (pairs() && token.text_index >= 0) {
        added->set_sequence(static_cast<uint32_t>(token.text_index));
      }
    }
    return absl::OkStatus();
  }

  absl::Status HandleResult(int, RequestResult) override {
    return absl::OkStatus();  // no request, no result
  }
  const google::protobuf::Message& Response() override {
    *response_.mutable_model() = call().model_version();
    return response_;
  }

  v1::TokenizeRequest request_;
  v1::TokenizeResponse response_;
  int64_t response_bytes_ = 0;  // at least
};

class DetokenizeCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer, so it cannot make texts of "
          "ids");
    }
    return CheckInputCount(request_.inputs_size(), "inputs",
                           environment().limits);
  }

  bool NeedsBatcher() const override { return false; }

  int parts() const override { return request_.inputs_size(); }
  // About how many bytes of text are made.
  int64_t TextBytes(int part) const override {
    return 4 * int64_t{request_.inputs(part).ids_size()};
  }

  absl::Status Prepare(int part, std::vector<Request>*) override {
    const Tokenizer& tokenizer = *model().tokenizer();
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<int32_t> ids,
        CheckIds(request_.inputs(part).ids(), FieldOf(part),
                 tokenizer.vocabulary_size(TextSide::kTarget)));
    // Pieces are longer than their ids, so the text's size is checked as it
    // grows.
    const std::unique_ptr<StreamingDecoder> decoder =
        tokenizer.NewStreamingDecoder();
    std::string* text = response_.add_texts();
    for (size_t begin = 0; begin < ids.size(); begin += kIdsAtOnce) {
      TRIVIUM_RETURN_IF_ERROR(call().CheckAlive());
      const size_t end = std::min(ids.size(), begin + kIdsAtOnce);
      for (size_t i = begin; i < end; ++i) *text += decoder->Push(ids[i]);
      TRIVIUM_RETURN_IF_ERROR(CheckResponseSize(
          response_bytes_ + static_cast<int64_t>(text->size()),
          environment().limits));
    }
    *text += decoder->Finish();
    response_bytes_ += static_cast<int64_t>(text->size());
    return absl::OkStatus();
  }

  absl::Status HandleResult(int, RequestResult) override {
    return absl::OkStatus();  // no request, no result
  }
  const google::protobuf::Message& Response() override {
    *response_.mutable_model() = call().model_version();
    return response_;
  }

  v1::DetokenizeRequest request_;
  v1::DetokenizeResponse response_;
  int64_t response_bytes_ = 0;  // at least
};

}  // namespace

std::unique_ptr<Handler> NewTokenize(const Environment& environment,
                                     CallContext context,
                                     Transport* transport) {
  return std::make_unique<TokenizeCall>(environment, std::move(context),
                                        Rpc::kTokenize, transport);
}

std::unique_ptr<Handler> NewDetokenize(const Environment& environment,
                                       CallContext context,
                                       Transport* transport) {
  return std::make_unique<DetokenizeCall>(environment, std::move(context),
                                          Rpc::kDetokenize, transport);
}

}  // namespace trivium
