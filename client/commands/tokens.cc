#include <array>
#include <string>

#include "base/status.h"
#include "client/commands/batches.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Prints a text's tokens on a line, as piece:id, in colours on a terminal.
class TokensCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  bool has_priority() const override { return false; }
  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<CommandInputs> source,
                             OpenInputs(inputs_, io));
    Output output(io, /*keep_newlines=*/false, nullptr);
    const Colors colors(ShowsColors(io.out));
    terminal_ = IsTerminal(io.out);
    return CallInBatches(
        *source, output,
        [&](const std::vector<v1::Input>& inputs) -> absl::Status {
          v1::TokenizeRequest request = request_;
          for (const v1::Input& input : inputs) request.add_texts(input.text());
          TRIVIUM_ASSIGN_OR_RETURN(const v1::TokenizeResponse response,
                                   client.Tokenize(request));
          for (const v1::TokenizedText& result : response.results()) {
            TRIVIUM_RETURN_IF_ERROR(Emit(result, colors, output));
          }
          return absl::OkStatus();
        },
        [&](const absl::Status& status) {
          return output.Failure(status, json_);
        });
  }

 private:
  friend Subcommand trivium::AddTokens(CLI::App& app);

  absl::Status Emit(const v1::TokenizedText& result, const Colors& colors,
                    Output& output) {
    if (json_) return output.Json(result);
    std::string line;
    size_t ordinary = 0;
    for (const v1::Token& token : result.tokens()) {
      if (!line.empty()) line += ' ';
      const std::string piece =
          terminal_ ? Visible(token.piece()) : token.piece();
      // Neighbouring tokens have different colours; special tokens are
      // reversed.
      constexpr std::array<const char*, 5> kBackgrounds = {
          "30;46", "30;43", "30;42", "30;45", "97;44"};
      const char* const style =
          token.special() ? "7"
                          : kBackgrounds[ordinary++ % kBackgrounds.size()];
      line += colors.Paint(style, piece) +
              colors.Dim(fmt::format(":{}", token.id()));
    }
    return output.Line(line);
  }

  InputFlags inputs_;
  v1::TokenizeRequest request_;
  bool json_ = false;
  bool terminal_ = false;
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
      "Tokenize as text of the target side");
  sub->add_flag_function(
      "--special-tokens,!--no-special-tokens",
      [request](int64_t count) { request->set_add_special_tokens(count > 0); },
      "Add the model's special tokens; the server's default");
  return {sub, std::move(command)};
}

}  // namespace trivium
