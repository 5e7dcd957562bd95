#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
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
    for (const v1::UnkeptSpan& span : response.result().unkept()) {
      output.Complain(
          fmt::format("text {}: \"{}\" is there {} times in "
                      "hypothesis {}",
                      number, span.text(), span.count(), span.hypothesis()));
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

// "number-with-unit" and the like to the enumeration's values.
std::map<std::string, int> ProtectedKinds() {
  constexpr std::string_view kPrefix = "PROTECTED_KIND_";
  std::map<std::string, int> kinds;
  const auto* values = v1::ProtectedKind_descriptor();
  for (int i = 0; i < values->value_count(); ++i) {
    const auto* value = values->value(i);
    if (value->number() == v1::PROTECTED_KIND_UNSPECIFIED) continue;
    std::string name = value->name().substr(kPrefix.size());
    std::replace(name.begin(), name.end(), '_', '-');
    kinds[absl::AsciiStrToLower(name)] = value->number();
  }
  return kinds;
}

void AddProtectFlags(CLI::App& sub, v1::TranslateOptions* options) {
  const std::map<std::string, int> kinds = ProtectedKinds();
  std::vector<std::string> names;
  for (const auto& [name, value] : kinds) names.push_back(name);
  sub.add_option_function<std::vector<std::string>>(
         "--protect",
         [options, kinds](const std::vector<std::string>& given) {
           for (const std::string& name : given) {
             options->mutable_protect()->add_kinds(
                 static_cast<v1::ProtectedKind>(kinds.at(name)));
           }
         },
         "What comes through byte for byte: " + absl::StrJoin(names, ", "))
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->type_name("KIND,...")
      ->allow_extra_args(false)
      ->group(kMoreFlags);
  sub.add_option_function<std::vector<std::string>>(
         "--protect-pattern",
         [options](const std::vector<std::string>& patterns) {
           for (const std::string& pattern : patterns) {
             options->mutable_protect()->add_patterns(pattern);
           }
         },
         "The same, as a regular expression (RE2); may be given again")
      ->type_name("REGEX")
      ->allow_extra_args(false)
      ->group(kMoreFlags);
  sub.add_flag_callback(
         "--no-protect-pieces",
         [options] { options->mutable_protect()->set_pieces(false); },
         "Sentences stay whole where a protected span is lost; what is lost "
         "is told")
      ->group(kMoreFlags);
}

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
  AddProtectFlags(*sub, options);
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
