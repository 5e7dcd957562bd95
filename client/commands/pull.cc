// trivium pull: fetches models of a hub, as trivium-server --model does, and
// writes their paths. It calls no server.
#include "model/hub/pull.h"

#include <string>

#include "base/status.h"
#include "client/commands/command.h"
#include "model/hub/hub_name.h"
#include "model/hub/hub_settings.h"
#include "model/hub/pull_display.h"

namespace trivium {
namespace {

class PullCommand : public Command {
 public:
  bool has_priority() const override { return false; }
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client&, const Io& io) override {
    if (inputs_.texts.empty()) {
      return absl::InvalidArgumentError(
          "name a model: trivium pull hf:OWNER/NAME[@REVISION][:QUANT]");
    }
    TRIVIUM_ASSIGN_OR_RETURN(const HubSettings settings,
                             HubSettings::FromEnvironment());
    Output output(io, /*keep_newlines=*/false, nullptr);
    PullDisplay display(io.err);
    for (const std::string& text : inputs_.texts) {
      TRIVIUM_ASSIGN_OR_RETURN(const HubName name, ParseHubName(text));
      TRIVIUM_ASSIGN_OR_RETURN(
          const std::string path,
          Pull(name, settings, CheckedPull(LoadOptions()), &display));
      TRIVIUM_RETURN_IF_ERROR(output.Line(path));
    }
    return absl::OkStatus();
  }

 private:
  InputFlags inputs_;
};

}  // namespace

Subcommand AddPull(CLI::App& app) {
  CLI::App* sub =
      app.add_subcommand("pull",
                         "Fetch models of the Hugging Face Hub: "
                         "trivium pull hf:OWNER/NAME[@REVISION][:QUANT]");
  return {sub, std::make_unique<PullCommand>()};
}

}  // namespace trivium
