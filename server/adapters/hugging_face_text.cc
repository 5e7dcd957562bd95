// Hugging Face's translation and summarization.
#include <string>

#include "server/adapters/hugging_face.h"
#include "server/adapters/json_body.h"
#include "server/adapters/tei_codec.h"
#include "server/calls/allowed_models.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;
using nlohmann::ordered_json;

enum class TextTask { kTranslation, kSummarization, kOfModel };

class HfTextToTextCodec final : public TeiCodec {
 public:
  HfTextToTextCodec(const Environment& environment, const RequestHead& head,
                    TextTask task)
      : models_(environment.models, head.grant), task_(task) {}

 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::TranslateRequest*>(message);
    ReadTexts(fields, request);
    const auto found = models_.FindFor(Rpc::kTranslate, request->model());
    const ModelHandle model = found.ok() ? *found : nullptr;
    if (task_ == TextTask::kOfModel) {
      const bool translates =
          model == nullptr || !model->model->info().target_languages.empty();
      task_ = translates ? TextTask::kTranslation : TextTask::kSummarization;
    }
    v1::TranslateOptions* const options = request->mutable_options();
    if (task_ == TextTask::kSummarization) UseSummaries(model, options);
    ReadParameters(fields, [&](JsonFields* parameters) {
      if (task_ == TextTask::kTranslation) ReadLanguages(parameters, options);
      ReadCut(parameters, options);
      parameters->Only("clean_up_tokenization_spaces", {},
                       "is not supported: texts are written as the tokenizer's "
                       "folder says; leave it out");
      if (const json* const value = parameters->Value("generate_parameters")) {
        JsonFields search(*value, "parameters.generate_parameters.");
        ReadSearch(&search, options->mutable_decoding());
        parameters->Keep(search.Done());
      }
    });
  }

  // A model reads a text to be summarized as a whole, with its task's prefix.
  static void UseSummaries(const ModelHandle& model,
                           v1::TranslateOptions* options) {
    options->set_split(v1::SPLIT_NONE);
    if (model == nullptr) return;
    for (const Task& task : model->model->tasks()) {
      if (!task.name.starts_with("summarization")) continue;
      return options->set_task(task.name);
    }
  }

  static void ReadLanguages(JsonFields* parameters,
                            v1::TranslateOptions* options) {
    if (const auto source = parameters->String("src_lang")) {
      options->set_source_language(*source);
    }
    if (const auto target = parameters->String("tgt_lang")) {
      options->set_target_language(*target);
    }
  }

  static void ReadCut(JsonFields* parameters, v1::TranslateOptions* options) {
    const auto cut = parameters->String("truncation");
    if (!cut) return;
    options->set_truncate(*cut != "do_not_truncate");
    if (*cut != "do_not_truncate" && *cut != "longest_first" &&
        *cut != "only_first") {
      parameters->Fail("truncation",
                       "must be do_not_truncate, longest_first or only_first");
    }
  }

  static void ReadSearch(JsonFields* search, v1::DecodingOptions* decoding) {
    if (const auto beams = search->Integer("num_beams", 1, INT32_MAX)) {
      decoding->set_beam_size(static_cast<uint32_t>(*beams));
    }
    if (const auto most = search->Integer("max_new_tokens", 1, INT32_MAX)) {
      decoding->set_max_new_tokens(static_cast<uint32_t>(*most));
    }
    if (const auto least = search->Integer("min_new_tokens", 0, INT32_MAX)) {
      decoding->set_min_new_tokens(static_cast<uint32_t>(*least));
    }
    if (const auto penalty = search->Number("length_penalty")) {
      decoding->set_length_penalty(*penalty);
    }
    if (const auto penalty = search->Number("repetition_penalty")) {
      decoding->set_repetition_penalty(*penalty);
    }
    if (const auto size =
            search->Integer("no_repeat_ngram_size", 0, INT32_MAX)) {
      decoding->set_no_repeat_ngram_size(static_cast<uint32_t>(*size));
    }
  }

  std::string AnswerOf(const Message& message) const override {
    const char* const name =
        task_ == TextTask::kTranslation ? "translation_text" : "summary_text";
    ordered_json answers = ordered_json::array();
    for (const v1::TranslateResult& result :
         static_cast<const v1::TranslateResponse&>(message).results()) {
      answers.push_back(
          {{name,
            result.hypotheses().empty() ? "" : result.hypotheses(0).text()}});
    }
    return ToJsonText(answers);
  }

  const AllowedModels models_;
  TextTask task_;
};

}  // namespace

std::unique_ptr<Codec> NewHfTranslationCodec(const Environment& environment,
                                             const RequestHead& head) {
  return std::make_unique<HfTextToTextCodec>(environment, head,
                                             TextTask::kTranslation);
}
std::unique_ptr<Codec> NewHfSummarizationCodec(const Environment& environment,
                                               const RequestHead& head) {
  return std::make_unique<HfTextToTextCodec>(environment, head,
                                             TextTask::kSummarization);
}
std::unique_ptr<Codec> NewHfTextToTextCodec(const Environment& environment,
                                            const RequestHead& head) {
  return std::make_unique<HfTextToTextCodec>(environment, head,
                                             TextTask::kOfModel);
}

}  // namespace trivium
