// The raw form of tensors is little-endian, like the machines that this runs
// on.
#include "server/adapters/kserve/tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "base/utf8.h"
#include "server/errors/status.h"

namespace trivium {
namespace {

using inference::ModelInferRequest;
using Input = ModelInferRequest::InferInputTensor;

static_assert(std::endian::native == std::endian::little);

constexpr char kInput[] = "text";

// Returns n of a shape [n] or [n, 1], in 1 .. `most`.
absl::StatusOr<int> CountOf(const Input& input, int most) {
  const auto& shape = input.shape();
  const bool flat =
      shape.size() == 1 || (shape.size() == 2 && shape.Get(1) == 1);
  if (!flat) {
    return InvalidField(
        "inputs[0].shape",
        fmt::format("has {} dimensions; it is [n] or [n, 1]", shape.size()));
  }
  if (shape.Get(0) < 1 || shape.Get(0) > most) {
    return InvalidField(
        "inputs[0].shape",
        fmt::format("says {} texts; send 1 to {}", shape.Get(0), most));
  }
  return static_cast<int>(shape.Get(0));
}

absl::Status CheckInput(const ModelInferRequest& request) {
  if (request.inputs_size() != 1 || request.inputs(0).name() != kInput) {
    return InvalidField("inputs",
                        fmt::format("must be one tensor named \"{}\"", kInput));
  }
  const Input& input = request.inputs(0);
  if (input.datatype() != "BYTES") {
    return InvalidField(
        "inputs[0].datatype",
        fmt::format("is '{}'; texts are BYTES", Shorten(input.datatype())));
  }
  if (!input.parameters().empty()) {
    return InvalidField(
        "inputs[0].parameters",
        fmt::format("has '{}', which is not supported",
                    Shorten(input.parameters().begin()->first)));
  }
  if (request.raw_input_contents().empty()) return absl::OkStatus();
  if (request.raw_input_contents_size() != 1) {
    return InvalidField("raw_input_contents",
                        "must be one element, as there is one input");
  }
  if (input.has_contents()) {
    return InvalidField("inputs[0].contents",
                        "is there beside raw_input_contents; send one of them");
  }
  return absl::OkStatus();
}

// Moves the first element of a raw form to `elements`. False if there is no
// whole one.
bool TakeElement(std::string_view* raw, std::vector<std::string>* elements) {
  uint32_t size = 0;
  if (raw->size() < sizeof(size)) return false;
  std::memcpy(&size, raw->data(), sizeof(size));
  if (raw->size() - sizeof(size) < size) return false;
  elements->emplace_back(raw->substr(sizeof(size), size));
  raw->remove_prefix(sizeof(size) + size);
  return true;
}

absl::StatusOr<std::vector<std::string>> SplitRaw(std::string_view raw,
                                                  int count) {
  std::vector<std::string> texts;
  while (!raw.empty() && static_cast<int>(texts.size()) < count) {
    if (!TakeElement(&raw, &texts)) {
      return InvalidField("raw_input_contents[0]",
                          fmt::format("ends within element {}", texts.size()));
    }
  }
  if (static_cast<int>(texts.size()) != count || !raw.empty()) {
    return InvalidField("raw_input_contents[0]",
                        fmt::format("has {} elements; the shape says {}",
                                    raw.empty() ? "fewer" : "more", count));
  }
  return texts;
}

absl::StatusOr<std::vector<std::string>> TakeContents(Input* input, int count) {
  auto& contents = *input->mutable_contents()->mutable_bytes_contents();
  if (contents.size() != count) {
    return InvalidField("inputs[0].contents.bytes_contents",
                        fmt::format("has {} elements; the shape says {}",
                                    contents.size(), count));
  }
  std::vector<std::string> texts;
  for (std::string& text : contents) texts.push_back(std::move(text));
  return texts;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> TakeTexts(ModelInferRequest* request,
                                                   int max_texts) {
  TRIVIUM_RETURN_IF_ERROR(CheckInput(*request));
  Input* const input = request->mutable_inputs(0);
  TRIVIUM_ASSIGN_OR_RETURN(const int count, CountOf(*input, max_texts));
  TRIVIUM_ASSIGN_OR_RETURN(
      std::vector<std::string> texts,
      request->raw_input_contents().empty()
          ? TakeContents(input, count)
          : SplitRaw(request->raw_input_contents(0), count));
  // Frees the raw bytes, but leaves the empty elements: that there are some
  // says how to answer.
  for (std::string& raw : *request->mutable_raw_input_contents()) {
    std::string().swap(raw);
  }
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!IsUtf8(texts[i])) {
      return InvalidField("inputs[0]",
                          fmt::format("element {} is not UTF-8", i));
    }
  }
  return texts;
}

absl::Status CheckOutputs(const ModelInferRequest& request,
                          std::span<const TensorInfo> outputs) {
  for (int i = 0; i < request.outputs_size(); ++i) {
    const auto& wanted = request.outputs(i);
    const std::string field = fmt::format("outputs[{}]", i);
    if (std::none_of(outputs.begin(), outputs.end(),
                     [&wanted](const TensorInfo& output) {
                       return wanted.name() == output.name;
                     })) {
      std::vector<std::string_view> names;
      for (const TensorInfo& output : outputs) names.push_back(output.name);
      return InvalidField(
          field + ".name",
          fmt::format("'{}' is not among the model's outputs: {}",
                      Shorten(wanted.name()), fmt::join(names, ", ")));
    }
    if (!wanted.parameters().empty()) {
      return InvalidField(
          field + ".parameters",
          fmt::format("has '{}', which is not supported",
                      Shorten(wanted.parameters().begin()->first)));
    }
  }
  return absl::OkStatus();
}

inference::ModelInferResponse::InferOutputTensor* OutputTensors::New(
    const char* name, const char* datatype, const std::vector<int64_t>& shape) {
  const auto& wanted = request_.outputs();
  if (!wanted.empty() &&
      std::none_of(wanted.begin(), wanted.end(),
                   [name](const auto& one) { return one.name() == name; })) {
    return nullptr;
  }
  auto* const tensor = response_->add_outputs();
  tensor->set_name(name);
  tensor->set_datatype(datatype);
  tensor->mutable_shape()->Add(shape.begin(), shape.end());
  return tensor;
}

void OutputTensors::Add(const char* name, const std::vector<int64_t>& shape,
                        std::span<const float> values) {
  auto* const tensor = New(name, "FP32", shape);
  if (tensor == nullptr) return;
  if (request_.raw_input_contents().empty()) {
    tensor->mutable_contents()->mutable_fp32_contents()->Add(values.begin(),
                                                             values.end());
  } else {
    response_->add_raw_output_contents(values.data(), values.size_bytes());
  }
}

void OutputTensors::Add(const char* name, const std::vector<int64_t>& shape,
                        std::span<const std::string> values) {
  auto* const tensor = New(name, "BYTES", shape);
  if (tensor == nullptr) return;
  if (request_.raw_input_contents().empty()) {
    for (const std::string& value : values) {
      tensor->mutable_contents()->add_bytes_contents(value);
    }
    return;
  }
  response_->add_raw_output_contents(JoinElements(values));
}

std::string JoinElements(std::span<const std::string> elements) {
  std::string raw;
  for (const std::string& element : elements) {
    const auto size = static_cast<uint32_t>(element.size());
    raw.append(reinterpret_cast<const char*>(&size), sizeof(size));
    raw.append(element);
  }
  return raw;
}

std::vector<std::string> SplitElements(std::string_view raw) {
  std::vector<std::string> elements;
  while (TakeElement(&raw, &elements)) continue;
  return elements;
}

std::string RawOf(
    const inference::ModelInferResponse::InferOutputTensor& output) {
  const auto& contents = output.contents();
  if (output.datatype() == "BYTES") {
    return JoinElements(std::vector<std::string>(
        contents.bytes_contents().begin(), contents.bytes_contents().end()));
  }
  return {reinterpret_cast<const char*>(contents.fp32_contents().data()),
          contents.fp32_contents().size() * sizeof(float)};
}

}  // namespace trivium
