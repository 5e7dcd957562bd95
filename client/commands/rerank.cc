#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Prints documents, best answer to the query first, one a line: the score, the
// document's number in the input (from 1) and its text, separated by tabs. One
// call sends all documents.
class RerankCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(const std::vector<v1::Input> documents,
                             AllInputs(inputs_, io));
    for (const v1::Input& document : documents) {
      request_.add_documents(document.text());
    }
    Output output(io, /*keep_newlines=*/false, nullptr);
    TRIVIUM_ASSIGN_OR_RETURN(const v1::RerankResponse response,
                             client.Rerank(request_));
    for (const v1::RerankResponse::Document& document : response.documents()) {
      if (document.index() >=
          static_cast<uint32_t>(request_.documents_size())) {
        return absl::InternalError(
            fmt::format("the server ranks document {} of {}", document.index(),
                        request_.documents_size()));
      }
      TRIVIUM_RETURN_IF_ERROR(
          json_ ? output.Json(document)
                : output.Line(fmt::format(
                      "{:.4f}\t{}\t{}", document.score(), document.index() + 1,
                      request_.documents(static_cast<int>(document.index())))));
    }
    return absl::OkStatus();
  }

 private:
  friend Subcommand trivium::AddRerank(CLI::App& app);

  InputFlags inputs_;
  v1::RerankRequest request_;
  bool json_ = false;
};

}  // namespace

Subcommand AddRerank(CLI::App& app) {
  auto command = std::make_unique<RerankCommand>();
  CLI::App* sub = app.add_subcommand(
      "rerank",
      "Sorts documents by how well they answer a query: trivium rerank "
      "--query Q [flags] [TEXT...]");
  v1::RerankRequest* request = &command->request_;
  AddModelFlag(*sub, request->mutable_model());
  AddInputFlags(*sub, &command->inputs_, /*ids=*/false,
                /*target_prefix=*/false);
  AddJsonFlag(*sub, &command->json_);
  AddTruncationFlags(*sub, request);
  sub->add_option("--query", *request->mutable_query(), "The query")
      ->required();
  AddPromptFlags(*sub, request);
  sub->add_option_function<uint32_t>(
      "--top", [request](uint32_t top) { request->set_top(top); },
      "How many documents to show; default: all");
  AddWeightsFlag(*sub, [request] { return request->mutable_weights(); });
  sub->add_flag_function(
         "--return-text",
         [request](int64_t count) { request->set_return_text(count > 0); },
         "Return the documents' texts, in --json")
      ->group(kMoreFlags);
  return {sub, std::move(command)};
}

}  // namespace trivium
