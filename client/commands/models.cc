#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/commands/command.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// "DESIGN_ENCODER_DECODER" -> "encoder_decoder".
std::string Short(const std::string& name, size_t prefix) {
  std::string text = name.substr(std::min(prefix, name.size()));
  for (char& c : text) c = static_cast<char>(std::tolower(c));
  return text;
}

std::string Codes(
    const google::protobuf::RepeatedPtrField<v1::Language>& languages) {
  std::vector<std::string> codes;
  for (const v1::Language& language : languages) {
    codes.push_back(language.bcp47().empty() ? language.code()
                                             : language.bcp47());
  }
  return fmt::format("{}", fmt::join(codes, ","));
}

// Prints a model a line: name, family, design, precision, languages, calls,
// separated by tabs.
class ModelsCommand : public Command {
 public:
  absl::Status Run(Client& client, const Io& io) override {
    Output output(io, /*keep_newlines=*/false, nullptr);
    if (!model_.empty()) {
      TRIVIUM_ASSIGN_OR_RETURN(const v1::Model model, client.GetModel(model_));
      return Emit(model, output);
    }
    TRIVIUM_ASSIGN_OR_RETURN(const v1::ListModelsResponse response,
                             client.ListModels());
    for (const v1::Model& model : response.models()) {
      TRIVIUM_RETURN_IF_ERROR(Emit(model, output));
    }
    return absl::OkStatus();
  }

 private:
  friend Subcommand trivium::AddModels(CLI::App& app);

  absl::Status Emit(const v1::Model& model, Output& output) {
    if (json_) return output.Json(model);
    return output.Line(fmt::format(
        "{}\t{}\t{}\t{}\t{}>{}\t{}", model.name(), model.family(),
        Short(v1::Design_Name(model.design()), sizeof("DESIGN")),
        Short(v1::Precision_Name(model.precision()), sizeof("PRECISION")),
        Codes(model.source_languages()), Codes(model.target_languages()),
        fmt::join(model.calls(), ",")));
  }

  std::string model_;
  bool json_ = false;
};

}  // namespace

Subcommand AddModels(CLI::App& app) {
  auto command = std::make_unique<ModelsCommand>();
  CLI::App* sub =
      app.add_subcommand("models", "What the server has loaded, one a line");
  sub->add_option("--model", command->model_, "Only this one");
  AddJsonFlag(*sub, &command->json_);
  return {sub, std::move(command)};
}

}  // namespace trivium
