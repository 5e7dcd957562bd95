// Tokenizes for compare_tokenizers: reads JSON lines, each a text or a pair of
// texts, and prints for each the tokens and what their ids decode to.
//   encode_lines FOLDER < inputs > outputs

#include <iostream>
#include <string>
#include <vector>

#include "model/tokenizer/tokenizer_factory.h"
#include "nlohmann/json.hpp"

namespace trivium {
namespace {

nlohmann::json Encoded(const Tokenizer& tokenizer,
                       const nlohmann::json& input) {
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

int Run(const std::string& folder) {
  const auto tokenizer = LoadTokenizer(folder);
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
    std::cerr << "usage: encode_lines FOLDER\n";
    return 2;
  }
  return trivium::Run(argv[1]);
}
