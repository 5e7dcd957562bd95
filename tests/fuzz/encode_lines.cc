// Tokenizes for compare_tokenizers: reads JSON lines, each a text or a pair of
// texts, and prints for each the tokens and what their ids decode to. Of
// {"literal": text} the ids of the text alone, as a literal part.
//   encode_lines FOLDER|FILE.gguf < inputs > outputs

#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/gguf/gguf_model.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

nlohmann::json Encoded(const Tokenizer& tokenizer,
                       const nlohmann::json& input) {
  if (input.is_object()) {
    const std::string text = input["literal"].get<std::string>();
    const TextPart part = {text, /*literal=*/true};
    EncodeOptions options;
    options.add_special_tokens = false;
    const auto encoding = tokenizer.EncodeParts({&part, 1}, options);
    if (!encoding.ok()) {
      return {{"error", std::string(encoding.status().message())}};
    }
    return {{"ids", encoding->ids}};
  }
  const auto tokens =
      input.is_string()
          ? tokenizer.Tokenize(input.get<std::string>(), {})
          : tokenizer.TokenizePair(input[0].get<std::string>(),
                                   input[1].get<std::string>(), {});
  if (!tokens.ok()) return {{"error", std::string(tokens.status().message())}};
  const auto encoding =
      input.is_string() ? tokenizer.Encode(input.get<std::string>(), {})
                        : tokenizer.EncodePair(input[0].get<std::string>(),
                                               input[1].get<std::string>(), {});
  std::vector<int> ids, type_ids, begins, ends;
  for (const Token& token : *tokens) {
    ids.push_back(token.id);
    type_ids.push_back(token.type_id);
    begins.push_back(token.char_begin);
    ends.push_back(token.char_end);
  }
  if (encoding->ids != ids) return {{"error", "Encode and Tokenize differ"}};
  const std::string text = tokenizer.Decode(ids);
  std::string streamed;
  const auto decoder = tokenizer.NewStreamingDecoder();
  for (const int id : ids) streamed += decoder->Push(id);
  streamed += decoder->Finish();
  if (streamed != text) return {{"error", "streamed text differs"}};
  return {{"ids", ids},
          {"type_ids", type_ids},
          {"begins", begins},
          {"ends", ends},
          {"text", text}};
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Load(const std::string& path) {
  if (!path.ends_with(".gguf")) return LoadTokenizer(path);
  Problems problems;  // of the weights, which a vocabulary's file lacks
  GgufModel model = ReadGgufModel(path, &problems);
  if (model.tokenizer.is_null()) {
    return absl::NotFoundError(problems.empty() ? "none" : problems.front());
  }
  return MakeTokenizer(std::move(model.tokenizer), model.tokenizer_config);
}

int Run(const std::string& folder) {
  const auto tokenizer = Load(folder);
  if (!tokenizer.ok() || *tokenizer == nullptr) {
    std::cerr << folder << ": " << tokenizer.status() << "\n";
    return 1;
  }
  std::ios::sync_with_stdio(false);
  std::string line;
  while (std::getline(std::cin, line)) {
    const nlohmann::json input =
        nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    std::cout << Encoded(**tokenizer, input)
                     .dump(-1, ' ', /*ensure_ascii=*/true,
                           nlohmann::json::error_handler_t::replace)
              << "\n";
  }
  return 0;
}

}  // namespace
}  // namespace trivium

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: encode_lines FOLDER|FILE.gguf\n";
    return 2;
  }
  return trivium::Run(argv[1]);
}
