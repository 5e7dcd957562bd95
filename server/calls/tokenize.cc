// Tokenize: makes ids of texts, with their places. Detokenize: makes texts of
// ids.
#include "server/calls/convert/tokenize.h"

#include <algorithm>
#include <span>
#include <string>

#include "base/status.h"
#include "server/calls/handlers.h"
#include "server/calls/unary.h"

namespace trivium {
namespace {

// The fewest bytes that a token takes on the wire besides its piece: any token
// (its id, its piece's size and where it ends), and one that is not the first
// of its text.
constexpr int64_t kTokenBytes = 8;
constexpr int64_t kLaterTokenBytes = 14;
// Memory of a token besides its piece's bytes, until the call ends.
constexpr int64_t kTokenMemory = sizeof(v1::Token) + sizeof(std::string);
// Ids that are decoded, or tokens that are converted, between two checks that
// the call is alive.
constexpr size_t kIdsAtOnce = 4096;

class TokenizeCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    if (model().tokenizer() == nullptr) {
      return absl::FailedPreconditionError(
          "the model's folder has no tokenizer, so its texts cannot be "
          "tokenized");
    }
    TRIVIUM_ASSIGN_OR_RETURN(job_,
                             ReadTokenize(request_, environment().limits));
    return absl::OkStatus();
  }

  bool NeedsBatcher() const override { return false; }

  int parts() const override { return static_cast<int>(job_.inputs.size()); }
  int64_t TextBytes(int part) const override {
    const TokenizeJob::Input& input = job_.inputs[part];
    return trivium::TextBytes(input.text) + trivium::TextBytes(input.second);
  }

  absl::Status Prepare(int part, std::vector<Request>*) override {
    EncodeOptions options;
    options.side = job_.side;
    options.add_special_tokens = job_.add_special_tokens;
    // More tokens do not fit into the response.
    options.most_tokens =
        environment().limits.max_response_bytes / kLaterTokenBytes;
    options.check_alive = call().alive_check();
    const Tokenizer& tokenizer = *model().tokenizer();
    const TokenizeJob::Input& input = job_.inputs[part];
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<Token> tokens,
        AboutText(job_.pairs ? tokenizer.TokenizePair(input.text, input.second,
                                                      options)
                             : tokenizer.Tokenize(input.text, options),
                  input.path));
    int64_t pieces = 0;
    for (const Token& token : tokens) {
      pieces += static_cast<int64_t>(token.piece.size());
    }
    const auto count = static_cast<int64_t>(tokens.size());
    response_bytes_ += count * kTokenBytes + pieces;
    TRIVIUM_RETURN_IF_ERROR(
        CheckResponseSize(response_bytes_, environment().limits));
    call().Hold(Held::kResults, count * kTokenMemory + pieces);
    v1::TokenizedText* result = AddTokens(&response_);
    const bool types = model().info().type_vocabulary > 0;
    for (size_t begin = 0; begin < tokens.size(); begin += kIdsAtOnce) {
      TRIVIUM_RETURN_IF_ERROR(call().CheckAlive());
      const size_t some = std::min(tokens.size() - begin, kIdsAtOnce);
      AppendTokens(std::span(tokens).subspan(begin, some), types, job_.pairs,
                   result);
    }
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    WriteModel(call().model(), &response_);
    return response_;
  }

  v1::TokenizeRequest request_;
  v1::TokenizeResponse response_;
  TokenizeJob job_;
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
    TRIVIUM_ASSIGN_OR_RETURN(inputs_,
                             ReadInputs(request_, environment().limits));
    return absl::OkStatus();
  }

  bool NeedsBatcher() const override { return false; }

  int parts() const override { return static_cast<int>(inputs_.size()); }
  // About how many bytes of text are made.
  int64_t TextBytes(int part) const override {
    return 4 * int64_t{IdCount(*inputs_[part])};
  }

  absl::Status Prepare(int part, std::vector<Request>*) override {
    const Tokenizer& tokenizer = *model().tokenizer();
    TRIVIUM_ASSIGN_OR_RETURN(
        const std::vector<int32_t> ids,
        ReadIds(*inputs_[part], FieldOf(part),
                tokenizer.vocabulary_size(TextSide::kTarget)));
    // Pieces are longer than their ids, so the text's size is checked as it
    // grows.
    const std::unique_ptr<StreamingDecoder> decoder =
        tokenizer.NewStreamingDecoder();
    std::string* text = AddText(&response_);
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

  const google::protobuf::Message& Response() override {
    WriteModel(call().model(), &response_);
    return response_;
  }

  v1::DetokenizeRequest request_;
  v1::DetokenizeResponse response_;
  Elements<v1::TokenIds> inputs_;
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
