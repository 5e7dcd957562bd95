#include <unistd.h>

#include <optional>

#include "base/clock.h"
#include "base/status.h"
#include "client/commands/command.h"
#include "client/commands/line_reader.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Streams any number of texts through one TranslateStream.
class TranslateCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<CommandInputs> source,
                             OpenInputs(inputs_, io));
    std::optional<Progress> progress;
    int64_t lines = 0;
    if (!inputs_.file.empty() && isatty(fileno(io.err)) == 1) {
      lines = CountLines(inputs_.file);
      if (lines > 0) progress.emplace(io.err, Clock::Real());
    }
    const bool one = inputs_.texts.size() == 1 && HypothesisCount() == 1;
    Output output(io, /*keep_newlines=*/one, progress ? &*progress : nullptr);
    OrderedTranslationOptions options;
    options.stall_timeout = absl::Seconds(connection.timeout_seconds);
    int64_t done = 0, failed = 0;
    const std::unique_ptr<TranslateStream> stream =
        client.StartTranslateStream(start_);
    TRIVIUM_RETURN_IF_ERROR(
        TranslateInOrder(*stream, *source, options,
                         [&](const v1::TranslateStreamResponse& response) {
                           ++done;
                           if (response.has_error()) ++failed;
                           absl::Status status = Emit(done, response, output);
                           if (progress)
                             progress->Show(1.0 * done / lines, done);
                           return status;
                         }));
    return SomeFailed(failed);
  }

 private:
  friend Subcommand trivium::AddTranslate(CLI::App& app);

  int HypothesisCount() const {
    const v1::DecodingOptions& decoding = start_.options().decoding();
    return decoding.has_num_hypotheses() ? decoding.num_hypotheses() : 1;
  }

  // A text that failed leaves its line empty, so that lines correspond.
  absl::Status Emit(int64_t number, const v1::TranslateStreamResponse& response,
                    Output& output) {
    if (response.has_error()) {
      output.Complain(
          fmt::format("text {}: {}", number, response.error().message()));
    }
    if (json_) return output.Json(response);
    if (response.result().hypotheses().empty()) return output.Line("");
    for (const v1::Hypothesis& hypothesis : response.result().hypotheses()) {
      TRIVIUM_RETURN_IF_ERROR(output.Line(hypothesis.text()));
    }
    return absl::OkStatus();
  }

  InputFlags inputs_;
  v1::TranslateStreamRequest::Start start_;
  bool json_ = false;
};

}  // namespace

Subcommand AddTranslate(CLI::App& app) {
  auto command = std::make_unique<TranslateCommand>();
  CLI::App* sub = app.add_subcommand(
      "translate", "Translates texts: trivium translate [flags] [TEXT...]");
  AddModelFlag(*sub, command->start_.mutable_model());
  AddInputFlags(*sub, &command->inputs_, /*ids=*/true, /*target_prefix=*/true);
  AddJsonFlag(*sub, &command->json_);
  v1::TranslateOptions* options = command->start_.mutable_options();
  AddTextFlags(*sub, options);
  sub->add_flag_callback(
         "--no-split", [options] { options->set_split(v1::SPLIT_NONE); },
         "The model reads a text at once, not sentence by sentence")
      ->group(kMoreFlags);
  sub->add_flag_callback(
         "--sentences", [options] { options->set_sentences(true); },
         "Where sentences are, too, in --json")
      ->group(kMoreFlags);
  AddAttentionFlags(*sub, "--attention",
                    [options] { return options->mutable_cross_attention(); });
  AddDecodingFlags(*sub, options->mutable_decoding());
  return {sub, std::move(command)};
}

}  // namespace trivium
