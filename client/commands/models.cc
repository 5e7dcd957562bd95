#include <string>
#include <vector>

#include "base/status.h"
#include "client/commands/command.h"
#include "client/commands/short_name.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Returns the codes as "en,de", or "-" if there are none.
std::string Codes(
    const google::protobuf::RepeatedPtrField<v1::Language>& languages) {
  std::vector<std::string> codes;
  for (const v1::Language& language : languages) {
    codes.push_back(language.bcp47().empty() ? language.code()
                                             : language.bcp47());
  }
  return codes.empty() ? "-" : fmt::format("{}", fmt::join(codes, ","));
}

constexpr char kHeader[] =
    "MODEL\tFAMILY\tDESIGN\tPRECISION\tFROM\tTO\tDEFAULT\tCALLS";

// Prints a header, then a model a line, in columns separated by tabs. DEFAULT
// is the target language of calls that name none.
class ModelsCommand : public Command {
 public:
  bool has_priority() const override { return false; }
  absl::Status Run(Client& client, const Io& io) override {
    Output output(io, /*keep_newlines=*/false, nullptr);
    if (!unload_.empty()) return client.UnloadModel(unload_);
    if (!model_.empty() || !load_.folder().empty() || !reload_.empty()) {
      TRIVIUM_ASSIGN_OR_RETURN(const v1::Model model, One(client));
      if (!json_) TRIVIUM_RETURN_IF_ERROR(output.Line(kHeader));
      return Emit(model, output);
    }
    TRIVIUM_ASSIGN_OR_RETURN(const v1::ListModelsResponse response,
                             client.ListModels());
    if (!json_) TRIVIUM_RETURN_IF_ERROR(output.Line(kHeader));
    for (const v1::Model& model : response.models()) {
      TRIVIUM_RETURN_IF_ERROR(Emit(model, output));
    }
    return absl::OkStatus();
  }

 private:
  friend Subcommand trivium::AddModels(CLI::App& app);

  absl::StatusOr<v1::Model> One(Client& client) const {
    if (!load_.folder().empty()) return client.LoadModel(load_);
    if (!reload_.empty()) return client.ReloadModel(reload_);
    return client.GetModel(model_);
  }

  absl::Status Emit(const v1::Model& model, Output& output) {
    if (json_) return output.Json(model);
    return output.Line(fmt::format(
        "{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}", model.name(), model.family(),
        ShortName(model.design()), ShortName(model.precision()),
        Codes(model.source_languages()), Codes(model.target_languages()),
        model.default_target_language().empty()
            ? "-"
            : model.default_target_language(),
        fmt::join(model.calls(), ",")));
  }

  std::string model_;
  v1::LoadModelRequest load_;
  std::string reload_, unload_;
  bool json_ = false;
};

}  // namespace

Subcommand AddModels(CLI::App& app) {
  auto command = std::make_unique<ModelsCommand>();
  CLI::App* sub = app.add_subcommand(
      "models", "Lists the models of the server, one a line");
  CLI::Option* one =
      sub->add_option("--model", command->model_, "Only this model");
  CLI::Option* load =
      sub->add_option("--load", *command->load_.mutable_folder(),
                      "Serve one more folder below the --model-root");
  sub->add_option("--name", *command->load_.mutable_name(),
                  "With --load: its name; default: the folder's")
      ->needs(load);
  sub->add_option("--translate-with", *command->load_.mutable_translate_with(),
                  "With --load: how a decoder is asked to translate, as "
                  "tower; default: the server's --translate-with")
      ->needs(load);
  CLI::Option* reload = sub->add_option("--reload", command->reload_,
                                        "Read this model's folder again");
  CLI::Option* unload =
      sub->add_option("--unload", command->unload_, "Stop serving this model");
  load->excludes(one)->excludes(reload)->excludes(unload);
  reload->excludes(one)->excludes(unload);
  unload->excludes(one);
  AddJsonFlag(*sub, &command->json_);
  return {sub, std::move(command)};
}

}  // namespace trivium
