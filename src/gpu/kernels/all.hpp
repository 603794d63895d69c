// The bodies of every kernel of list.inc.
#pragma once

#include "gpu/kernels/copy.hpp"
#include "gpu/kernels/elementwise.hpp"
#include "gpu/kernels/pool.hpp"
#include "gpu/kernels/reduce.hpp"
#include "gpu/kernels/softmax.hpp"
#include "gpu/kernels/norm.hpp"
#include "gpu/kernels/cumulative.hpp"
#include "gpu/kernels/gather.hpp"
#include "gpu/kernels/resize.hpp"
#include "gpu/kernels/conv_direct.hpp"
#include "gpu/kernels/conv_gemm.hpp"
#include "gpu/kernels/depthwise_ring.hpp"
#include "gpu/kernels/gemm.hpp"
#include "gpu/kernels/block.hpp"
#include "gpu/kernels/attention_few.hpp"
