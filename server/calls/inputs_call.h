#ifndef TRIVIUM_SERVER_CALLS_INPUTS_CALL_H_
#define TRIVIUM_SERVER_CALLS_INPUTS_CALL_H_

#include <string>
#include <vector>

#include "base/status.h"
#include "server/calls/convert/input_fields.h"
#include "server/calls/unary.h"

namespace trivium {

// A unary call of an encoder's head whose message has `inputs`, `truncate` and
// `truncation_direction` (Classify, ClassifyTokens, FillMask). Each input
// becomes a request, and its result one of the response's `results`.
template <typename RequestMessage, typename ResponseMessage>
class InputsCall : public UnaryCall {
 public:
  using UnaryCall::UnaryCall;

 protected:
  // Sets in `request` which outputs the call needs of the encoded input i,
  // after checking the input.
  virtual absl::Status Want(int i, const PreparedInput& input,
                            Request* request) = 0;

  // Parses the message and finds its model.
  absl::Status OpenRequest() {
    TRIVIUM_RETURN_IF_ERROR(call().Open(transport(), &request_));
    options_.model = &model();
    options_.limits = &environment().limits;
    options_.check_alive = call().alive_check();
    return ConvertTruncation(request_, "", environment(), call().model(),
                             &options_);
  }
  // Finds the message's inputs, after the other fields were checked.
  absl::Status OpenInputs() {
    TRIVIUM_ASSIGN_OR_RETURN(messages_,
                             ReadInputs(request_, environment().limits));
    return absl::OkStatus();
  }

  int parts() const final { return static_cast<int>(messages_.size()); }
  int64_t TextBytes(int part) const override {
    return trivium::TextBytes(*messages_[part]);
  }
  absl::Status Prepare(int part, std::vector<Request>* requests) override {
    TRIVIUM_ASSIGN_OR_RETURN(
        PreparedInput input,
        ConvertInput(*messages_[part], FieldOf(part), options_));
    Request& request = requests->emplace_back();
    request.source = input.source;
    TRIVIUM_RETURN_IF_ERROR(Want(part, input, &request));
    inputs_.push_back(std::move(input));
    return absl::OkStatus();
  }

  // Adds the result of input i, with the fields about the input filled in.
  auto* AddResultOf(int i) { return AddResult(inputs_[i], &response_); }
  // Adds an input that Prepare made in another way.
  void AddInput(PreparedInput input) { inputs_.push_back(std::move(input)); }
  const google::protobuf::Message& Response() final {
    return WithTimings(&response_);
  }

  const RequestMessage& request() const { return request_; }
  InputOptions& options() { return options_; }
  const v1::Input& message(int i) const { return *messages_[i]; }
  const PreparedInput& input(int i) const { return inputs_[i]; }

 private:
  RequestMessage request_;
  ResponseMessage response_;
  InputOptions options_;
  Elements<v1::Input> messages_;  // the request's inputs
  std::vector<PreparedInput> inputs_;
};

}  // namespace trivium

#endif  // TRIVIUM_SERVER_CALLS_INPUTS_CALL_H_
