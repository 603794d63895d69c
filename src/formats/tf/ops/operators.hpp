// Every import function of table.inc.
#pragma once

#include "formats/tf/importer.hpp"

namespace treadle::tf {

template <ops::UnaryFn Fn>
std::vector<ValueId> import_unary(NodeContext& c) {
  return {c.add1(
      make_op<ops::Unary>(Fn, Fn == ops::UnaryFn::IsInf ? 1 : 0, Fn == ops::UnaryFn::IsInf ? 1 : 0),
      {c.in(0)})};
}

template <ops::BinaryFn Fn>
std::vector<ValueId> import_binary(NodeContext& c) {
  return {ops::binary(c.graph(), c.fresh_name(), Fn, c.in(0), c.in(1))};
}

// Reduction over the axes that input 1 names.
std::vector<ValueId> reduce_over(NodeContext& c, ops::ReduceFn fn);

template <ops::ReduceFn Fn>
std::vector<ValueId> import_reduce(NodeContext& c) {
  return reduce_over(c, Fn);
}

#define TREADLE_TF_FUNCTIONS(X)                                                                                                     \
  X(import_const)                                                                                                                   \
  X(import_identity)                                                                                                                \
  X(import_cast) X(import_shape) X(import_rank) X(import_size) X(import_fill) X(import_zeros_like) X(                               \
      import_ones_like) X(import_range) X(import_relu6) X(import_leaky_relu) X(import_elu) X(import_selu)                           \
      X(import_log1p) X(import_expm1) X(import_add_n) X(import_bias_add) X(import_matmul) X(                                        \
          import_batch_matmul) X(import_softmax) X(import_log_softmax) X(import_select) X(import_clip)                              \
          X(import_arg_max) X(import_arg_min) X(import_reshape) X(import_expand_dims) X(import_squeeze) X(                          \
              import_transpose) X(import_concat) X(import_concat_v2) X(import_pack) X(import_unpack)                                \
              X(import_split) X(import_split_v) X(import_slice) X(import_strided_slice) X(                                          \
                  import_pad) X(import_mirror_pad) X(import_gather) X(import_tile) X(import_reverse)                                \
                  X(import_one_hot) X(import_conv) X(import_depthwise_conv) X(import_conv_transpose) X(                             \
                      import_max_pool) X(import_avg_pool) X(import_batch_norm) X(import_lrn)                                        \
                      X(import_space_to_batch) X(import_batch_to_space) X(import_space_to_depth) X(                                 \
                          import_depth_to_space) X(import_resize_bilinear) X(import_resize_nearest)                                 \
                          X(import_frame) X(import_call) X(import_while) X(import_function_if) X(                                   \
                              import_case) X(import_tensor_array) X(import_tensor_array_write)                                      \
                              X(import_tensor_array_read) X(import_tensor_array_gather) X(                                          \
                                  import_tensor_array_scatter) X(import_tensor_array_size)                                          \
                                  X(import_tensor_array_concat) X(import_tensor_array_split) X(                                     \
                                      import_list_reserve) X(import_list_empty) X(import_list_from_tensor)                          \
                                      X(import_list_get) X(import_list_set) X(import_list_stack) X(                                 \
                                          import_list_gather) X(import_list_scatter) X(import_list_scatter_into)                    \
                                          X(import_list_length) X(import_list_push) X(                                              \
                                              import_list_concat) X(import_decode_wav) X(import_audio_spectrogram)                  \
                                              X(import_mfcc) X(import_broadcast_to) X(import_identity_n) X(                         \
                                                  import_shape_n) X(import_action) X(import_random_uniform) X(import_random_normal) \
                                                  X(import_random_uniform_int) X(import_gather_nd) X(                               \
                                                      import_top_k) X(import_where)                                                 \
                                                      X(import_cumsum) X(import_cumprod) X(                                         \
                                                          import_scatter_nd) X(import_tensor_scatter) X(import_unravel_index)       \
                                                          X(import_reverse_sequence) X(                                             \
                                                              import_unique) X(import_matrix_band_part)                             \
                                                              X(import_roll) X(import_non_max_suppression) X(                       \
                                                                  import_non_max_suppression_v4)                                    \
                                                                  X(import_non_max_suppression_v5) X(                               \
                                                                      import_crop_and_resize) X(import_is_finite)                   \
                                                                      X(import_erfc) X(import_xlogy) X(                             \
                                                                          import_xdivy) X(import_div_no_nan)                        \
                                                                          X(import_mul_no_nan) X(import_l2_loss) X(                 \
                                                                              import_lin_space) X(import_fake_quant_args)           \
                                                                              X(import_fake_quant_vars) X(                          \
                                                                                  import_unsorted_segment)                          \
                                                                                  X(import_segment) X(                              \
                                                                                      import_lstm_block_cell)                       \
                                                                                      X(import_block_lstm) X(                       \
                                                                                          import_gru_block_cell)                    \
                                                                                          X(import_resize_bicubic)                  \
                                                                                              X(import_einsum)
#define TREADLE_TF_DECLARE(function) std::vector<ValueId> function(NodeContext& c);
TREADLE_TF_FUNCTIONS(TREADLE_TF_DECLARE)
#undef TREADLE_TF_DECLARE
#undef TREADLE_TF_FUNCTIONS

}  // namespace treadle::tf
