#include <optional>
#include <string>
#include <utility>

#include "base/status.h"
#include "client/commands/attention_reader.h"
#include "client/commands/command.h"
#include "client/commands/head_page.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Tokens of a prompt's answer if the user sets no limit.
constexpr uint32_t kAnswerTokens = 16;
constexpr uint32_t kShownNextTokens = 10;

// Shows one attention head of a model at work on a text, step by step.
class ExplainCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    Output output(io, /*keep_newlines=*/true, nullptr);
    if (html_.empty() && npz_.empty() && !json_) {
      return absl::InvalidArgumentError(
          "--no-html leaves nothing to write: give --npz or --json, too");
    }
    TRIVIUM_ASSIGN_OR_RETURN(const v1::Input input, OneInput(inputs_, io));
    TRIVIUM_ASSIGN_OR_RETURN(const v1::Model model, client.GetModel(model_));
    ExplainedHead head;
    head.model = model.name();
    head.text = input.text();
    head.kind = kind_.value_or(DefaultKind(model));
    AttentionReader::Choice choice;
    choice.kinds = {head.kind};
    TRIVIUM_RETURN_IF_ERROR(
        AttentionReader::CheckChoice(choice, model, options_));
    head.layer = layer_;
    head.head = head_;
    if (head.kind == AttentionKind::kEncoder) {
      TRIVIUM_RETURN_IF_ERROR(Encode(client, input, &head));
    } else {
      TRIVIUM_RETURN_IF_ERROR(Generate(client, model, input, &head));
    }
    if (head.trace.queries().empty()) {
      return absl::InvalidArgumentError(
          "the text is blank: there is nothing to explain");
    }
    if (!npz_.empty()) {
      NpzWriter npz;
      AddArrays(head.trace, &npz);
      TRIVIUM_RETURN_IF_ERROR(npz.Write(npz_));
      output.Note(fmt::format("wrote {}", npz_));
    }
    if (!html_.empty()) {
      const std::string page = HeadPage(head);
      TRIVIUM_RETURN_IF_ERROR(WriteFile(html_, page));
      output.Note(
          fmt::format("wrote {} ({:.1f} MB)", html_, page.size() / 1e6));
    }
    return json_ ? output.Json(head.trace) : absl::OkStatus();
  }

 private:
  friend Subcommand trivium::AddExplain(CLI::App& app);

  // A decoder's head shows most: its mask, and the next token.
  static AttentionKind DefaultKind(const v1::Model& model) {
    return model.design() == v1::DESIGN_ENCODER ? AttentionKind::kEncoder
                                                : AttentionKind::kDecoder;
  }

  v1::HeadTraceOptions Options(AttentionKind kind) const {
    v1::HeadTraceOptions options;
    options.set_layer(layer_);
    options.set_head(head_);
    options.set_cross(kind == AttentionKind::kCross);
    return options;
  }

  absl::Status Encode(Client& client, const v1::Input& input,
                      ExplainedHead* head) const {
    v1::EncodeRequest request;
    request.set_model(head->model);
    *request.add_inputs() = input;
    request.set_pooling(v1::POOLING_NONE);
    SetLanguages(options_, &request);
    *request.mutable_head_trace() = Options(head->kind);
    TRIVIUM_ASSIGN_OR_RETURN(v1::EncodeResponse response,
                             client.Encode(request));
    TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
    head->trace = std::move(*response.mutable_results(0)->mutable_head_trace());
    return absl::OkStatus();
  }

  absl::Status Generate(Client& client, const v1::Model& model,
                        const v1::Input& input, ExplainedHead* head) const {
    v1::GenerateRequest request;
    request.set_model(head->model);
    *request.mutable_input() = input;
    SetLanguages(options_, &request);
    v1::DecodingOptions* decoding = request.mutable_decoding();
    *decoding = options_.decoding();
    decoding->set_beam_size(1);
    decoding->set_num_hypotheses(1);
    decoding->set_sample(false);
    decoding->set_top_logprobs(kShownNextTokens);
    if (!decoding->has_max_new_tokens() &&
        model.design() == v1::DESIGN_DECODER) {
      decoding->set_max_new_tokens(kAnswerTokens);
    }
    *request.mutable_head_trace() = Options(head->kind);
    return client.Generate(request, [&](const v1::GenerateResponse& event) {
      head->answer += event.piece().text();
      for (const v1::TokenLogprobs& one : event.piece().logprobs()) {
        head->next.push_back(one);
      }
      if (event.has_done()) head->trace = event.done().head_trace();
      return absl::OkStatus();
    });
  }

  InputFlags inputs_;
  std::string model_;
  std::string html_ = "explain.html";
  std::string npz_;
  v1::TranslateOptions options_;
  std::optional<AttentionKind> kind_;
  uint32_t layer_ = 0;
  uint32_t head_ = 0;
  bool json_ = false;
};

}  // namespace

Subcommand AddExplain(CLI::App& app) {
  auto command = std::make_unique<ExplainCommand>();
  CLI::App* sub = app.add_subcommand(
      "explain",
      "Writes a page that shows one attention head step by step: trivium "
      "explain [flags] TEXT");
  AddModelFlag(*sub, &command->model_);
  AddInputFlags(*sub, &command->inputs_, /*ids=*/true, /*target_prefix=*/false);
  AddJsonFlag(*sub, &command->json_);
  AddLanguageFlags(*sub, &command->options_);
  sub->add_option_function<std::string>(
         "--kind",
         [kind = &command->kind_](const std::string& name) {
           *kind = KindOf(name);
         },
         "encoder, decoder or cross (a decoder's attention to the source); "
         "default: decoder, if there is one")
      ->check(CLI::IsMember(KindNames()));
  sub->add_option("--layer", command->layer_, "The layer, from 0")
      ->capture_default_str();
  sub->add_option("--head", command->head_, "The head, from 0")
      ->capture_default_str();
  v1::DecodingOptions* decoding = command->options_.mutable_decoding();
  sub->add_option_function<uint32_t>(
      "--max-new-tokens",
      [decoding](uint32_t most) { decoding->set_max_new_tokens(most); },
      "Most tokens to write");
  sub->add_option("--html", command->html_, "The page to write")
      ->capture_default_str();
  sub->add_flag_function(
      "--no-html", [out = &command->html_](int64_t) { out->clear(); },
      "Write no page");
  sub->add_option("--npz", command->npz_,
                  "Write the numbers to this file, for numpy.load()");
  return {sub, std::move(command)};
}

}  // namespace trivium
