#include <string>

#include "base/status.h"
#include "client/commands/beam_tree.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

constexpr uint32_t kDefaultBeamSize = 4;

// Shows how a beam search found a text's translation.
class BeamsCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    Output output(io, /*keep_newlines=*/true, nullptr);
    TRIVIUM_ASSIGN_OR_RETURN(const v1::Input input, OneInput(inputs_, io));
    *request_.add_inputs() = input;
    v1::DecodingOptions* decoding =
        request_.mutable_options()->mutable_decoding();
    decoding->set_trace(true);
    if (!decoding->has_beam_size()) decoding->set_beam_size(kDefaultBeamSize);
    TRIVIUM_ASSIGN_OR_RETURN(const v1::TranslateResponse response,
                             client.Translate(request_));
    TRIVIUM_RETURN_IF_ERROR(ExpectOneResult(response.results_size()));
    if (json_) return output.Json(response.results(0));
    TRIVIUM_ASSIGN_OR_RETURN(const BeamTree tree,
                             BeamTree::Create(response.results(0)));
    if (!html_.empty()) {
      TRIVIUM_RETURN_IF_ERROR(
          WriteFile(html_, tree.Page(response.model().name(), input.text())));
      output.Note(fmt::format("wrote {}", html_));
    }
    return output.Piece(
        tree.Text(Colors(ShowsColors(io.out)), TerminalRows(io.out)));
  }

 private:
  friend Subcommand trivium::AddBeams(CLI::App& app);

  InputFlags inputs_;
  v1::TranslateRequest request_;
  std::string html_;
  bool json_ = false;
};

}  // namespace

Subcommand AddBeams(CLI::App& app) {
  auto command = std::make_unique<BeamsCommand>();
  CLI::App* sub =
      app.add_subcommand("beams",
                         "Shows the search for a translation as a tree: "
                         "trivium beams [flags] TEXT");
  AddModelFlag(*sub, command->request_.mutable_model());
  AddInputFlags(*sub, &command->inputs_, /*ids=*/true, /*target_prefix=*/true);
  AddJsonFlag(*sub, &command->json_);
  v1::TranslateOptions* options = command->request_.mutable_options();
  options->set_split(v1::SPLIT_NONE);  // a tree belongs to a single search
  AddTextFlags(*sub, options);
  AddDecodingFlags(*sub, options->mutable_decoding());
  sub->add_option("--html", command->html_, "Also write a page to this file");
  return {sub, std::move(command)};
}

}  // namespace trivium
