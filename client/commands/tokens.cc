#include <string>

#include "base/status.h"
#include "client/commands/batches.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Prints a text's tokens on a line, as piece:id.
class TokensCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<CommandInputs> source,
                             OpenInputs(inputs_, io));
    Output output(io, /*keep_newlines=*/false, nullptr);
    return CallInBatches(
        *source, output,
        [&](const std::vector<v1::Input>& inputs) -> absl::Status {
          v1::TokenizeRequest request = request_;
          for (const v1::Input& input : inputs) request.add_texts(input.text());
          TRIVIUM_ASSIGN_OR_RETURN(const v1::TokenizeResponse response,
                                   client.Tokenize(request));
          for (const v1::TokenizedText& result : response.results()) {
            TRIVIUM_RETURN_IF_ERROR(Emit(result, output));
          }
          return absl::OkStatus();
        },
        [&](const absl::Status& status) {
          return output.Failure(status, json_);
        });
  }

 private:
  friend Subcommand trivium::AddTokens(CLI::App& app);

  absl::Status Emit(const v1::TokenizedText& result, Output& output) {
    if (json_) return output.Json(result);
    std::string line;
    for (const v1::Token& token : result.tokens()) {
      if (!line.empty()) line += ' ';
      line += fmt::format("{}:{}", token.piece(), token.id());
    }
    return output.Line(line);
  }

  InputFlags inputs_;
  v1::TokenizeRequest request_;
  bool json_ = false;
};

}  // namespace

Subcommand AddTokens(CLI::App& app) {
  auto command = std::make_unique<TokensCommand>();
  CLI::App* sub = app.add_subcommand(
      "tokens", "Texts to token ids: trivium tokens [flags] [TEXT...]");
  v1::TokenizeRequest* request = &command->request_;
  AddModelFlag(*sub, request->mutable_model());
  AddInputFlags(*sub, &command->inputs_, /*ids=*/false,
                /*target_prefix=*/false);
  AddJsonFlag(*sub, &command->json_);
  sub->add_flag_function(
      "--target,!--source",
      [request](int64_t count) { request->set_target(count > 0); },
      "Tokenize as the target side does");
  sub->add_flag_function(
      "--special-tokens,!--no-special-tokens",
      [request](int64_t count) { request->set_add_special_tokens(count > 0); },
      "Add the model's special tokens; the server's default");
  return {sub, std::move(command)};
}

}  // namespace trivium
