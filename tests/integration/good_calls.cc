#include "tests/integration/good_calls.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "kserve/open_inference.pb.h"
#include "nlohmann/json.hpp"
#include "trivium/v1/inference.pb.h"
#include "trivium/v1/models.pb.h"

namespace trivium {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void MakeFolder(const std::string& golden, const fs::path& folder) {
  fs::create_directory(folder);
  const fs::path from = fs::path("tests/golden") / golden;
  for (const char* file : {"config.json", "model.safetensors"}) {
    fs::copy_file(from / file, folder / file);
  }
  std::ofstream vocabulary(folder / "vocab.txt");
  vocabulary << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n.\n";
  for (char c = 'a'; c <= 'z'; ++c) vocabulary << c << "\n##" << c << "\n";
  // The vocabulary is as large as the models' embeddings.
  for (int i = 6 + 2 * 26; i < 307; ++i) vocabulary << "[unused" << i << "]\n";
}

// Makes a model of "bert.classify" that has only its last label, so that it can
// rank documents.
void KeepLastLabel(const fs::path& folder) {
  const std::string file = (folder / "model.safetensors").string();
  std::string bytes;
  {
    std::ifstream in(file, std::ios::binary);
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  // safetensors: the header's length, the header, the tensors.
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  const auto header = json::parse(bytes.substr(sizeof(length), length));
  const std::string data = bytes.substr(sizeof(length) + length);
  json kept = json::object();
  std::string out;
  for (const auto& [name, about] : header.items()) {
    if (name == "__metadata__") continue;
    size_t begin = about["data_offsets"][0], end = about["data_offsets"][1];
    json shape = about["shape"];
    if (name.starts_with("classifier.")) {
      begin = end - (end - begin) / shape[0].get<size_t>();
      shape[0] = 1;
    }
    const size_t at = out.size();
    out += data.substr(begin, end - begin);
    kept[name] = {{"dtype", about["dtype"]},
                  {"shape", shape},
                  {"data_offsets", {at, out.size()}}};
  }
  const std::string text = kept.dump();
  length = text.size();
  std::ofstream(file, std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&length), sizeof(length))
      << text << out;
  std::ifstream in(folder / "config.json");
  json config = json::parse(in);
  config["id2label"] = {{"0", "fits"}};
  config["label2id"] = {{"fits", 0}};
  std::ofstream(folder / "config.json") << config.dump();
}

template <typename Request>
GoodCall Good(const std::string& method, Request request) {
  return {method, {std::make_shared<Request>(std::move(request))}};
}

}  // namespace

std::vector<GoodCall> GoodCalls() {
  const std::string service = "/trivium.v1.Inference/";
  const std::string models = "/trivium.v1.Models/";
  std::vector<GoodCall> calls;
  v1::EncodeRequest encode;
  encode.set_model("en-de");
  encode.add_inputs()->set_text("Hi.");
  encode.mutable_attention()->add_heads(1);
  encode.set_pooling(v1::POOLING_MEAN);
  encode.add_chunks()->add_spans()->set_end(3);
  calls.push_back(Good(service + "Encode", encode));
  v1::TranslateRequest translate;
  translate.set_model("en-de");
  translate.add_inputs()->set_text("Hi.");
  translate.mutable_options()->mutable_decoding()->set_max_new_tokens(2);
  translate.mutable_options()->mutable_decoding()->set_beam_size(2);
  calls.push_back(Good(service + "Translate", translate));
  v1::GenerateRequest generate;
  generate.set_model("en-de");
  generate.mutable_input()->set_text("Hi.");
  generate.mutable_decoding()->set_max_new_tokens(2);
  calls.push_back(Good(service + "Generate", generate));
  v1::ScoreRequest score;
  score.set_model("en-de");
  score.add_inputs()->set_text("The house is big.");
  score.mutable_inputs(0)->set_target("Das Haus ist groß.");
  calls.push_back(Good(service + "Score", score));
  v1::TranslateStreamRequest start, item;
  start.mutable_start()->set_model("en-de");
  *start.mutable_start()->mutable_options() = translate.options();
  item.mutable_item()->set_id("7");
  *item.mutable_item()->mutable_input() = translate.inputs(0);
  calls.push_back(Good(kTranslateStream, start));
  calls.back().messages.push_back(
      std::make_shared<v1::TranslateStreamRequest>(item));
  v1::TranslateDocumentRequest document, data;
  document.mutable_start()->set_model("en-de");
  document.mutable_start()->set_format("html");
  data.set_data("<p>The house is <b>big</b>.</p>");
  calls.push_back(Good(service + "TranslateDocument", document));
  calls.back().messages.push_back(
      std::make_shared<v1::TranslateDocumentRequest>(data));
  v1::EncodeStreamRequest encode_start, encode_item;
  *encode_start.mutable_start() = encode;
  encode_start.mutable_start()->clear_inputs();
  encode_start.mutable_start()->clear_chunks();
  encode_start.mutable_start()->set_dimensions(3);
  encode_item.mutable_item()->set_id("7");
  *encode_item.mutable_item()->mutable_input() = encode.inputs(0);
  *encode_item.mutable_item()->mutable_chunks() = encode.chunks(0);
  calls.push_back(Good(service + "EncodeStream", encode_start));
  calls.back().messages.push_back(
      std::make_shared<v1::EncodeStreamRequest>(encode_item));
  v1::DetokenizeRequest detokenize;
  detokenize.set_model("en-de");
  detokenize.add_inputs()->add_ids(5);
  calls.push_back(Good(service + "Detokenize", detokenize));
  v1::TokenizeRequest tokenize;
  tokenize.set_model("en-de");
  tokenize.add_texts("Hi.");
  calls.push_back(Good(service + "Tokenize", tokenize));
  v1::ClassifyRequest classify;
  classify.set_model("bert.classify");
  classify.add_inputs()->set_text("ab c.");
  classify.add_inputs()->mutable_pair()->set_first("ab");
  classify.mutable_inputs(1)->mutable_pair()->set_second("c");
  classify.set_top(2);
  calls.push_back(Good(service + "Classify", classify));
  v1::RerankRequest rerank;
  rerank.set_model("bert.rank");
  rerank.set_query("ab");
  rerank.add_documents("c d");
  rerank.add_documents("e");
  rerank.set_top(1);
  rerank.set_return_text(true);
  calls.push_back(Good(service + "Rerank", rerank));
  v1::SimilarityRequest similarity;
  similarity.set_model("bert.rank");
  similarity.mutable_first()->add_inputs()->set_text("ab");
  similarity.mutable_first()->set_prompt("c ");
  similarity.mutable_second()->add_inputs()->set_text("c d");
  similarity.mutable_second()->add_inputs()->set_text("e");
  similarity.set_function(v1::SIMILARITY_FUNCTION_EUCLIDEAN);
  similarity.set_dimensions(3);
  calls.push_back(Good(service + "Similarity", similarity));
  v1::ClassifyTokensRequest tag;
  tag.set_model("bert.tag");
  tag.add_inputs()->set_text("ab c.");
  tag.set_aggregation(v1::AGGREGATION_AVERAGE);
  tag.add_ignore("O");
  calls.push_back(Good(service + "ClassifyTokens", tag));
  v1::FillMaskRequest fill;
  fill.set_model("bert.fill_mask");
  fill.add_inputs()->set_text("ab [MASK].");
  fill.set_top(3);
  calls.push_back(Good(service + "FillMask", fill));
  v1::AnswerRequest answer;
  answer.set_model("bert.answer");
  answer.add_inputs()->set_question("ab");
  answer.mutable_inputs(0)->set_context("c d e");
  answer.set_top(2);
  answer.set_max_answer_tokens(3);
  answer.set_overlap(2);
  calls.push_back(Good(service + "Answer", answer));
  calls.push_back(Good(models + "ListModels", v1::ListModelsRequest()));
  v1::GetModelRequest get;
  get.set_name("en-de");
  calls.push_back(Good(models + "GetModel", get));
  v1::LoadModelRequest load;
  load.set_folder("bert.tag");
  load.set_name("loaded");
  load.set_precision(v1::PRECISION_F32);
  calls.push_back(Good(models + "LoadModel", load));
  v1::ReloadModelRequest reload;
  reload.set_name("loaded");
  calls.push_back(Good(models + "ReloadModel", reload));
  v1::UnloadModelRequest unload;
  unload.set_name("loaded");
  calls.push_back(Good(models + "UnloadModel", unload));
  inference::ModelInferRequest infer;
  infer.set_model_name("bert.classify");
  infer.add_inputs()->set_name("text");
  infer.mutable_inputs(0)->set_datatype("BYTES");
  infer.mutable_inputs(0)->add_shape(2);
  infer.add_raw_input_contents(std::string("\1\0\0\0a\2\0\0\0bc", 11));
  (*infer.mutable_parameters())["top"].set_int64_param(1);
  infer.add_outputs()->set_name("label");
  calls.push_back(Good("/inference.GRPCInferenceService/ModelInfer", infer));
  return calls;
}

std::vector<std::string> HeadModels(const std::string& folder) {
  std::vector<std::string> flags;
  for (const char* golden :
       {"bert.classify", "bert.tag", "bert.fill_mask", "bert.answer"}) {
    const fs::path of_model = fs::path(folder) / golden;
    MakeFolder(golden, of_model);
    flags.insert(flags.end(), {"--model", golden + ("=" + of_model.string())});
  }
  const fs::path ranks = fs::path(folder) / "bert.rank";
  MakeFolder("bert.classify", ranks);
  KeepLastLabel(ranks);
  flags.insert(flags.end(), {"--model", "bert.rank=" + ranks.string()});
  return flags;
}

}  // namespace trivium
