#ifndef TRIVIUM_SERVER_HANDLERS_HEAD_CALL_H_
#define TRIVIUM_SERVER_HANDLERS_HEAD_CALL_H_

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "server/handlers/convert.h"
#include "server/handlers/unary.h"

namespace trivium {

// What the calls to encoders' heads (Classify, Rerank, ClassifyTokens,
// FillMask) share: the model must have such a head, and each input becomes a
// request for its logits.
class HeadCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 protected:
  // Takes the request and finds its model; FAILED_PRECONDITION unless its head
  // is one of `kinds`, told in terms of `rpc`.
  template <typename Message>
  absl::Status OpenHead(Message* request, std::string_view rpc,
                        std::initializer_list<HeadKind> kinds) {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), request));
    return CheckHead(rpc, kinds);
  }
  void set_truncate(bool has, bool value) {
    options_.truncate = has ? value : environment().truncate;
  }

  // Appends the request for the logits of an input at `path`, and what the
  // answer needs of it to inputs().
  absl::Status AddInput(const v1::Input& input, const std::string& path,
                        std::vector<Request>* requests);

  // The same of an input that is converted already.
  void AddPrepared(PreparedInput prepared, std::vector<Request>* requests);

  const InputOptions& options() const { return options_; }
  const HeadInfo& head() const { return *model().info().head; }
  const std::vector<PreparedInput>& inputs() const { return inputs_; }
  // Of the answer to input i.
  uint32_t token_count(size_t i) const {
    return static_cast<uint32_t>(inputs_[i].source.ids.size());
  }

 private:
  absl::Status CheckHead(std::string_view rpc,
                         std::initializer_list<HeadKind> kinds);

  InputOptions options_;
  std::vector<PreparedInput> inputs_;
};

// Logits as scores.
std::vector<float> ToScores(std::span<const float> logits,
                            HeadInfo::Scores scores);

// The places of the `count` largest values, largest first; of equal ones the
// earlier.
std::vector<int> LargestFirst(std::span<const float> values, size_t count);

}  // namespace trivium

#endif  // TRIVIUM_SERVER_HANDLERS_HEAD_CALL_H_
