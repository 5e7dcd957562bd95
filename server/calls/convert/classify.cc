#include "server/calls/convert/classify.h"

#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

absl::StatusOr<std::string> ReadPrompt(const v1::RerankRequest& in,
                                       const InputOptions& options) {
  const bool prompted = in.has_prompt() || in.has_prompt_name();
  if (prompted && options.model->pair_template() == nullptr) {
    return InvalidField(in.has_prompt() ? "prompt" : "prompt_name",
                        "is given, but Rerank has no use for a prompt with "
                        "this model; leave it out");
  }
  return ConvertPrompt(in, "", options);
}

}  // namespace

absl::StatusOr<std::optional<uint32_t>> ReadTop(const v1::ClassifyRequest& in) {
  if (in.has_top() && in.top() == 0) {
    return InvalidField("top", "is 0; ask for at least one label");
  }
  return TopOf(in);
}

void AddLabel(const std::string& name, int index, float score, float logit,
              v1::Classification* out) {
  v1::Label* label = out->add_labels();
  label->set_label(name);
  label->set_score(score);
  label->set_logit(logit);
  label->set_index(static_cast<uint32_t>(index));
}

absl::StatusOr<RerankJob> ReadRerank(const v1::RerankRequest& in,
                                     const Environment& environment,
                                     const ServedModel& model,
                                     InputOptions* options) {
  if (in.has_top() && in.top() == 0) {
    return InvalidField("top", "is 0; ask for at least one document");
  }
  TRIVIUM_RETURN_IF_ERROR(
      ConvertTruncation(in, "", environment, model, options));
  TRIVIUM_ASSIGN_OR_RETURN(options->prompt, ReadPrompt(in, *options));
  TRIVIUM_RETURN_IF_ERROR(
      CheckInputCount(in.documents_size(), "documents", *options->limits));
  return RerankJob{.query = &in.query(),
                   .documents = ToElements(in.documents()),
                   .top = TopOf(in),
                   .return_text = in.return_text()};
}

v1::RerankResponse::Document* AddDocument(const RerankJob& job, int index,
                                          float score, float logit,
                                          const PreparedInput& input,
                                          v1::RerankResponse* out) {
  v1::RerankResponse::Document* document = out->add_documents();
  document->set_index(static_cast<uint32_t>(index));
  document->set_score(score);
  document->set_logit(logit);
  document->set_token_count(static_cast<uint32_t>(input.source.ids.size()));
  document->set_truncated_tokens(static_cast<uint32_t>(input.truncated));
  if (job.return_text) document->set_text(*job.documents[index]);
  return document;
}

}  // namespace trivium
