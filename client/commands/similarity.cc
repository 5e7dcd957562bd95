#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Prints a line for each text: how similar it is to each text of --to, in their
// order, and the text, separated by tabs. Without --to, texts are compared with
// one another. One call sends all texts.
class SimilarityCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<v1::Input> texts,
                             AllInputs(inputs_, io));
    v1::SimilarityRequest::List* const first = request_.mutable_first();
    first->mutable_inputs()->Add(texts.begin(), texts.end());
    Output output(io, /*keep_newlines=*/false, nullptr);
    for (const std::string& text : others_) {
      request_.mutable_second()->add_inputs()->set_text(text);
    }
    if (search_) {
      first->set_kind(v1::TEXT_KIND_QUERY);
      request_.mutable_second()->set_kind(v1::TEXT_KIND_DOCUMENT);
    }
    TRIVIUM_ASSIGN_OR_RETURN(const v1::SimilarityResponse response,
                             client.Similarity(request_));
    if (json_) return output.Json(response);
    const int rows = first->inputs_size();
    const int columns =
        request_.has_second() ? request_.second().inputs_size() : rows;
    if (int64_t{rows} * columns != response.scores_size()) {
      return absl::InternalError(
          fmt::format("the server compares {} pairs of {} and {} texts",
                      response.scores_size(), rows, columns));
    }
    for (int row = 0; row < rows; ++row) {
      std::string line;
      for (int column = 0; column < columns; ++column) {
        line +=
            fmt::format("{:.4f}\t", response.scores(row * columns + column));
      }
      TRIVIUM_RETURN_IF_ERROR(output.Line(line + first->inputs(row).text()));
    }
    return absl::OkStatus();
  }

 private:
  friend Subcommand trivium::AddSimilarity(CLI::App& app);

  InputFlags inputs_;
  std::vector<std::string> others_;
  v1::SimilarityRequest request_;
  bool search_ = false;
  bool json_ = false;
};

}  // namespace

Subcommand AddSimilarity(CLI::App& app) {
  auto command = std::make_unique<SimilarityCommand>();
  CLI::App* sub = app.add_subcommand(
      "similarity",
      "Compares texts by their embeddings: trivium similarity [--to TEXT]... "
      "[TEXT...]");
  v1::SimilarityRequest* request = &command->request_;
  AddModelFlag(*sub, request->mutable_model());
  AddInputFlags(*sub, &command->inputs_, /*ids=*/false,
                /*target_prefix=*/false);
  AddJsonFlag(*sub, &command->json_);
  AddTruncationFlags(*sub, request);
  sub->add_option("--to", command->others_,
                  "A text to compare with (repeatable); default: the texts "
                  "themselves")
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->add_flag("--search", command->search_,
                "The texts are queries, and those of --to documents")
      ->needs("--to");
  const std::map<std::string, v1::SimilarityFunction> functions = {
      {"cosine", v1::SIMILARITY_FUNCTION_COSINE},
      {"dot", v1::SIMILARITY_FUNCTION_DOT},
      {"euclidean", v1::SIMILARITY_FUNCTION_EUCLIDEAN},
      {"manhattan", v1::SIMILARITY_FUNCTION_MANHATTAN}};
  sub->add_option_function<std::string>(
         "--function",
         [request, functions](const std::string& name) {
           request->set_function(functions.at(name));
         },
         "cosine, dot, euclidean or manhattan, of dense embeddings; default: "
         "the folder's, or cosine")
      ->check(CLI::IsMember({"cosine", "dot", "euclidean", "manhattan"}));
  AddWeightsFlag(*sub, [request] { return request->mutable_weights(); });
  return {sub, std::move(command)};
}

}  // namespace trivium
