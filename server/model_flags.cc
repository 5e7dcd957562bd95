#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "model/language_names.h"
#include "model/translator_prompts.h"
#include "server/model_spec.h"
#include "server/option_flags.h"

namespace trivium {
namespace {

void AddModels(const std::string& flag, const std::vector<std::string>& specs,
               Options* options) {
  for (const std::string& text : specs) {
    auto spec = ParseModelSpec(text);
    if (!spec.ok()) {
      throw CLI::ValidationError(
          fmt::format("{}: {}", flag, std::string(spec.status().message())));
    }
    options->models.push_back(*std::move(spec));
  }
}

void AddAlias(const std::string& text, ModelNames* names) {
  const size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || equals + 1 == text.size()) {
    throw CLI::ValidationError(fmt::format(
        "--model-alias: '{}' must be NAME=MODEL, such as gpt-4o=chat", text));
  }
  const std::string name = text.substr(0, equals);
  if (absl::Status status = CheckModelName(name); !status.ok()) {
    throw CLI::ValidationError(
        fmt::format("--model-alias: {}", std::string(status.message())));
  }
  if (!names->aliases.emplace(name, text.substr(equals + 1)).second) {
    throw CLI::ValidationError(fmt::format(
        "--model-alias: '{}' is given twice; give it one model", name));
  }
}

}  // namespace

void AddModelFlags(FlagSet* flags, CLI::App* app, Options* options) {
  flags->set_group("Models");
  const auto add = [options](const std::vector<std::string>& specs) {
    AddModels("--model", specs, options);
  };
  // Both names are one option, so that models keep the order of the command
  // line. The delimiter is for the environment, where an option cannot be
  // repeated.
  flags->Finish(
      "model",
      app->add_option_function<std::vector<std::string>>(
             "--model,folders", add,
             "Serve [NAME=]FOLDER[,precision=...][,kv=...][,shortlist=on|off]"
             "[,translate_with=...][,task=...]; "
             "repeat it for more models, the first is the default. "
             "hf:OWNER/NAME[@REVISION][:QUANT] instead of FOLDER fetches a "
             "model of the Hugging Face Hub. Without --model, the embedded "
             "model is served")
          ->delimiter(';')
          ->type_name("[NAME=]FOLDER"));
  // Repeatable; the delimiter is for the environment.
  flags->Finish(
      "model-alias",
      app->add_option_function<std::vector<std::string>>(
             "--model-alias",
             [options](const std::vector<std::string>& aliases) {
               for (const std::string& text : aliases) {
                 AddAlias(text, &options->model_names);
               }
             },
             "Serve a model under one more name, NAME=MODEL; repeat it for "
             "more names. Tokens that may use the model may use the name")
          ->delimiter(';')
          ->type_name("ALIAS"));
  flags->Flag("any-model", &options->model_names.any,
              "Answer calls that name a model that is not there as if they "
              "named none: by the first model that serves such calls");
  flags
      ->Parsed(
          "pivot-language",
          "If no model translates between two languages, two models "
          "translate by way of this language (\"en\")",
          [options](const std::string& text) -> absl::Status {
            options->pivot_language = ToBcp47(text);
            if (!options->pivot_language.empty()) return absl::OkStatus();
            return absl::InvalidArgumentError(fmt::format(
                "'{}' is not a language; give its code, such as en", text));
          })
      ->type_name("LANGUAGE");
  flags->Add("model-root", &options->model_root,
             "The folder of the models that LoadModel may load; without it, "
             "models are neither loaded nor unloaded while the server runs");
  flags->Finish(
      "allow-pull",
      app->add_option("--allow-pull", options->pull_owners,
                      "Owners, separated by commas, whose models LoadModel may "
                      "fetch from the hub by the name hf:OWNER/NAME; * allows "
                      "all. Without it, only --model fetches")
          ->delimiter(',')
          ->type_name("OWNERS"));
  flags->Bytes("allow-pull-bytes", &options->pull_bytes,
               "Size of the files of a model that --allow-pull lets clients "
               "fetch");
  flags->Seconds("watch-interval", &options->watch_interval,
                 "Time between two looks at --model-root for new, changed and "
                 "removed models, which are then served or unloaded; 0: never");
  flags
      ->Parsed("precision",
               "Precision to compute with: auto, f32, bf16, int8 or int4. auto "
               "is int4 for a file whose weights are in four bits, else int8, "
               "on 64-bit Arm f32",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->precision,
                                          ParsePrecision(text));
                 return absl::OkStatus();
               })
      ->default_str("auto");
  flags
      ->Parsed("kv-precision",
               "Precision of decoders' keys and values: auto, f32, bf16 or "
               "int8; auto is that of --precision, or int8 for int4. bf16 is "
               "more exact than int8 and takes twice the memory",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->kv_precision,
                                          ParseKvPrecision(text));
                 return absl::OkStatus();
               })
      ->default_str("auto");
  flags->Flag("vocabulary-shortlist", &options->vocabulary_shortlist,
              "Restrict translations to the tokens that the folder's "
              "shortlist.safetensors has for each source: this is faster, and "
              "changes a few translations");
  flags->Add("weights-cache", &options->weights_cache,
             "Folder in which packed weights are kept, one file a model and "
             "precision: the next start maps them instead of packing the "
             "model's files, and processes on one machine share their memory");
  flags
      ->Parsed("translate-with",
               "How decoders are asked to translate: auto, as their folders "
               "tell; translategemma, hy-mt2, hy-mt1.5, hunyuan-mt, "
               "tower-plus, tower or eurollm; or none, not at all. A --model "
               "may have translate_with=... of its own",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->translate_with,
                                          ParseTranslateWith(text));
                 return absl::OkStatus();
               })
      ->default_str("auto");
  flags
      ->Parsed("max-isa",
               "Highest instruction set to use: avx2, avx512, vnni, bf16 or "
               "amx; for tests and comparisons",
               [options](const std::string& text) -> absl::Status {
                 TRIVIUM_ASSIGN_OR_RETURN(options->max_isa, ParseIsa(text));
                 return absl::OkStatus();
               })
      ->default_str("the CPU's best");
}

CLI::Option* AddPlanFlag(FlagSet* flags, CLI::App* app, Options* options) {
  return flags->Finish(
      "plan",
      app->add_option_function<std::vector<std::string>>(
             "--plan",
             [options](const std::vector<std::string>& specs) {
               options->plan = true;
               if (specs == std::vector<std::string>{""}) return;  // no value
               AddModels("--plan", specs, options);
             },
             "Print the memory that these models would need with the other "
             "flags, measure for some seconds how fast this machine answers, "
             "and exit")
          ->delimiter(';')
          ->expected(0, -1)
          ->type_name("[NAME=]FOLDER"));
}

}  // namespace trivium
