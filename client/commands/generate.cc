#include <map>
#include <string>

#include "base/status.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Sorts the interleaved pieces of several hypotheses. Pieces of the lowest
// unfinished index are written as they arrive; the others wait.
class OrderedPieces {
 public:
  explicit OrderedPieces(Output& output) : output_(output) {}

  absl::Status Add(const v1::GenerateResponse& response) {
    Waiting& mine = waiting_[response.index()];
    mine.text += response.piece().text();
    mine.done = mine.done || response.has_done();
    for (auto it = waiting_.find(current_);
         it != waiting_.end() && it->first == current_;
         it = waiting_.find(current_)) {
      if (!it->second.text.empty()) {
        TRIVIUM_RETURN_IF_ERROR(output_.Piece(it->second.text));
        it->second.text.clear();
      }
      if (!it->second.done) return absl::OkStatus();
      TRIVIUM_RETURN_IF_ERROR(output_.EndLine());
      waiting_.erase(it);
      ++current_;
    }
    return absl::OkStatus();
  }

 private:
  struct Waiting {
    std::string text;
    bool done = false;
  };
  Output& output_;
  uint32_t current_ = 0;
  std::map<uint32_t, Waiting> waiting_;
};

class GenerateCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    TRIVIUM_ASSIGN_OR_RETURN(std::unique_ptr<CommandInputs> source,
                             OpenInputs(inputs_, io));
    const bool one =
        inputs_.texts.size() == 1 && request_.decoding().num_hypotheses() <= 1;
    Output output(io, /*keep_newlines=*/one, nullptr);
    int64_t number = 0, failed = 0;
    while (true) {
      TRIVIUM_ASSIGN_OR_RETURN(std::optional<InputSource::Item> item,
                               source->Next());
      if (!item) return SomeFailed(failed);
      ++number;
      const absl::Status status = item->error.ok()
                                      ? GenerateOne(client, item->input, output)
                                      : item->error;
      if (status.code() == absl::StatusCode::kInvalidArgument) {
        ++failed;
        output.Complain(
            fmt::format("text {}: {}", number, std::string(status.message())));
        TRIVIUM_RETURN_IF_ERROR(output.Failure(status, json_));
      } else {
        TRIVIUM_RETURN_IF_ERROR(status);
      }
    }
  }

 private:
  friend Subcommand trivium::AddGenerate(CLI::App& app);

  absl::Status GenerateOne(Client& client, const v1::Input& input,
                           Output& output) {
    v1::GenerateRequest request = request_;
    *request.mutable_input() = input;
    OrderedPieces pieces(output);
    return client.Generate(request, [&](const v1::GenerateResponse& response) {
      return json_ ? output.Json(response) : pieces.Add(response);
    });
  }

  InputFlags inputs_;
  v1::GenerateRequest request_;
  bool json_ = false;
};

}  // namespace

Subcommand AddGenerate(CLI::App& app) {
  auto command = std::make_unique<GenerateCommand>();
  CLI::App* sub = app.add_subcommand(
      "generate",
      "Text, as it is generated: trivium generate [flags] [TEXT...]");
  v1::GenerateRequest* request = &command->request_;
  AddModelFlag(*sub, request->mutable_model());
  AddInputFlags(*sub, &command->inputs_, /*ids=*/true, /*target_prefix=*/true);
  AddJsonFlag(*sub, &command->json_);
  AddTextFlags(*sub, request);
  AddDecodingFlags(*sub, request->mutable_decoding());
  AddConstraintFlags(*sub, request->mutable_decoding());
  return {sub, std::move(command)};
}

}  // namespace trivium
