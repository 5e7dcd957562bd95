#include "client/commands/score.h"

#include <string>

#include "base/status.h"
#include "client/commands/batches.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

class ScoreCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<CommandInputs> source,
                             OpenInputs(inputs_, io));
    Output output(io, /*keep_newlines=*/false, nullptr);
    return CallInBatches(
        *source, output,
        [&](const std::vector<v1::Input>& inputs) {
          return Score(client, inputs, output);
        },
        [&](const absl::Status& status) {
          return output.Failure(status, json_);
        });
  }

 private:
  friend Subcommand trivium::AddScore(CLI::App& app);

  absl::Status Score(Client& client, const std::vector<v1::Input>& inputs,
                     Output& output) const {
    v1::ScoreRequest request = request_;
    request.set_tokens(json_);
    for (const v1::Input& input : inputs) {
      TRIVIUM_RETURN_IF_ERROR(Add(input.text(), &request));
    }
    TRIVIUM_ASSIGN_OR_RETURN(const v1::ScoreResponse response,
                             client.Score(request));
    for (const v1::ScoreResult& result : response.results()) {
      TRIVIUM_RETURN_IF_ERROR(
          json_ ? output.Json(result)
                : output.Line(fmt::format("{:.4f}\t{}", result.total_logprob(),
                                          result.token_count())));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const std::string& line, v1::ScoreRequest* request) const {
    const v1::ScoreInput texts = ToScored(line);
    v1::ScoreInput* added = request->add_inputs();
    if (!ids_) {
      *added = texts;
      return absl::OkStatus();
    }
    if (texts.has_text()) {
      TRIVIUM_RETURN_IF_ERROR(AddIds(texts.text(), added->mutable_ids()));
    }
    return AddIds(texts.target(), added->mutable_target_ids());
  }

  static absl::Status AddIds(const std::string& text, v1::TokenIds* to) {
    const std::optional<std::vector<uint32_t>> ids = ParseTokenIds(text);
    if (!ids) {
      return absl::InvalidArgumentError(fmt::format(
          "{} is not a list of token ids, such as \"17 4 0\"", text));
    }
    to->mutable_ids()->Add(ids->begin(), ids->end());
    return absl::OkStatus();
  }

  InputFlags inputs_;
  v1::ScoreRequest request_;
  bool ids_ = false;
  bool json_ = false;
};

}  // namespace

v1::ScoreInput ToScored(const std::string& line) {
  v1::ScoreInput input;
  const size_t tab = line.find('\t');
  if (tab != std::string::npos) input.set_text(line.substr(0, tab));
  input.set_target(tab == std::string::npos ? line : line.substr(tab + 1));
  return input;
}

Subcommand AddScore(CLI::App& app) {
  auto command = std::make_unique<ScoreCommand>();
  CLI::App* sub = app.add_subcommand(
      "score",
      "Log-probability of texts, and their tokens: trivium score [flags] "
      "[\"SOURCE<tab>TRANSLATION\" or \"PROMPT<tab>TEXT\" or TEXT...]");
  v1::ScoreRequest* request = &command->request_;
  AddModelFlag(*sub, request->mutable_model());
  AddInputFlags(*sub, &command->inputs_, /*ids=*/false,
                /*target_prefix=*/false);
  sub->add_flag("--ids", command->ids_,
                "The texts are token ids, such as 17 4");
  AddJsonFlag(*sub, &command->json_);
  AddLanguageFlags(*sub, request);
  sub->add_flag_function(
      "--end-token,!--no-end-token",
      [request](int64_t count) { request->set_end_token(count > 0); },
      "Also score the end; default: only of translations");
  sub->add_option_function<uint32_t>(
      "--top-logprobs",
      [request](const uint32_t& top) { request->set_top_logprobs(top); },
      "Alternatives to report for each token, in --json");
  return {sub, std::move(command)};
}

}  // namespace trivium
