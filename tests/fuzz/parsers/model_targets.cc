#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/chat_template.h"
#include "model/families/registry.h"
#include "model/generation_config.h"
#include "model/grammar/automaton.h"
#include "model/grammar/constraint.h"
#include "model/grammar/frontends.h"
#include "model/hub/file_choice.h"
#include "model/hub/listing.h"
#include "model/hub/url.h"
#include "model/lexical_shortlist.h"
#include "model/marian/yaml.h"
#include "model/multi_vector_files.h"
#include "model/sentence_encoder.h"
#include "model/tokenizer/sentencepiece_model.h"
#include "model/tokenizer/tokenizer_factory.h"
#include "model/weights/gguf_file.h"
#include "model/weights/grouped_row.h"
#include "model/weights/marian_bin.h"
#include "model/weights/npz_file.h"
#include "model/weights/quantized/quantized_weights.h"
#include "model/weights/safetensors.h"
#include "model/weights/torch_legacy.h"
#include "model/weights/torch_zip.h"
#include "model/weights/unpickler.h"
#include "model/weights/weights.h"
#include "tests/fuzz/parsers/targets.h"
#include "tests/model/weights/weight_files.h"

namespace trivium {
namespace {

// Reads every tensor: a view beyond its memory is found so.
template <class File>
void UseTensors(const absl::StatusOr<File>& file) {
  if (!file.ok()) return;
  for (const auto& [name, tensor] : file->tensors) {
    Ensure(tensor.elements() / BlockElements(tensor.dtype) *
                   DTypeSize(tensor.dtype) ==
               static_cast<int64_t>(tensor.data.size()),
           "a tensor has the bytes of its elements");
    volatile unsigned sum = 0;
    for (const std::byte byte : tensor.data) {
      sum = sum + std::to_integer<unsigned>(byte);
    }
    FirstNotFinite(tensor);
    if (!IsReal(tensor) || tensor.elements() == 0) continue;
    std::vector<float> part(
        static_cast<size_t>(std::min<int64_t>(tensor.elements(), 1000)));
    CopyToF32(tensor, tensor.elements() - static_cast<int64_t>(part.size()),
              part);
    if (!GroupFormOf(tensor) || tensor.shape[0] == 0) continue;
    GroupedRow row;
    ReadGroups(tensor, tensor.shape[0] - 1, std::span(&row, 1));
  }
}

void RunSafetensors(std::string_view bytes) {
  UseTensors(ReadSafetensors(Bytes(bytes)));
}

// The tensors of a safetensors file.
class FileWeights : public Weights {
 public:
  explicit FileWeights(TensorFile file) : file_(std::move(file)) {}
  const TensorView* Find(std::string_view name) const override {
    const auto found = file_.tensors.find(name);
    return found == file_.tensors.end() ? nullptr : &found->second;
  }
  std::vector<std::string_view> Names() const override {
    std::vector<std::string_view> names;
    for (const auto& [name, tensor] : file_.tensors) names.push_back(name);
    return names;
  }
  std::string Fingerprint() const override { return ""; }

 private:
  const TensorFile file_;
};

// A line with a config.json, then a safetensors file.
void RunQuantized(std::string_view bytes) {
  const size_t line = std::min(bytes.find('\n'), bytes.size());
  const auto config = ParseJson(bytes.substr(0, line), kConfigJson);
  bytes.remove_prefix(std::min(line + 1, bytes.size()));
  absl::StatusOr<TensorFile> file = ReadSafetensors(Bytes(bytes));
  if (!config.ok() || !file.ok()) return;
  Problems problems;
  const auto weights = ApplyQuantizationConfig(
      *config, std::make_unique<FileWeights>(*std::move(file)), &problems);
  for (const std::string_view name : weights->Names()) {
    const TensorView& tensor = *weights->Find(name);
    if (!IsReal(tensor)) continue;
    FirstNotFinite(tensor);
    std::vector<float> part(
        static_cast<size_t>(std::min<int64_t>(tensor.elements(), 1000)));
    CopyToF32(tensor, tensor.elements() - static_cast<int64_t>(part.size()),
              part);
  }
}

void RunGguf(std::string_view bytes) { UseTensors(ReadGguf(Bytes(bytes))); }
void RunTorchZip(std::string_view bytes) {
  UseTensors(ReadTorchZip(Bytes(bytes)));
}
void RunNpz(std::string_view bytes) { UseTensors(ReadNpz(Bytes(bytes))); }
void RunMarianBin(std::string_view bytes) {
  UseTensors(ReadMarianBin(Bytes(bytes)));
}
void RunTorchLegacy(std::string_view bytes) {
  UseTensors(ReadTorchLegacy(Bytes(bytes)));
}

void RunLexicalShortlist(std::string_view bytes) {
  static const TemporaryFolder* const folder = new TemporaryFolder;
  folder->Write("lex.bin", bytes);
  const auto table = ReadLexicalShortlist(folder->path() + "/lex.bin",
                                          {.source = 3, .target = 10});
  if (!table.ok()) return;
  const auto shortlist = Shortlist::Create(*table, {}, 3, 10, 10);
  if (!shortlist.ok()) return;
  for (const int32_t token :
       (*shortlist)->TokensOf(std::vector<int32_t>{0, 1, 2})) {
    Ensure(token >= 0 && token < 10, "an allowed token is in the vocabulary");
  }
}

void RunPickle(std::string_view bytes) {
  const absl::StatusOr<Pickle> pickle = Unpickle(Bytes(bytes));
  if (!pickle.ok()) return;
  Ensure(pickle->size <= bytes.size(), "a pickle is no longer than its bytes");
  Ensure(pickle->root < pickle->values.size(), "the root is a value");
  for (const PickleValue& value : pickle->values) {
    for (const uint32_t item : value.items) {
      Ensure(item < pickle->values.size(), "an item is a value");
    }
  }
}

// A config.json, as every family reads it.
void RunConfig(std::string_view bytes) {
  const absl::StatusOr<nlohmann::json> config = ParseJson(bytes, kConfigJson);
  if (!config.ok() || !config->is_object()) return;
  for (const std::string_view family : FamilyNames()) {
    std::vector<std::string> problems;
    FindFamily(family)(*config, /*weights=*/nullptr, &problems);
  }
}

// How a folder wants its text generated, of a model of some kind.
void RunGenerationConfig(std::string_view bytes) {
  const absl::StatusOr<nlohmann::json> config = ParseJson(bytes, kConfigJson);
  if (!config.ok() || !config->is_object()) return;
  std::vector<std::string> problems;
  const GenerationLimits limits = {
      .vocabulary = 100, .max_target_tokens = 64, .has_encoder = true};
  const std::vector<ConfigReader::Layer> layers = {{"config.json", &*config}};
  ConfigReader reader(layers, &problems);
  const GenerationConfig generation = ReadGenerationConfig(&reader, limits);
  ReadTasks(*config, layers, limits, &problems);
  if (!problems.empty()) return;
  for (const int32_t id : generation.decoder_prefix) {
    Ensure(id >= 0 && id < limits.vocabulary, "a prefix is of the vocabulary");
  }
}

// A modules.json and, behind NULs, the configurations of two of its folders and
// a Router's, sentence-transformers' two others, and Stanford's metadata.
void RunModules(std::string_view bytes) {
  constexpr int kSize = 4;
  static const TemporaryFolder* const folder = [] {
    auto* const made = new TemporaryFolder;
    for (const char* name : {"/1_Pooling", "/2_Dense"}) {
      std::filesystem::create_directory(made->path() + name);
    }
    return made;
  }();
  for (const char* name :
       {"modules.json", "1_Pooling/config.json", "2_Dense/config.json",
        "router_config.json", "sentence_bert_config.json",
        "config_sentence_transformers.json", "artifact.metadata"}) {
    const std::string_view part = bytes.substr(0, bytes.find('\0'));
    folder->Write(name, part.empty() ? "{}" : part);
    bytes.remove_prefix(std::min(bytes.size(), part.size() + 1));
  }
  MultiVectors::Settings settings;
  std::map<std::string, std::string> prompts;
  if (ReadStanford(folder->path(), &settings, &prompts).ok()) {
    Ensure(settings.expansion->length > 0, "queries have a length");
  }
  const auto encoder = SentenceEncoder::Load(folder->path(), kSize);
  if (!encoder.ok()) return;
  encoder->Reads({});
  if (!encoder->has_multi_vector()) return;
  const MultiVectors& multi = *encoder->multi_vectors();
  EncoderInput input;
  input.ids = {2, 5, 3};
  multi.Expand(16, &input);
  const std::vector<float> states(kSize * input.ids.size(), 0.5f);
  const auto rows =
      multi.Rows(states, input.ids, TextKind::kQuery, input.unattended);
  Ensure(rows.ok() && rows->rows() <= static_cast<int>(input.ids.size()),
         "a token has at most one row");
}

void RunYaml(std::string_view bytes) {
  const absl::StatusOr<nlohmann::json> value = ParseYaml(bytes, kConfigJson);
  if (value.ok())
    value->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

void UseTokenizer(const Tokenizer& tokenizer) {
  constexpr std::string_view kText =
      "Hi  aaaab <mask> [M] \xC3\xA4\xE2\x96\x81_ab!\n\xEF\xB7\xBA";
  for (const TextSide side : {TextSide::kSource, TextSide::kTarget}) {
    EncodeOptions options;
    options.side = side;
    const auto tokens = tokenizer.Tokenize(kText, options);
    if (!tokens.ok()) continue;
    const auto encoding = tokenizer.Encode(kText, options);
    Ensure(encoding.ok() && encoding->ids.size() == tokens->size(),
           "Encode and Tokenize agree");
    for (const Token& token : *tokens) {
      Ensure(0 <= token.byte_begin && token.byte_begin <= token.byte_end &&
                 token.byte_end <= static_cast<int>(kText.size()),
             "a token is a part of its text");
    }
    std::vector<int32_t> ids = encoding->ids;
    Ensure(tokenizer.vocabulary_size(side) >= 0, "sizes are not negative");
    ids.resize(ids.size() + 50);
    std::iota(ids.end() - 50, ids.end(), -2);
    const std::string whole = tokenizer.Decode(ids);
    const auto decoder = tokenizer.NewStreamingDecoder();
    std::string streamed;
    for (const int32_t id : ids) streamed += decoder->Push(id);
    streamed += decoder->Finish();
    Ensure(streamed == whole, "what is streamed is what is decoded");
  }
}

// A folder whose files are the parts of `bytes` between NULs; without those
// that no bytes are left for.
void UseFolder(std::initializer_list<const char*> names,
               std::string_view bytes) {
  static const TemporaryFolder* const folder = new TemporaryFolder;
  for (const char* name : names) {
    if (bytes.empty()) break;
    const std::string_view part = bytes.substr(0, bytes.find('\0'));
    folder->Write(name, part);
    bytes.remove_prefix(std::min(bytes.size(), part.size() + 1));
  }
  const auto tokenizer = LoadTokenizer(folder->path());
  if (tokenizer.ok() && *tokenizer != nullptr) UseTokenizer(**tokenizer);
  for (const char* name : names) folder->Remove(name);
}

void RunTokenizerJson(std::string_view bytes) {
  UseFolder({"tokenizer.json", "tokenizer_config.json"}, bytes);
}
void RunWordPiece(std::string_view bytes) {
  UseFolder({"vocab.txt", "tokenizer_config.json"}, bytes);
}
void RunByteLevel(std::string_view bytes) {
  UseFolder({"vocab.json", "merges.txt", "added_tokens.json"}, bytes);
}

void RunSentencePiece(std::string_view bytes) {
  std::string error;
  const auto model = SentencePieceModel::Parse(bytes, &error);
  Ensure((model == nullptr) == !error.empty(), "an error has words");
  if (model == nullptr) return;
  const std::string text = "ab a\xEF\xB7\xBA  b\xCC\x81\xCC\x81 z";
  for (const SentencePieceModel::Piece& piece : model->Encode(text)) {
    Ensure(piece.begin <= piece.end && piece.end <= text.size(),
           "a piece is a part of its text");
  }
}

// A template, a NUL, and the messages.
void RunChatTemplate(std::string_view bytes) {
  const std::string_view source = bytes.substr(0, bytes.find('\0'));
  bytes.remove_prefix(std::min(bytes.size(), source.size() + 1));
  const auto chat = ChatTemplate::Parse(source, {{"bos_token", "<s>"}});
  if (!chat.ok()) return;
  const auto prompt = chat->Render({.messages = bytes});
  if (!prompt.ok()) return;
  for (const PromptText& prompt_text : *prompt) {
    Ensure(!prompt_text.text.empty(), "no text is empty");
  }
}

// Small bounds, so that a fuzzer sees them often.
constexpr GrammarLimits kFuzzedGrammar = {.text_bytes = 64 << 10,
                                          .expressions = 20'000,
                                          .positions = 20'000,
                                          .edges = 100'000,
                                          .work = 1'000'000};

// Writes a text that the grammar allows, and checks each mask with Advance.
void UseGrammar(const absl::StatusOr<Grammar>& grammar) {
  if (!grammar.ok()) {
    Ensure(!grammar.status().message().empty(), "a refusal has words");
    return;
  }
  auto automaton = Automaton::Create(*grammar);
  if (!automaton.ok()) return;
  std::vector<std::string> tokens = {""};
  for (int byte = 0; byte < 256; ++byte) {
    tokens.push_back(std::string(1, static_cast<char>(byte)));
  }
  for (const char* text : {"\"", "{\"", "\":", "ab", "12", "null", "}]"}) {
    tokens.push_back(text);
  }
  const auto trie =
      std::make_shared<TokenTrie>(tokens, std::vector<int32_t>{0});
  Constraint::Limits limits;
  limits.request_bytes = 1 << 20;
  limits.position_bytes = 1 << 20;
  ConstraintMatcher matcher(
      std::make_shared<Constraint>(*std::move(automaton), trie, limits));
  ConstraintMatcher::State state = matcher.Start();
  for (int step = 0; step < 12; ++step) {
    const auto mask = matcher.Mask(state);
    if (!matcher.status().ok()) return;
    Ensure(!mask->Empty(), "every state can be completed");
    std::vector<int32_t> allowed;
    for (int32_t token = 0; token < static_cast<int32_t>(tokens.size());
         ++token) {
      const bool may = matcher.Advance(state, token).ok();
      if (!matcher.status().ok()) return;
      Ensure(mask->Has(token) == may, "a mask has what may follow");
      if (may) allowed.push_back(token);
    }
    const int32_t token = allowed[static_cast<size_t>(step) % allowed.size()];
    if (token == 0) return;
    state = *matcher.Advance(state, token);
  }
}

void RunJsonSchema(std::string_view bytes) {
  JsonSchemaOptions options;
  options.any_order = bytes.size() % 2 != 0;
  UseGrammar(GrammarOfJsonSchema(bytes, options, kFuzzedGrammar));
}
void RunRegex(std::string_view bytes) {
  UseGrammar(GrammarOfRegex(bytes, kFuzzedGrammar));
}
// A hub's list of files, an index of weights, and an address to go to.
void RunHubListing(std::string_view bytes) {
  const Url base = {"https", "hub.test", 443, ""};
  if (const auto url = ResolveLocation(base, bytes); url.ok()) {
    Ensure(ParseUrl(url->Origin() + url->target).ok(), "an address is one");
  }
  const absl::StatusOr<HubListing> listing = ParseListing(bytes);
  if (!listing.ok()) return;
  for (const HubFile& file : listing->files) {
    Ensure(IsSafePath(file.path) && !file.path.starts_with("/"),
           "a file stays in its folder");
    Ensure(file.size >= 0 && IsHash(file.blob, file.lfs ? 64 : 40),
           "a file has a size and a hash");
  }
  const HubName name = {"test/fuzz"};
  const auto choice = ChooseFiles(name, listing->files);
  if (choice.ok() && choice->index) {
    ReadShards(name, *choice->index, bytes, listing->files).IgnoreError();
  }
}

void RunGbnf(std::string_view bytes) {
  UseGrammar(GrammarOfGbnf(bytes, kFuzzedGrammar));
}

}  // namespace

std::span<const FuzzTarget> ModelTargets() {
  static constexpr FuzzTarget kTargets[] = {
      {"safetensors", RunSafetensors},
      {"torch_zip", RunTorchZip},
      {"npz", RunNpz},
      {"marian_bin", RunMarianBin},
      {"torch_legacy", RunTorchLegacy},
      {"gguf", RunGguf},
      {"quantized", RunQuantized},
      {"lexical_shortlist", RunLexicalShortlist},
      {"pickle", RunPickle},
      {"config", RunConfig},
      {"generation_config", RunGenerationConfig},
      {"modules", RunModules},
      {"yaml", RunYaml},
      {"tokenizer_json", RunTokenizerJson},
      {"wordpiece", RunWordPiece},
      {"byte_level", RunByteLevel},
      {"sentencepiece", RunSentencePiece},
      {"chat_template", RunChatTemplate},
      {"json_schema", RunJsonSchema},
      {"regex", RunRegex},
      {"gbnf", RunGbnf},
      {"hub_listing", RunHubListing},
  };
  return kTargets;
}

}  // namespace trivium
