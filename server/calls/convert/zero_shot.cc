#include "server/calls/convert/zero_shot.h"

#include <fmt/format.h>

#include <set>
#include <string_view>

#include "absl/strings/ascii.h"
#include "base/status.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

constexpr std::string_view kPlace = "{}";
constexpr char kUsualTemplate[] = "This example is {}.";
constexpr size_t kMostTemplateBytes = 1024;

// Returns the index of the first label that begins so, in any case; -1: none.
int FindLabelFrom(const std::vector<std::string>& labels,
                  std::string_view start) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (absl::AsciiStrToLower(labels[i]).starts_with(start)) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

absl::Status CheckHypothesisTemplate(const std::string& text) {
  const char* const field = "hypothesis_template";
  const size_t place = text.find(kPlace);
  if (place == text.npos || text.find(kPlace, place + 1) != text.npos) {
    return InvalidField(field, "must contain {} once, which a label replaces");
  }
  if (text.size() <= kMostTemplateBytes) return absl::OkStatus();
  return InvalidField(field, fmt::format("has {} bytes; it has at most {}",
                                         text.size(), kMostTemplateBytes));
}

absl::Status CheckZeroShotLabels(const v1::ClassifyRequest& in,
                                 const RequestLimits& limits) {
  std::set<std::string_view> seen;
  for (int i = 0; i < in.labels_size(); ++i) {
    const std::string& label = in.labels(i);
    const std::string field = fmt::format("labels[{}]", i);
    if (label.empty()) return InvalidField(field, "is empty; leave it out");
    if (!seen.insert(label).second) {
      return InvalidField(field, "is listed before; list each once");
    }
    TRIVIUM_RETURN_IF_ERROR(CheckTextBytes(label.size(), field, limits));
  }
  const int64_t pairs = int64_t{in.labels_size()} * in.inputs_size();
  if (pairs <= limits.max_inputs) return absl::OkStatus();
  return InvalidField(
      "labels",
      fmt::format("has {} for {} inputs, which makes {} pairs; a call "
                  "takes at most {}: send fewer inputs at a time",
                  in.labels_size(), in.inputs_size(), pairs,
                  limits.max_inputs));
}

int FindEntailment(const std::vector<std::string>& labels) {
  return labels.size() < 2 ? -1 : FindLabelFrom(labels, "entail");
}

}  // namespace

bool TellsEntailment(const std::vector<std::string>& labels) {
  return FindEntailment(labels) >= 0;
}

absl::StatusOr<std::optional<ZeroShotJob>> ReadZeroShot(
    const v1::ClassifyRequest& in, const ServedModel& model,
    const RequestLimits& limits) {
  if (in.labels().empty()) {
    for (const auto& [field, has] :
         {std::pair("hypothesis_template", in.has_hypothesis_template()),
          std::pair("multi_label", in.has_multi_label())}) {
      if (!has) continue;
      return InvalidField(field,
                          "is of labels, and the request has none; add them, "
                          "or leave it out");
    }
    return std::nullopt;
  }
  ZeroShotJob job;
  const std::vector<std::string>& own = model.model->info().head->labels;
  job.entailment = FindEntailment(own);
  if (job.entailment < 0) {
    return absl::FailedPreconditionError(fmt::format(
        "the model '{}' does not tell entailment, so it cannot choose among "
        "labels of the request; none of its own labels begins with \"entail\": "
        "use a model of natural language inference (MNLI)",
        model.name));
  }
  // Contradiction is the first label, or the last if that is entailment
  // (entailment, not_entailment), as in Transformers.
  job.contradiction =
      job.entailment == 0 ? static_cast<int>(own.size()) - 1 : 0;
  const std::string text =
      in.has_hypothesis_template() ? in.hypothesis_template() : kUsualTemplate;
  TRIVIUM_RETURN_IF_ERROR(CheckHypothesisTemplate(text));
  TRIVIUM_RETURN_IF_ERROR(CheckZeroShotLabels(in, limits));
  for (int i = 0; i < in.inputs_size(); ++i) {
    if (in.inputs(i).has_text()) continue;
    return InvalidField(fmt::format("inputs[{}]", i),
                        "is not a text; labels of the request need texts");
  }
  job.labels = ToElements(in.labels());
  job.apart = in.multi_label() || in.labels_size() == 1;
  for (const std::string* const label : job.labels) {
    std::string& hypothesis = job.hypotheses.emplace_back(text);
    hypothesis.replace(hypothesis.find(kPlace), kPlace.size(), *label);
    job.hypothesis_bytes += TextBytes(hypothesis);
  }
  return job;
}

void SetPairTokens(int tokens, v1::Classification* out) {
  out->set_token_count(static_cast<uint32_t>(tokens));
}

}  // namespace trivium
