// Score: computes how probable given texts are.
//
// The decoder reads context and target in one pass, as a prefix, and at each
// position of the target it is asked for the log-probability of the next token;
// nothing is searched. The result is made before the model is asked, and
// log-probabilities are filled in afterwards.
#include "server/calls/convert/score.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "base/status.h"
#include "server/calls/convert/model_calls.h"
#include "server/calls/handlers.h"
#include "server/calls/unary.h"

namespace trivium {
namespace {

// About how many bytes a ScoredToken with a short piece takes on the wire, and
// an alternative.
constexpr int64_t kScoredTokenBytes = 40;
constexpr int64_t kAlternativeBytes = 24;

class ScoreCall final : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 private:
  absl::Status Open() override {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    if (model().info().design == Design::kEncoder) {
      return absl::FailedPreconditionError(fmt::format(
          "the model '{}' has no decoder, so it cannot Score; it serves {}",
          call().model().name, NamesOfServedCalls(model())));
    }
    TRIVIUM_ASSIGN_OR_RETURN(job_,
                             ReadScore(request_, model(), environment().limits,
                                       call().alive_check()));
    return absl::OkStatus();
  }

  int parts() const override { return static_cast<int>(job_.inputs.size()); }
  int64_t TextBytes(int part) const override {
    return trivium::TextBytes(*job_.inputs[part]);
  }

  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    const std::string path = FieldOfPart(part);
    TRIVIUM_ASSIGN_OR_RETURN(const ScoreParts parts,
                             ReadScoreInput(*job_.inputs[part], path, job_));
    Request request;
    request.source.ids = parts.source;
    request.prefix = parts.context;
    request.salt = job_.salt;
    for (const Token& token : parts.target) request.prefix.push_back(token.id);
    // The decoder does not read the last token.
    const int most = model().info().max_target_tokens;
    if (request.prefix.size() > static_cast<size_t>(most) + 1) {
      return TooManyToScore(path, model());
    }
    // Without a context, the first token has no probability.
    const size_t unscored = parts.context.empty() ? 1 : 0;
    const size_t scored = parts.target.size() - unscored;
    v1::ScoreResult* result = AddScore(job_, parts, scored, &response_);
    const int64_t bytes = ResultBytes(parts);
    ExpectResponseBytes(bytes);
    // The result waits for the model from now on.
    call().Hold(Held::kResults, bytes);
    if (scored == 0) return absl::OkStatus();
    request.scoring =
        Scoring{.first = static_cast<int>(parts.context.size() + unscored),
                .top_logprobs = job_.top_logprobs};
    requests->push_back(std::move(request));
    asked_.push_back({part, result});
    return absl::OkStatus();
  }

  // About how many bytes the result of an input takes.
  int64_t ResultBytes(const ScoreParts& parts) const {
    int64_t bytes = kScoredTokenBytes;
    if (!job_.tokens) return bytes;
    for (const Token& token : parts.target) {
      bytes += kScoredTokenBytes + static_cast<int64_t>(token.piece.size()) +
               job_.top_logprobs * kAlternativeBytes;
    }
    return bytes;
  }

  absl::Status HandleResult(int index, RequestResult result) override {
    WriteLogprobs(job_, *result.scored, asked_[index].result);
    return absl::OkStatus();
  }

  const google::protobuf::Message& Response() override {
    return WithTimings(&response_);
  }

  static std::string FieldOfPart(int part) {
    return fmt::format("inputs[{}]", part);
  }
  std::string FieldOf(int request) const override {
    return FieldOfPart(asked_[request].part);
  }

  // An input that the model is asked about.
  struct Asked {
    int part;
    v1::ScoreResult* result;  // in the response
  };

  v1::ScoreRequest request_;
  v1::ScoreResponse response_;
  ScoreJob job_;
  std::vector<Asked> asked_;  // [requests]
};

}  // namespace

std::unique_ptr<Handler> NewScore(const Environment& environment,
                                  CallContext context, Transport* transport) {
  return std::make_unique<ScoreCall>(environment, std::move(context),
                                     Rpc::kScore, transport);
}

}  // namespace trivium
