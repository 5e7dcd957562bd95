#include "model/transformer/heads.h"

#include <algorithm>

#include "base/status.h"

namespace trivium {

absl::StatusOr<Pooler> Pooler::Create(const PoolerDescription& description) {
  Pooler pooler;
  TRIVIUM_ASSIGN_OR_RETURN(
      pooler.dense,
      Linear::Create(kF32Formats, std::span(&description.dense, 1)));
  pooler.activation = description.activation;
  return pooler;
}

absl::StatusOr<Head> Head::Create(const HeadDescription& description,
                                  float norm_epsilon, const Formats& formats,
                                  Packing* packing) {
  Head head;
  head.kind = description.kind;
  head.input = description.input;
  head.padding_id = description.padding_id;
  head.end_id = description.end_id;
  head.sparse = description.sparse;
  if (description.dense.has_value()) {
    TRIVIUM_ASSIGN_OR_RETURN(
        head.dense,
        Linear::Create(kF32Formats, std::span(&*description.dense, 1)));
  }
  head.activation = description.activation;
  if (description.norm.has_value()) {
    head.norm = Norm::Create(*description.norm, norm_epsilon);
  }
  const bool fills = head.kind == HeadKind::kFillMask;
  const Formats output_formats = fills ? formats : kF32Formats;
  head.output_operands = output_formats.operands;
  head.outputs = static_cast<int>(description.output.weight->shape[0]);
  const auto parts = std::span(&description.output, 1);
  for (int begin = 0; begin < head.outputs; begin += kOutputBlock) {
    const int count = std::min(kOutputBlock, head.outputs - begin);
    TRIVIUM_ASSIGN_OR_RETURN(
        Linear block,
        fills ? packing->MakeLinear(output_formats, parts, begin, count)
              : Linear::Create(output_formats, parts, begin, count));
    head.output_blocks.push_back(std::move(block));
  }
  return head;
}

}  // namespace trivium
