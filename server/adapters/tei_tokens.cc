// Tokens of texts and texts of tokens, in TEI's shape.
#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/adapters/json_body.h"
#include "server/adapters/tei.h"
#include "server/adapters/tei_codec.h"

namespace trivium {
namespace {

using google::protobuf::Message;
using nlohmann::json;

class TeiTokenizeCodec : public TeiCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::TokenizeRequest*>(message);
    fields->Require("inputs");
    texts_ = fields->Strings("inputs");
    if (texts_.empty()) FailEmpty(fields, "inputs");
    for (const std::string& text : texts_) request->add_texts(text);
    request->set_add_special_tokens(
        fields->Bool("add_special_tokens").value_or(true));
    fields->Only("prompt_name", {}, "is not supported for /tokenize");
  }

  std::string AnswerOf(const Message& message) const override {
    const auto& response = static_cast<const v1::TokenizeResponse&>(message);
    // Written as text, since values of json take a hundred times a token's
    // bytes.
    std::string text = "[";
    for (int i = 0; i < response.results_size(); ++i) {
      text += i == 0 ? "[" : ",[";
      bool first = true;
      for (const v1::Token& token : response.results(i).tokens()) {
        if (!std::exchange(first, false)) text += ',';
        AddToken(texts_[i], token, &text);
      }
      text += ']';
    }
    return text + "]";
  }

  // A special token that stands in the text, such as [MASK] or [UNK], is a part
  // of the text like any other.
  static void AddToken(std::string_view text, const v1::Token& token,
                       std::string* out) {
    const uint32_t size = token.byte_end() - token.byte_begin();
    const bool added = token.special() && size == 0;
    const std::string piece =
        added ? token.piece()
              : std::string(text.substr(token.byte_begin(), size));
    fmt::format_to(std::back_inserter(*out),
                   R"({{"id":{},"text":{},"special":{})", token.id(),
                   ToJsonText(json(piece)), added);
    if (added) {
      *out += R"(,"start":null,"stop":null})";
    } else {
      fmt::format_to(std::back_inserter(*out), R"(,"start":{},"stop":{}}})",
                     token.byte_begin(), token.byte_end());
    }
  }

  std::vector<std::string> texts_;
};

class TeiDecodeCodec : public TeiCodec {
 private:
  void ReadFields(JsonFields* fields, Message* message) override {
    auto* const request = static_cast<v1::DetokenizeRequest*>(message);
    fields->Only("skip_special_tokens", {true},
                 "is not supported: texts have no special tokens; leave it "
                 "out");
    const json* const ids = fields->Value("ids");
    if (ids == nullptr) return fields->Require("ids");
    if (ids->is_array() && ids->empty()) return FailEmpty(fields, "ids");
    Rename({"inputs", "ids"});
    if (IsIds(*ids)) {
      Rename({"inputs[0].ids", "ids"});
      return AddIds(*ids, request->add_inputs()->mutable_ids());
    }
    if (!ids->is_array()) {
      return fields->Fail("ids", "must be a list of ids or of such lists");
    }
    for (size_t i = 0; i < ids->size(); ++i) {
      if (!IsIds((*ids)[i])) {
        return fields->Fail(fmt::format("ids[{}]", i), "must be a list of ids");
      }
      AddIds((*ids)[i], request->add_inputs()->mutable_ids());
    }
  }

  std::string AnswerOf(const Message& message) const override {
    json texts = json::array();
    for (const std::string& text :
         static_cast<const v1::DetokenizeResponse&>(message).texts()) {
      texts.push_back(text);
    }
    return ToJsonText(texts);
  }
};

}  // namespace

std::unique_ptr<Codec> NewTeiTokenizeCodec(const Environment&,
                                           const RequestHead&) {
  return std::make_unique<TeiTokenizeCodec>();
}
std::unique_ptr<Codec> NewTeiDecodeCodec(const Environment&,
                                         const RequestHead&) {
  return std::make_unique<TeiDecodeCodec>();
}

}  // namespace trivium
