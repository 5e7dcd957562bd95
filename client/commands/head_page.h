#ifndef TRIVIUM_CLIENT_COMMANDS_HEAD_PAGE_H_
#define TRIVIUM_CLIENT_COMMANDS_HEAD_PAGE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/commands/attention_maps.h"
#include "client/commands/npz.h"
#include "trivium/v1/inference.pb.h"

namespace trivium {

// One attention head of a model at work on a text.
struct ExplainedHead {
  std::string model;
  std::string text;
  std::string answer;  // what the decoder wrote, if it is a decoder's head
  AttentionKind kind = AttentionKind::kEncoder;
  uint32_t layer = 0;
  uint32_t head = 0;
  v1::HeadTrace trace;
  // The new tokens, each with the most probable ones in its place.
  std::vector<v1::TokenLogprobs> next;
};

// Returns a self-contained page (client/pages/explain.html) that shows the head
// step by step. Numbers have five digits.
std::string HeadPage(const ExplainedHead& head);

// Adds the trace's numbers, by the names of the API.
void AddArrays(const v1::HeadTrace& trace, NpzWriter* npz);

}  // namespace trivium

#endif  // TRIVIUM_CLIENT_COMMANDS_HEAD_PAGE_H_
