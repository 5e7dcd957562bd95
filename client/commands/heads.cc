// The commands classify, tag, answer and fill-mask, which call the heads of
// encoders.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/commands/batches.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Sends several texts with each call and prints a line for each text.
template <typename Request, typename Response>
class HeadCommand : public Command {
 public:
  using Method = absl::StatusOr<Response> (Client::*)(const Request&);
  using Result = std::decay_t<decltype(std::declval<Response>().results(0))>;

  HeadCommand(Method method, std::function<std::string(const Result&)> line)
      : method_(method), line_(std::move(line)) {}

  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<CommandInputs> source,
                             OpenInputs(inputs_, io));
    Output output(io, /*keep_newlines=*/false, nullptr);
    return CallInBatches(
        *source, output,
        [&](const std::vector<v1::Input>& inputs) -> absl::Status {
          Request request = request_;
          for (const v1::Input& input : inputs) Add(input, &request);
          TRIVIUM_ASSIGN_OR_RETURN(const Response response,
                                   (client.*method_)(request));
          for (const Result& result : response.results()) {
            TRIVIUM_RETURN_IF_ERROR(json_ ? output.Json(result)
                                          : output.Line(line_(result)));
          }
          return absl::OkStatus();
        },
        [&](const absl::Status& status) {
          return output.Failure(status, json_);
        });
  }

  Request& request() { return request_; }
  // A question about every text, or the second text of every pair.
  std::string& companion() { return companion_; }

  void AddFlags(CLI::App& app, bool ids) {
    AddModelFlag(app, request_.mutable_model());
    AddInputFlags(app, &inputs_, ids, /*target_prefix=*/false);
    AddJsonFlag(app, &json_);
  }
  // Adds --top, for calls that can return several results for a text.
  void AddTopFlag(CLI::App& app) {
    app.add_option_function<uint32_t>(
        "--top", [this](uint32_t top) { request_.set_top(top); },
        "Results for each text; default: the server's");
  }

 private:
  void Add(const v1::Input& input, v1::ClassifyRequest* request) const {
    v1::Input* added = request->add_inputs();
    *added = input;
    if (companion_.empty() || !input.has_text()) return;
    added->mutable_pair()->set_first(input.text());
    added->mutable_pair()->set_second(companion_);
  }
  void Add(const v1::Input& input, v1::AnswerRequest* request) const {
    auto* added = request->add_inputs();
    added->set_question(companion_);
    added->set_context(input.text());
  }
  template <typename Any>
  void Add(const v1::Input& input, Any* request) const {
    *request->add_inputs() = input;
  }

  const Method method_;
  const std::function<std::string(const Result&)> line_;
  InputFlags inputs_;
  Request request_;
  std::string companion_;
  bool json_ = false;
};

using ClassifyCommand = HeadCommand<v1::ClassifyRequest, v1::ClassifyResponse>;
using TagCommand =
    HeadCommand<v1::ClassifyTokensRequest, v1::ClassifyTokensResponse>;
using AnswerCommand = HeadCommand<v1::AnswerRequest, v1::AnswerResponse>;
using FillMaskCommand = HeadCommand<v1::FillMaskRequest, v1::FillMaskResponse>;

// Returns "WORD SCORE" of each element, separated by tabs.
template <typename List, typename Word>
std::string Scored(const List& list, Word word) {
  std::string line;
  for (const auto& one : list) {
    line += fmt::format("{}{} {:.4f}", line.empty() ? "" : "\t", word(one),
                        one.score());
  }
  return line;
}

}  // namespace

Subcommand AddClassify(CLI::App& app) {
  auto command = std::make_unique<ClassifyCommand>(
      &Client::Classify, [](const v1::Classification& result) {
        return Scored(result.labels(),
                      [](const v1::Label& label) { return label.label(); });
      });
  CLI::App* sub = app.add_subcommand(
      "classify", "Texts to labels: trivium classify [flags] [TEXT...]");
  command->AddFlags(*sub, /*ids=*/true);
  command->AddTopFlag(*sub);
  CLI::Option* second =
      sub->add_option("--second", command->companion(),
                      "Classify pairs of a text and this text");
  v1::ClassifyRequest* request = &command->request();
  sub->add_option_function<std::vector<std::string>>(
         "--labels",
         [request](const std::vector<std::string>& labels) {
           request->mutable_labels()->Add(labels.begin(), labels.end());
         },
         "Labels to choose from, instead of the model's own; for models of "
         "natural language inference")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->excludes(second);
  sub->add_option_function<std::string>(
         "--hypothesis-template",
         [request](const std::string& text) {
           request->set_hypothesis_template(text);
         },
         "The sentence of which --labels make hypotheses; default: \"This "
         "example is {}.\"")
      ->group(kMoreFlags);
  sub->add_flag_function(
         "--multi-label",
         [request](int64_t count) { request->set_multi_label(count > 0); },
         "Several of --labels may hold at once")
      ->group(kMoreFlags);
  AddTruncationFlags(*sub, &command->request());
  return {sub, std::move(command)};
}

Subcommand AddTag(CLI::App& app) {
  auto command = std::make_unique<TagCommand>(
      &Client::ClassifyTokens, [](const v1::TokenClassification& result) {
        return Scored(result.spans(),
                      [](const v1::TokenClassification::Span& span) {
                        return span.label() + " " + span.text();
                      });
      });
  CLI::App* sub = app.add_subcommand(
      "tag", "Labels names and the like: trivium tag [flags] [TEXT...]");
  command->AddFlags(*sub, /*ids=*/true);
  AddTruncationFlags(*sub, &command->request());
  return {sub, std::move(command)};
}

Subcommand AddAnswer(CLI::App& app) {
  auto command = std::make_unique<AnswerCommand>(
      &Client::Answer, [](const v1::Answers& result) {
        return Scored(result.answers(), [](const v1::Answers::Answer& answer) {
          return answer.no_answer() ? "-" : answer.text();
        });
      });
  CLI::App* sub = app.add_subcommand(
      "answer",
      "The span of each text that answers a question: trivium answer "
      "--question Q [flags] [TEXT...]");
  command->AddFlags(*sub, /*ids=*/false);
  command->AddTopFlag(*sub);
  sub->add_option("--question", command->companion(), "The question")
      ->required();
  v1::AnswerRequest* request = &command->request();
  sub->add_flag_function(
      "--no-answer",
      [request](int64_t count) { request->set_no_answer(count > 0); },
      "Allow \"no answer\", shown as -");
  return {sub, std::move(command)};
}

Subcommand AddFillMask(CLI::App& app) {
  auto command = std::make_unique<FillMaskCommand>(
      &Client::FillMask, [](const v1::FilledMasks& result) {
        std::string line;
        for (const v1::FilledMasks::Mask& mask : result.masks()) {
          if (!line.empty()) line += "\t| ";
          line += Scored(mask.candidates(),
                         [](const v1::FilledMasks::Candidate& candidate) {
                           return candidate.text();
                         });
        }
        return line;
      });
  CLI::App* sub = app.add_subcommand(
      "fill-mask",
      "The words that fit a text's masks: trivium fill-mask [flags] [TEXT...]");
  command->AddFlags(*sub, /*ids=*/true);
  AddTruncationFlags(*sub, &command->request());
  command->AddTopFlag(*sub);
  return {sub, std::move(command)};
}

}  // namespace trivium
