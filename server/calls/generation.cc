#include "server/calls/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "base/status.h"
#include "server/calls/convert/constraint.h"
#include "server/calls/convert/head_trace.h"
#include "server/calls/convert/model_calls.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr char kConstraint[] = "decoding.constraint";

}  // namespace

int64_t Generation::text_bytes() const {
  const int64_t bytes = TextBytes(request_);
  // A template is a program, so it must not run on the transport's thread. A
  // constraint is compiled.
  return job_.chat || job_.decoding.constraint
             ? std::max(bytes, kInlineTextBytes + 1)
             : bytes;
}

absl::Status Generation::Open(Transport* transport) {
  TRIVIUM_RETURN_IF_ERROR(call_->Open(transport, &request_));
  const ServedModel& model = call_->model();
  if (model.model->info().design == Design::kEncoder) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' has no decoder, so it cannot Generate; it serves {}",
        model.name, NamesOfServedCalls(*model.model)));
  }
  TRIVIUM_ASSIGN_OR_RETURN(job_, ReadGenerate(request_, call_->environment(),
                                              model, call_->alive_check()));
  return absl::OkStatus();
}

absl::StatusOr<Request> Generation::Prepare(std::string* prompt_text) {
  ChatPrompt chat;
  chat.text = prompt_text;
  const Clock& clock = *call_->environment().clock;
  TRIVIUM_ASSIGN_OR_RETURN(
      input_,
      ReadGenerateInput(request_, job_, clock.WallTime(clock.Now()), &chat));
  if (job_.parts) {
    TRIVIUM_ASSIGN_OR_RETURN(
        parts_, ReadAnswerParts(request_, job_, call_->model(), chat));
  }
  messages_.emplace(job_, input_, parts_ ? &*parts_ : nullptr);
  Request request;
  if (input_.blank && job_.decoding.constraint) {
    return InvalidField(field(),
                        "is blank, and has an empty answer, whatever the "
                        "constraint; send a text");
  }
  if (input_.blank) return request;
  const Model& model = *job_.options.model;
  const CallDecoding& decoding = job_.decoding;
  TRIVIUM_ASSIGN_OR_RETURN(request.decoding,
                           ForInput(decoding, input_, job_.options.direction,
                                    /*per_source=*/false, field(), model));
  request.default_max_new_tokens = decoding.default_max_new_tokens;
  request.source = input_.source;
  request.prefix = input_.prefix;
  request.salt = job_.salt;
  // The first token has no context, so it has no probability.
  if (job_.prompt_logprobs && input_.prefix.size() > 1) {
    request.scoring = Scoring{.top_logprobs = *job_.prompt_logprobs};
  }
  if (job_.attention) AskForAttention(&request);
  if (job_.traced_head) TRIVIUM_RETURN_IF_ERROR(AskForTrace(&request));
  TRIVIUM_RETURN_IF_ERROR(Constrain(&request));
  request.stop = decoding.matcher;
  const bool joining = request.decoding->constraint != nullptr;
  if ((job_.prompted() || joining) && request.stop != nullptr) {
    request.stop = std::make_shared<StopStringMatcher>(
        decoding.stop,
        [tokenizer = model.tokenizer(), prompt = prompt(), joining,
         written = parts_ ? parts_->written
                          : WrittenTokens()](std::span<const int32_t> ids) {
          ContinuedText text(*tokenizer, prompt, joining, &written);
          std::string whole;
          for (const int32_t id : ids) whole += text.Push(id);
          return whole + text.Finish();
        });
  }
  request.stream = true;
  return request;
}

std::vector<int32_t> Generation::prompt() const {
  return job_.prompted() ? input_.prefix : std::vector<int32_t>();
}

absl::Status Generation::Constrain(Request* request) {
  if (parts_ && parts_->held) {
    TRIVIUM_RETURN_IF_ERROR(HoldAnswer(request_, job_, call_->model(), *parts_,
                                       &*request->decoding));
  } else if (job_.decoding.constraint) {
    TRIVIUM_ASSIGN_OR_RETURN(
        request->decoding->constraint,
        CompileConstraint(*job_.decoding.constraint, kConstraint,
                          call_->model(), request->decoding->end_ids,
                          job_.options.check_alive));
  } else {
    return absl::OkStatus();
  }
  return CheckJoins(*request->decoding->constraint,
                    *job_.options.model->tokenizer(), prompt(), field());
}

absl::Status Generation::AboutResult(const absl::Status& status) const {
  const char* field = kConstraint;
  if (parts_ && !parts_->tools.empty()) {
    field = "chat.tools";
  } else if (parts_ && !job_.decoding.constraint) {
    field = "chat.max_thinking_tokens";
  }
  return AboutConstraint(status, field);
}

void Generation::AskForAttention(Request* request) {
  const ModelInfo& info = job_.options.model->info();
  const int64_t read = static_cast<int64_t>(request->prefix.size()) +
                       request->decoding->max_new_tokens - 1;
  response_bytes_ =
      hypotheses() * AttentionBytes(*job_.attention, info.decoder_layers,
                                    info.decoder_heads,
                                    /*queries=*/read,
                                    /*keys=*/read);
  request->decoder_attention = job_.attention->maps;
  request->prefix_attention = true;
}

absl::Status Generation::AskForTrace(Request* request) {
  const auto prefix = static_cast<int64_t>(request->prefix.size());
  const auto source = static_cast<int64_t>(request->source.ids.size());
  TRIVIUM_RETURN_IF_ERROR(CheckTracedTokens(std::max(source, prefix), field(),
                                            "send shorter text"));
  int& most = request->decoding->max_new_tokens;
  if (request->default_max_new_tokens) {
    most = static_cast<int>(
        std::min<int64_t>(most, kMostTracedTokens - prefix + 1));
  }
  const int64_t read = prefix + most - 1;
  TRIVIUM_RETURN_IF_ERROR(CheckTracedTokens(
      read, field(),
      "new tokens count, too: send shorter text or a lower max_new_tokens"));
  response_bytes_ +=
      HeadTraceBytes(read, job_.traced_head->cross ? source : read,
                     job_.options.model->info(), /*decoder=*/true);
  request->traced_head = job_.traced_head;
  return absl::OkStatus();
}

void Generation::AddEnd(RequestResult result) {
  complete_ = true;
  if (!input_.blank) call_->AddResult(result, /*model=*/nullptr);
  messages_->AddEnd(std::move(result), call_->timings(), call_->model());
}

}  // namespace trivium
