#include "server/adapters/hugging_face.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/adapters/json_body.h"
#include "server/adapters/tei_codec.h"
#include "server/calls/allowed_models.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t kDefaultTop = 5;  // candidates for a mask

class HfTokensCodec final : public TeiCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::ClassifyTokensRequest*>(message);
    many_ = ReadTexts(fields, request);
    ReadParameters(fields, [&](JsonFields* parameters) {
      ReadAggregation(parameters, request);
      if (parameters->Value("ignore_labels") != nullptr) {
        for (std::string& label : parameters->Strings("ignore_labels")) {
          request->add_ignore(std::move(label));
        }
        if (request->ignore().empty()) {
          parameters->Fail("ignore_labels",
                           "is empty; name at least one label, such as a name "
                           "that no label has");
        }
      }
      parameters->Only("stride", {}, kNotHere);
    });
    ReadTruncation(fields, request);
  }

  void ReadAggregation(JsonFields* parameters,
                       v1::ClassifyTokensRequest* request) {
    constexpr std::pair<std::string_view, v1::Aggregation> kStrategies[] = {
        {"none", v1::AGGREGATION_NONE},
        {"simple", v1::AGGREGATION_SIMPLE},
        {"first", v1::AGGREGATION_FIRST},
        {"average", v1::AGGREGATION_AVERAGE},
        {"max", v1::AGGREGATION_MAX}};
    const auto name = parameters->String("aggregation_strategy");
    if (!name) return;
    for (const auto& [strategy, aggregation] : kStrategies) {
      if (*name == strategy) request->set_aggregation(aggregation);
    }
    if (!request->has_aggregation()) {
      parameters->Fail("aggregation_strategy",
                       "must be none, simple, first, average or max");
    }
    groups_ = *name != "none";
  }

  std::string AnswerOf(const Message& message) const override {
    ordered_json answers = ordered_json::array();
    for (const v1::TokenClassification& result :
         static_cast<const v1::ClassifyTokensResponse&>(message).results()) {
      ordered_json spans = ordered_json::array();
      for (const auto& span : result.spans()) {
        spans.push_back({{groups_ ? "entity_group" : "entity", span.label()},
                         {"score", span.score()},
                         {"word", span.text()},
                         {"start", span.char_begin()},
                         {"end", span.char_end()}});
      }
      answers.push_back(std::move(spans));
    }
    return ToJsonText(many_ ? answers : answers.front());
  }

  bool many_ = false;
  bool groups_ = true;
};

class HfFillMaskCodec final : public TeiCodec {
 public:
  HfFillMaskCodec(const Environment& environment, const RequestHead& head)
      : models_(environment.models, head.grant),
        max_response_bytes_(environment.limits.max_response_bytes) {}

 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::FillMaskRequest*>(message);
    many_ = ReadTexts(fields, request);
    for (const v1::Input& input : request->inputs()) {
      texts_.push_back(input.text());
    }
    ReadParameters(fields, [&](JsonFields* parameters) {
      if (const auto top = parameters->Integer("top_k", 1, 100)) {
        request->set_top(static_cast<uint32_t>(*top));
      }
      parameters->Only("targets", {}, kNotHere);
    });
    ReadTruncation(fields, request);
    const auto model = models_.FindFor(Rpc::kFillMask, request->model());
    if (!model.ok() || (*model)->model->tokenizer() == nullptr) return;
    const auto mask = (*model)->model->info().mask_id;
    if (!mask) return;
    mask_ = (*model)->model->tokenizer()->IdToPiece(*mask, TextSide::kSource);
    // Those of a text's beginning are gone if it is cut there.
    cut_left_ =
        request->truncation_direction() == v1::TRUNCATION_DIRECTION_LEFT;
    CheckSize(request->has_top() ? request->top() : kDefaultTop, fields);
  }

  // The whole text stands in the answer once for each candidate.
  void CheckSize(int64_t candidates, JsonFields* fields) const {
    int64_t bytes = 0;
    for (const std::string& text : texts_) {
      const auto size = static_cast<int64_t>(text.size());
      bytes += CountMasks(text) * candidates * size;
      if (bytes <= max_response_bytes_) continue;
      return fields->Fail(
          "inputs",
          fmt::format("have so many masks that the texts of the answer would "
                      "take more than {} bytes; send shorter texts, or ask for "
                      "fewer candidates with parameters.top_k",
                      max_response_bytes_));
    }
  }

  int CountMasks(std::string_view text) const {
    if (mask_.empty()) return 0;
    int count = 0;
    for (size_t at = text.find(mask_); at != text.npos;
         at = text.find(mask_, at + mask_.size())) {
      ++count;
    }
    return count;
  }

  // Returns the text with its mask of this number replaced. A piece that brings
  // its own space needs none before it.
  std::string Filled(const std::string& text, int number,
                     std::string_view piece) const {
    size_t at = mask_.empty() ? text.npos : text.find(mask_);
    for (; number > 0 && at != text.npos; --number) {
      at = text.find(mask_, at + mask_.size());
    }
    if (at == text.npos) return text;
    if (piece.starts_with(' ') && (at == 0 || text[at - 1] == ' ')) {
      piece.remove_prefix(1);
    }
    std::string filled = text;
    return filled.replace(at, mask_.size(), piece);
  }

  std::string AnswerOf(const Message& message) const override {
    ordered_json answers = ordered_json::array();
    for (const v1::FilledMasks& result :
         static_cast<const v1::FillMaskResponse&>(message).results()) {
      const std::string& text = texts_[answers.size()];
      const int cut = CountMasks(text) - result.masks_size();
      ordered_json masks = ordered_json::array();
      for (int i = 0; i < result.masks_size(); ++i) {
        ordered_json candidates = ordered_json::array();
        for (const auto& candidate : result.masks(i).candidates()) {
          candidates.push_back(
              {{"score", candidate.score()},
               {"token", candidate.id()},
               {"token_str", candidate.text()},
               {"sequence",
                Filled(text, cut_left_ ? i + cut : i, candidate.text())}});
        }
        masks.push_back(std::move(candidates));
      }
      answers.push_back(masks.size() == 1 ? masks.front() : masks);
    }
    return ToJsonText(many_ ? answers : answers.front());
  }

  const AllowedModels models_;
  const int64_t max_response_bytes_;
  bool many_ = false;
  std::vector<std::string> texts_;
  std::string mask_;  // empty: no model fills masks
  bool cut_left_ = false;
};

class HfAnswerCodec final : public TeiCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::AnswerRequest*>(message);
    fields->Require("inputs");
    if (const json* const value = fields->Value("inputs")) {
      JsonFields inputs(*value, "inputs.");
      inputs.Require("question");
      inputs.Require("context");
      auto* const question = request->add_inputs();
      question->set_question(inputs.String("question").value_or(""));
      question->set_context(inputs.String("context").value_or(""));
      fields->Keep(inputs.Done());
    }
    ReadParameters(fields, [&](JsonFields* parameters) {
      if (const auto top = parameters->Integer("top_k", 1, INT32_MAX)) {
        request->set_top(static_cast<uint32_t>(*top));
        list_ = true;
      }
      if (const auto most =
              parameters->Integer("max_answer_len", 1, INT32_MAX)) {
        request->set_max_answer_tokens(static_cast<uint32_t>(*most));
      }
      if (const auto overlap =
              parameters->Integer("doc_stride", 0, INT32_MAX)) {
        request->set_overlap(static_cast<uint32_t>(*overlap));
      }
      if (const auto none = parameters->Bool("handle_impossible_answer")) {
        request->set_no_answer(*none);
      }
      parameters->Only("align_to_words", {false},
                       "is not supported: an answer begins and ends with a "
                       "token; leave it out");
      parameters->Only("max_question_len", {}, kNotHere);
      parameters->Only("max_seq_len", {}, kNotHere);
    });
  }

  std::string AnswerOf(const Message& message) const override {
    ordered_json answers = ordered_json::array();
    for (const v1::Answers& result :
         static_cast<const v1::AnswerResponse&>(message).results()) {
      for (const auto& answer : result.answers()) {
        answers.push_back({{"answer", answer.text()},
                           {"score", answer.score()},
                           {"start", answer.char_begin()},
                           {"end", answer.char_end()}});
      }
    }
    return ToJsonText(list_ || answers.empty() ? answers : answers.front());
  }

  bool list_ = false;
};

}  // namespace

std::unique_ptr<Codec> NewHfTokensCodec(const Environment&,
                                        const RequestHead&) {
  return std::make_unique<HfTokensCodec>();
}
std::unique_ptr<Codec> NewHfFillMaskCodec(const Environment& environment,
                                          const RequestHead& head) {
  return std::make_unique<HfFillMaskCodec>(environment, head);
}
std::unique_ptr<Codec> NewHfAnswerCodec(const Environment&,
                                        const RequestHead&) {
  return std::make_unique<HfAnswerCodec>();
}

}  // namespace trivium
