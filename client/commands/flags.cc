#include "client/commands/flags.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

#include "fmt/format.h"

namespace trivium {

Client::Options ConnectionFlags::ToOptions() const {
  Client::Options options;
  options.address = address;
  options.timeout = absl::Seconds(timeout_seconds);
  return options;
}

void AddConnectionFlags(CLI::App& app, ConnectionFlags* flags) {
  const std::string group = "Connection";
  app.add_option("--address", flags->address, "Server, HOST:PORT")
      ->capture_default_str()
      ->group(group);
  app.add_option("--timeout", flags->timeout_seconds,
                 "Seconds to wait for an answer; in a stream of texts, for the "
                 "next one")
      ->capture_default_str()
      ->group(group);
}

void AddModelFlag(CLI::App& app, std::string* model) {
  app.add_option("--model", *model, "Model; default: the server's first one")
      ->group("Connection");
}

void AddJsonFlag(CLI::App& app, bool* json) {
  app.add_flag("--json", *json, "One JSON object a line, with all there is");
}

void AddAttentionFlags(CLI::App& app, const std::string& flag,
                       std::function<v1::AttentionSelection*()> selection) {
  app.add_flag_function(
      flag, [selection](int64_t count) { selection(); },
      "Attention maps too, in --json");
  app.add_option_function<uint32_t>(
         flag + "-layer",
         [selection](uint32_t layer) { selection()->add_layers(layer); },
         "Only this layer's (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
  app.add_option_function<uint32_t>(
         flag + "-head",
         [selection](uint32_t head) { selection()->add_heads(head); },
         "Only this head's (repeatable)")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->trigger_on_parse();
}

std::optional<v1::TokenIds> ParseTokenIds(std::string_view text) {
  v1::TokenIds ids;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", \t"), text.size()));
    if (text.empty()) return ids;
    uint32_t id;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), id);
    if (error != std::errc()) return std::nullopt;
    text.remove_prefix(end - text.data());
    if (!text.empty() && text.find_first_of(", \t") != 0) return std::nullopt;
    ids.add_ids(id);
  }
}

void AddEnvironmentTwins(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    std::string name = option->get_lnames().front();
    if (name == "help" || name == "help-all") continue;
    if (name == "model") name = "client_model";
    std::transform(name.begin(), name.end(), name.begin(), [](char c) {
      return c == '-' ? '_' : static_cast<char>(std::toupper(c));
    });
    option->envname("TRIVIUM_" + name);
  }
}

}  // namespace trivium
