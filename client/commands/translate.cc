#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <functional>
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

constexpr std::string_view kProtectedPrefix = "PROTECTED_KIND_";
constexpr std::string_view kCheckPrefix = "CHECK_";

// Returns "number-with-unit" for PROTECTED_KIND_NUMBER_WITH_UNIT.
std::string NameOf(const google::protobuf::EnumDescriptor* kinds,
                   std::string_view prefix, int number) {
  const auto* value = kinds->FindValueByNumber(number);
  if (value == nullptr) return fmt::format("{}", number);
  std::string name = value->name().substr(prefix.size());
  std::replace(name.begin(), name.end(), '_', '-');
  return absl::AsciiStrToLower(name);
}

// Streams any number of texts through one TranslateStream.
class TranslateCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<CommandInputs> source,
                             OpenInputs(inputs_, io));
    CheckNamedLanguage();
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

  // Lets the server check translations if the call names the language of its
  // texts, which may be wrong. Emit tells only that.
  void CheckNamedLanguage() {
    v1::TranslateOptions* const options = start_.mutable_options();
    checks_ = options->has_checks();
    const bool of_texts =
        !inputs_.ids && inputs_.target_prefix.empty() && !options->words() &&
        !options->has_task() && !options->has_cross_attention() &&
        !options->has_decoder_attention() && !options->decoding().trace();
    if (of_texts && !json_ && !checks_ && options->has_source_language() &&
        options->source_language() != "auto") {
      options->mutable_checks();
    }
  }

  // Writes a result. A text that failed leaves its line empty, so that input
  // and output lines correspond.
  absl::Status Emit(int64_t number, const v1::TranslateStreamResponse& response,
                    Output& output) {
    if (response.has_error()) {
      output.Complain(
          fmt::format("text {}: {}", number, response.error().message()));
    }
    for (const v1::UnkeptSpan& span : response.result().unkept()) {
      output.Complain(
          fmt::format("text {}: \"{}\" occurs {} times in "
                      "hypothesis {}",
                      number, span.text(), span.count(), span.hypothesis()));
    }
    for (const v1::GlossaryUse& use : response.result().glossary_uses()) {
      const auto& terms = start_.options().glossary().terms();
      if (use.missing().empty() ||
          use.term() >= static_cast<uint32_t>(terms.size())) {
        continue;
      }
      output.Complain(
          fmt::format("text {}: \"{}\" is not there as often as "
                      "its term",
                      number, terms[use.term()].target()));
    }
    for (const v1::Suspicion& found : response.result().suspicions()) {
      if (!checks_ && found.check() != v1::CHECK_WRONG_LANGUAGE) continue;
      output.Complain(fmt::format(
          "text {}: {} in bytes {} .. {} of the source, hypothesis {}", number,
          NameOf(v1::Check_descriptor(), kCheckPrefix, found.check()),
          found.source().byte_begin(), found.source().byte_end(),
          found.hypothesis()));
    }
    if (route_) TellRoute(number, response.result(), output);
    if (json_) return output.Json(response);
    if (response.result().hypotheses().empty()) return output.Line("");
    for (const v1::Hypothesis& hypothesis : response.result().hypotheses()) {
      TRIVIUM_RETURN_IF_ERROR(output.Line(hypothesis.text()));
    }
    return absl::OkStatus();
  }

  // Prints "text 3: fr 97 %, es 2 %; fr-en (fr to en), en-de (en to de)".
  static void TellRoute(int64_t number, const v1::TranslateResult& result,
                        Output& output) {
    std::vector<std::string> languages, steps;
    for (const v1::DetectedLanguage& one : result.detected_languages()) {
      languages.push_back(fmt::format("{} {:.0f} %{}", one.language(),
                                      100 * one.confidence(),
                                      one.reliable() ? "" : " (unsure)"));
    }
    for (const v1::TranslationStep& step : result.route()) {
      steps.push_back(fmt::format("{} ({} to {})", step.model().name(),
                                  step.source_language(),
                                  step.target_language()));
    }
    if (languages.empty() && steps.empty()) return;
    output.Complain(
        fmt::format("text {}: {}{}{}", number, absl::StrJoin(languages, ", "),
                    languages.empty() ? "" : "; ",
                    steps.empty() ? "as it is" : absl::StrJoin(steps, ", ")));
  }

  InputFlags inputs_;
  v1::TranslateStreamRequest::Start start_;
  bool json_ = false;
  bool route_ = false;
  bool checks_ = false;  // the user asked for checks
};

// Adds a flag that takes a list of an enumeration's values, by their names.
CLI::Option* AddKindsFlag(CLI::App& sub, const char* flag,
                          const google::protobuf::EnumDescriptor* kinds,
                          std::string_view prefix, const std::string& help,
                          std::function<void(int)> add) {
  std::map<std::string, int> values;
  std::vector<std::string> names;
  for (int i = 1; i < kinds->value_count(); ++i) {
    const int number = kinds->value(i)->number();
    names.push_back(NameOf(kinds, prefix, number));
    values[names.back()] = number;
  }
  return sub
      .add_option_function<std::vector<std::string>>(
          flag,
          [values, add](const std::vector<std::string>& given) {
            for (const std::string& name : given) add(values.at(name));
          },
          help + ": " + absl::StrJoin(names, ", "))
      ->delimiter(',')
      ->check(CLI::IsMember(names))
      ->type_name("KIND,...")
      ->allow_extra_args(false)
      ->group(kMoreFlags);
}

// Parses "SOURCE=TARGET" and adds the term. A source that contains "=" must
// come from a file. Returns an error text, or an empty one.
std::string AddTerm(const std::string& term, const char* between,
                    v1::TranslateOptions* options) {
  const size_t at = term.find(between);
  if (at == std::string::npos) {
    return fmt::format("'{}' is not SOURCE{}TARGET", term,
                       *between == '\t' ? "<TAB>" : between);
  }
  v1::GlossaryTerm* const added = options->mutable_glossary()->add_terms();
  added->set_source(term.substr(0, at));
  added->set_target(term.substr(at + 1));
  return "";
}

void AddGlossaryFlags(CLI::App& sub, v1::TranslateOptions* options) {
  sub.add_option_function<std::vector<std::string>>(
         "--term",
         [options](const std::vector<std::string>& terms) {
           for (const std::string& term : terms) {
             const std::string error = AddTerm(term, "=", options);
             if (!error.empty()) throw CLI::ValidationError("--term", error);
           }
         },
         "Required translation of a term (repeatable)")
      ->type_name("SOURCE=TARGET")
      ->allow_extra_args(false)
      ->group(kMoreFlags);
  sub.add_option_function<std::string>(
         "--glossary",
         [options](const std::string& path) {
           std::ifstream file(path);
           std::string error = file ? "" : "cannot be read: " + path;
           for (std::string line; error.empty() && std::getline(file, line);) {
             if (!line.empty()) error = AddTerm(line, "\t", options);
           }
           if (!error.empty()) throw CLI::ValidationError("--glossary", error);
         },
         "A file with a term, a tab and its translation on each line")
      ->type_name("FILE")
      ->group(kMoreFlags);
  sub.add_flag_callback(
         "--inflections",
         [options] { options->mutable_glossary()->set_inflections(true); },
         "Also find other forms of the glossary's words")
      ->group(kMoreFlags);
}

void AddCheckFlags(CLI::App& sub, v1::TranslateOptions* options) {
  sub.add_flag_callback(
         "--check", [options] { options->mutable_checks(); },
         "Report translations that look wrong")
      ->group(kMoreFlags);
  AddKindsFlag(
      sub, "--check-for", v1::Check_descriptor(), kCheckPrefix,
      "Report only these faults", [options](int kind) {
        options->mutable_checks()->add_kinds(static_cast<v1::Check>(kind));
      });
  sub.add_flag_callback(
         "--second-try",
         [options] { options->mutable_checks()->mutable_second_try(); },
         "Translate what looks wrong again with other beams, and keep the "
         "better translation")
      ->group(kMoreFlags);
  sub.add_flag_callback(
         "--words", [options] { options->set_words(true); },
         "Return how sure the model is of each word, and which words it "
         "translates, in --json")
      ->group(kMoreFlags);
}

void AddProtectFlags(CLI::App& sub, v1::TranslateOptions* options) {
  AddKindsFlag(sub, "--protect", v1::ProtectedKind_descriptor(),
               kProtectedPrefix, "Spans to keep byte for byte",
               [options](int kind) {
                 options->mutable_protect()->add_kinds(
                     static_cast<v1::ProtectedKind>(kind));
               });
  sub.add_option_function<std::vector<std::string>>(
         "--protect-pattern",
         [options](const std::vector<std::string>& patterns) {
           for (const std::string& pattern : patterns) {
             options->mutable_protect()->add_patterns(pattern);
           }
         },
         "The same, as a regular expression (RE2; repeatable)")
      ->type_name("REGEX")
      ->allow_extra_args(false)
      ->group(kMoreFlags);
  sub.add_flag_callback(
         "--no-protect-pieces",
         [options] { options->mutable_protect()->set_pieces(false); },
         "Never translate a sentence in pieces to keep a span; report lost "
         "spans")
      ->group(kMoreFlags);
}

void AddFormatFlag(CLI::App& sub, v1::TranslateOptions* options) {
  const std::map<std::string, v1::TextFormat> formats = {
      {"text", v1::TEXT_FORMAT_PLAIN},
      {"html", v1::TEXT_FORMAT_HTML},
      {"markdown", v1::TEXT_FORMAT_MARKDOWN},
      {"xml", v1::TEXT_FORMAT_XML}};
  std::vector<std::string> names;
  for (const auto& [name, value] : formats) names.push_back(name);
  sub.add_option_function<std::string>(
         "--format",
         [options, formats](const std::string& name) {
           options->set_format(formats.at(name));
         },
         "Format of the texts, whose markup is kept")
      ->check(CLI::IsMember(names))
      ->type_name("FORMAT")
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
  AddFormatFlag(*sub, options);
  sub->add_flag_callback(
         "--no-text-stages",
         [options] { options->set_text_stages(v1::TEXT_STAGES_OFF); },
         "Let the model read the text as it is, with unknown letters, capitals "
         "and invisible characters")
      ->group(kMoreFlags);
  AddProtectFlags(*sub, options);
  AddCheckFlags(*sub, options);
  AddGlossaryFlags(*sub, options);
  sub->add_flag_callback(
         "--no-split", [options] { options->set_split(v1::SPLIT_NONE); },
         "Let the model read whole texts, not sentence by sentence")
      ->group(kMoreFlags);
  sub->add_flag_callback(
         "--sentences", [options] { options->set_sentences(true); },
         "Return where the sentences are, in --json")
      ->group(kMoreFlags);
  sub->add_flag("--route", command->route_,
                "Print, on standard error, what --source-language auto found, "
                "and which models translated")
      ->group(kMoreFlags);
  AddAttentionFlags(*sub, "--attention",
                    [options] { return options->mutable_cross_attention(); });
  AddDecodingFlags(*sub, options->mutable_decoding());
  return {sub, std::move(command)};
}

}  // namespace trivium
