#include "server/calls/convert/generate.h"

#include <fmt/format.h>

#include <utility>

#include "base/status.h"
#include "server/calls/convert/answer_parts.h"
#include "server/calls/convert/head_trace.h"
#include "server/calls/environment.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

absl::Status CheckPromptLogprobs(const v1::GenerateRequest& in,
                                 const Model& model,
                                 const RequestLimits& limits) {
  if (!in.has_prompt_logprobs()) return absl::OkStatus();
  if (model.info().design != Design::kDecoder) {
    return InvalidField("prompt_logprobs",
                        "is of a prompt, and this model has a source instead; "
                        "Score tells how probable a translation is");
  }
  const uint32_t most = static_cast<uint32_t>(limits.max_top_logprobs);
  if (in.prompt_logprobs() <= most) return absl::OkStatus();
  return InvalidField(
      "prompt_logprobs",
      fmt::format("is {}; it must be in 0 .. {}", in.prompt_logprobs(), most));
}

absl::Status CheckInputFields(const v1::GenerateRequest& in,
                              const Model& model) {
  if (in.has_chat()) {
    if (in.has_input()) {
      return InvalidField("chat", "is set beside input; send only one of them");
    }
    if (in.truncate()) {
      return InvalidField("truncate",
                          "is not for chats, whose end is what is answered; "
                          "send fewer messages");
    }
  } else if (model.info().design == Design::kDecoder &&
             in.input().input_case() == v1::Input::INPUT_NOT_SET) {
    return InvalidField("input", "is empty; set text or ids, or send a chat");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<GenerateJob> ReadGenerate(const v1::GenerateRequest& in,
                                         const Environment& environment,
                                         const ServedModel& served,
                                         AliveCheck check_alive) {
  const Model& model = *served.model;
  const RequestLimits& limits = environment.limits;
  GenerateJob job;
  InputOptions& options = job.options;
  TRIVIUM_ASSIGN_OR_RETURN(options.direction, ConvertDirection(in, "", model));
  TRIVIUM_ASSIGN_OR_RETURN(job.decoding,
                           ConvertDecoding(in.decoding(), "decoding",
                                           options.direction, model, limits));
  if (job.decoding.options.trace) {
    return InvalidField("decoding.trace",
                        "is for Translate: a stream of text has no trace");
  }
  TRIVIUM_RETURN_IF_ERROR(CheckSalt(in.cache_salt()));
  job.salt = in.cache_salt();
  TRIVIUM_RETURN_IF_ERROR(CheckPromptLogprobs(in, model, limits));
  if (in.has_prompt_logprobs()) {
    job.prompt_logprobs = static_cast<int>(in.prompt_logprobs());
  }
  if (in.has_decoder_attention()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        job.attention,
        ConvertDecoderSelection(in.decoder_attention(), "decoder_attention",
                                model.info()));
  }
  if (in.has_head_trace()) {
    TRIVIUM_ASSIGN_OR_RETURN(job.traced_head,
                             ConvertHeadChoice(in.head_trace(), "head_trace",
                                               /*decoder=*/true, model));
    if (job.hypotheses() > 1) {
      return InvalidField("head_trace",
                          "is of one text, and decoding asks for several; ask "
                          "for one hypothesis");
    }
  }
  TRIVIUM_RETURN_IF_ERROR(CheckInputFields(in, model));
  TRIVIUM_RETURN_IF_ERROR(CheckAnswerFields(in.chat(), "chat"));
  job.chat = in.has_chat();
  job.parts = in.chat().answer_parts();
  options.model = &model;
  options.limits = &limits;
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(in, "", environment, served, &options));
  options.decodes = true;
  options.check_alive = std::move(check_alive);
  // Without a tokenizer, the ids are the answer.
  job.show_ids = in.tokens() || model.tokenizer() == nullptr;
  job.piece_usage = in.piece_usage();
  return job;
}

int64_t TextBytes(const v1::GenerateRequest& in) {
  return in.has_chat() ? static_cast<int64_t>(in.chat().ByteSizeLong())
                       : TextBytes(in.input());
}

absl::StatusOr<PreparedInput> ReadGenerateInput(const v1::GenerateRequest& in,
                                                const GenerateJob& job,
                                                absl::Time now,
                                                ChatPrompt* prompt) {
  return job.chat
             ? ConvertChat(in.chat(), job.field(), now, job.options, prompt)
             : ConvertInput(in.input(), job.field(), job.options);
}

}  // namespace trivium
