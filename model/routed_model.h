#ifndef TRIVIUM_MODEL_ROUTED_MODEL_H_
#define TRIVIUM_MODEL_ROUTED_MODEL_H_

#include <memory>
#include <vector>

#include "model/model.h"

namespace trivium {

// Returns the models of a Router's lists as one (Model::ReaderOf). The first
// one reads texts that are neither queries nor documents; `query` and
// `document` are indices. They have no decoder.
std::unique_ptr<Model> NewRoutedModel(
    std::vector<std::unique_ptr<Model>> models, int query, int document);

}  // namespace trivium

#endif  // TRIVIUM_MODEL_ROUTED_MODEL_H_
