#include <string>
#include <utility>

#include "base/status.h"
#include "client/commands/attention_page.h"
#include "client/commands/attention_reader.h"
#include "client/commands/command.h"
#include "client/commands/npz.h"
#include "fmt/format.h"

namespace trivium {
namespace {

// Shows a text's attention as a page, as text, as JSON or as arrays.
class AttentionCommand : public Command {
 public:
  InputFlags* inputs() override { return &inputs_; }

  absl::Status Run(Client& client, const Io& io) override {
    Output output(io, /*keep_newlines=*/true, nullptr);
    TRIVIUM_ASSIGN_OR_RETURN(v1::Input input, OneInput(inputs_, io));
    if (!second_.empty()) {
      if (inputs_.ids) {
        return absl::InvalidArgumentError(
            "--second makes pairs of texts: leave --ids out");
      }
      MakePair(&input);
    }
    TRIVIUM_ASSIGN_OR_RETURN(const v1::Model model, client.GetModel(model_));
    AttentionReader reader(client, model, input, Options());
    TRIVIUM_ASSIGN_OR_RETURN(std::vector<DrawnMaps> maps, reader.Plan(choice_));
    std::vector<DrawnMaps> on_page = maps;
    if (!html_.empty() && !ShrinkToFit(kMaxPageWeights, &on_page)) {
      return absl::InvalidArgumentError(
          "the text is too long for a page: choose tokens with --row, or write "
          "the numbers with --npz and --no-html");
    }
    // Weights that no output shows are not read.
    if (!json_ && npz_.empty() && !html_.empty()) maps = on_page;
    TRIVIUM_RETURN_IF_ERROR(reader.Read(&maps));
    AttentionContext context = {model.name(), {}};
    AddTexts(input, reader.answer(), &context);
    if (!npz_.empty()) {
      TRIVIUM_RETURN_IF_ERROR(WriteNpz(maps));
      output.Note(fmt::format("wrote {}", npz_));
    }
    if (!html_.empty()) {
      TRIVIUM_RETURN_IF_ERROR(WritePage(context, maps, &on_page, output));
    }
    if (json_) {
      return output.Line(
          AttentionJson(context, maps)
              .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
    }
    const Colors colors(ShowsColors(io.out));
    for (const DrawnMaps& one : maps) {
      TRIVIUM_RETURN_IF_ERROR(output.Piece(AttentionText(one, colors)));
    }
    return absl::OkStatus();
  }

 private:
  friend Subcommand trivium::AddAttention(CLI::App& app);

  void MakePair(v1::Input* input) const {
    std::string first = input->text();
    input->mutable_pair()->set_first(std::move(first));
    input->mutable_pair()->set_second(second_);
  }

  // Options of a greedy search for one translation or answer. A wider search
  // costs more and shows the same.
  v1::TranslateOptions Options() const {
    v1::TranslateOptions options = options_;
    options.mutable_decoding()->set_beam_size(1);
    options.mutable_decoding()->set_num_hypotheses(1);
    options.mutable_decoding()->set_sample(false);
    return options;
  }

  static void AddTexts(const v1::Input& input, const std::string& answer,
                       AttentionContext* context) {
    if (input.has_text()) context->texts.push_back(input.text());
    if (input.has_pair()) {
      context->texts.push_back(input.pair().first());
      context->texts.push_back(input.pair().second());
    }
    if (!answer.empty()) context->texts.push_back(answer);
  }

  absl::Status WriteNpz(const std::vector<DrawnMaps>& maps) const {
    NpzWriter npz;
    for (const DrawnMaps& one : maps) {
      const std::string name = NameOf(one.kind);
      npz.Add(name + ".weights",
              {one.layers.size(), one.heads.size(), one.rows.size(),
               one.keys.size()},
              one.weights);
      npz.Add(name + ".layers", one.layers);
      npz.Add(name + ".heads", one.heads);
      npz.Add(name + ".rows", one.rows);
      npz.Add(name + ".queries", one.queries);
      npz.Add(name + ".keys", one.keys);
    }
    return npz.Write(npz_);
  }

  absl::Status WritePage(const AttentionContext& context,
                         const std::vector<DrawnMaps>& maps,
                         std::vector<DrawnMaps>* on_page,
                         Output& output) const {
    for (size_t i = 0; i < maps.size(); ++i) {
      DrawnMaps& one = (*on_page)[i];
      one = Slice(maps[i], one.layers, one.heads);
    }
    const std::string page = AttentionPage(context, *on_page);
    TRIVIUM_RETURN_IF_ERROR(WriteFile(html_, page));
    output.Note(fmt::format("wrote {} ({:.1f} MB)", html_, page.size() / 1e6));
    for (const DrawnMaps& one : *on_page) {
      if (one.all_maps > one.layers.size() * one.heads.size()) {
        output.Complain(fmt::format(
            "of {} attention, the page has only layers {} and heads {}, since "
            "more would exceed 5 MB: choose with --kind, --layer, --head and "
            "--row",
            NameOf(one.kind), fmt::join(one.layers, ","),
            fmt::join(one.heads, ",")));
      }
    }
    return absl::OkStatus();
  }

  InputFlags inputs_;
  std::string model_;
  std::string second_;
  std::string html_ = "attention.html";
  std::string npz_;
  v1::TranslateOptions options_;
  AttentionReader::Choice choice_;
  bool json_ = false;
};

void AddNumbers(CLI::App& app, const char* flag, const char* help,
                std::vector<uint32_t>* numbers) {
  app.add_option_function<uint32_t>(
         flag, [numbers](uint32_t number) { numbers->push_back(number); }, help)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
}

}  // namespace

Subcommand AddAttention(CLI::App& app) {
  auto command = std::make_unique<AttentionCommand>();
  CLI::App* sub = app.add_subcommand(
      "attention",
      "Shows a text's attention, as a page and as text: trivium "
      "attention [flags] TEXT");
  AddModelFlag(*sub, &command->model_);
  AddInputFlags(*sub, &command->inputs_, /*ids=*/true, /*target_prefix=*/false);
  AddJsonFlag(*sub, &command->json_);
  AddLanguageFlags(*sub, &command->options_);
  sub->add_option("--second", command->second_,
                  "Make a pair of TEXT and this text");
  v1::DecodingOptions* decoding = command->options_.mutable_decoding();
  sub->add_option_function<uint32_t>(
      "--max-new-tokens",
      [decoding](uint32_t most) { decoding->set_max_new_tokens(most); },
      "Most tokens to write (1 shows a prompt alone)");
  AttentionReader::Choice* choice = &command->choice_;
  sub->add_option_function<std::string>(
         "--kind",
         [choice](const std::string& name) {
           choice->kinds.push_back(KindOf(name));
         },
         "encoder, cross, decoder (repeatable); default: all")
      ->check(CLI::IsMember(KindNames()))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
  AddNumbers(*sub, "--layer", "Only this layer (repeatable)", &choice->layers);
  AddNumbers(*sub, "--head", "Only this head (repeatable)", &choice->heads);
  AddNumbers(*sub, "--row", "Only this token's, from 0 (repeatable)",
             &choice->rows);
  sub->add_option("--html", command->html_, "The page to write")
      ->capture_default_str();
  sub->add_flag_function(
      "--no-html", [out = &command->html_](int64_t) { out->clear(); },
      "Write no page");
  sub->add_option("--npz", command->npz_,
                  "Write the weights to this file, for numpy.load()");
  return {sub, std::move(command)};
}

}  // namespace trivium
