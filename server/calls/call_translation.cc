#include "server/calls/call_translation.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "base/status.h"
#include "server/batching/request_cost.h"
#include "server/calls/convert/convert.h"
#include "server/calls/convert/translation_options.h"
#include "server/calls/convert/translation_results.h"

namespace trivium {

absl::StatusOr<CallTranslation> CallTranslation::Create(
    Call* call, bool named, v1::TranslateOptions options,
    const std::string& path, const AliveCheck& check_alive,
    const std::function<absl::Status()>& on_model,
    const std::string& detected) {
  const bool source_named =
      options.has_source_language() && options.source_language() != "auto";
  if (!detected.empty()) options.set_source_language(detected);
  const Environment& environment = call->environment();
  RoutingOptions routing;
  routing.path = path;
  if (options.has_source_language()) routing.source = options.source_language();
  if (options.has_target_language()) routing.target = options.target_language();
  routing.task = options.has_task();
  routing.texts_only = AsksForTextsOnly(options);
  routing.models = {call->model_handle()};
  if (!named) {
    routing.pivot = environment.pivot_language;
    for (const ModelHandle& model : call->models().List()) {
      if (model != routing.models[0]) routing.models.push_back(model);
    }
  }
  TRIVIUM_ASSIGN_OR_RETURN(routing.format, ConvertFormat(options, path));
  routing.options_of = [&environment, options, path, source_named,
                        check_alive](const TranslationRoute& route) {
    return ConvertTranslation(options, path, route, source_named, environment,
                              check_alive);
  };
  routing.on_first_model = [call, on_model](const ModelHandle& model) {
    call->Use(model);
    return on_model ? on_model() : absl::OkStatus();
  };
  TRIVIUM_ASSIGN_OR_RETURN(RoutedTranslation translation,
                           RoutedTranslation::Create(std::move(routing)));
  if (translation.same_for_all()) call->Use(translation.first_model());
  return CallTranslation(std::move(translation), &environment.limits,
                         trivium::TextBytes(options));
}

absl::Status CallTranslation::Compose() {
  if (same_for_all()) unread_bytes_ = 0;
  return translation_.Compose();
}

int64_t CallTranslation::TextBytes(const v1::Input& input) const {
  return trivium::TextBytes(input) + unread_bytes_;
}

absl::StatusOr<CallTranslation::Job> CallTranslation::Prepare(
    const v1::Input& input, const std::string& path) {
  if (input.has_text()) {
    TRIVIUM_RETURN_IF_ERROR(
        CheckTextBytes(input.text().size(), path + ".text", *limits_));
  }
  return translation_.Prepare(ConvertTranslationInput(input, path));
}

std::vector<Request> CallTranslation::NextRound(Job* job) {
  std::vector<Request> out;
  const bool first = job->first_tokens == 0;
  int64_t tokens = first ? std::numeric_limits<int64_t>::max()
                         : std::max(job->first_tokens, kLeastRoundTokens);
  MoveRequests(job, job->requests.size(), &tokens, &out);
  if (first) {
    for (const Request& request : out) job->first_tokens += TokensOf(request);
  }
  return out;
}

void CallTranslation::MoveRequests(Job* job, size_t most, int64_t* tokens,
                                   std::vector<Request>* out) {
  auto next = job->requests.begin();
  for (; next != job->requests.end(); ++next) {
    const int64_t more = TokensOf(*next);
    if (!out->empty() && (out->size() >= most || more > *tokens)) break;
    *tokens -= more;
    out->push_back(std::move(*next));
  }
  job->requests.erase(job->requests.begin(), next);
}

v1::TranslateResult CallTranslation::Result(Job job) const {
  return ConvertTranslation(translation_.Result(std::move(job)));
}

}  // namespace trivium
