// Parameter structs of the kernels: the same bytes on the host and in every front end. Only 4- and
// 8-byte members, ordered so that there is no padding. Sizes and strides are in elements.
#pragma once

#include "gpu/dialect/types.hpp"
#include "gpu/kernels/attention_params.hpp"
#include "gpu/kernels/copy_params.hpp"
#include "gpu/kernels/elementwise_params.hpp"
#include "gpu/kernels/index_params.hpp"
#include "gpu/kernels/pool_params.hpp"
#include "gpu/kernels/rows_params.hpp"
