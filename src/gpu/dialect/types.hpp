// Scalar types of the kernel dialect, the same bytes in every front end: CUDA, Metal (MSL), the
// lint (OpenCL C++) and the host.
#pragma once

#if defined(__METAL_VERSION__) || defined(__OPENCL_CPP_VERSION__)
namespace tk {
typedef char tk_i8;
typedef uchar tk_u8;
typedef short tk_i16;
typedef ushort tk_u16;
typedef int tk_i32;
typedef uint tk_u32;
typedef long tk_i64;
typedef ulong tk_u64;
}  // namespace tk
#else
namespace tk {
typedef signed char tk_i8;
typedef unsigned char tk_u8;
typedef short tk_i16;
typedef unsigned short tk_u16;
typedef int tk_i32;
typedef unsigned int tk_u32;
typedef long long tk_i64;
typedef unsigned long long tk_u64;
}  // namespace tk
#endif

// The functions of one float that every front end takes from its library under the name tk_…: those
// that Metal has in a precise and a fast form, and those that it has in one.
#define TK_EACH_LIBRARY_FUNCTION(F)                                                            \
  F(exp)                                                                                       \
  F(log) F(tanh) F(sqrt) F(sin) F(cos) F(tan) F(asin) F(acos) F(atan) F(sinh) F(cosh) F(asinh) \
      F(acosh) F(atanh)
#define TK_EACH_ROUNDING(F) F(floor) F(ceil) F(rint) F(trunc)

namespace tk {

// A divisor prepared on the host (see make_divisor) for tk_div: exact for dividends below 2^31.
struct tk_divisor {
  tk_u32 divisor, multiplier, shift;
};

// Where a kernel says that it met an index out of range. Zero before the launch.
struct tk_status {
  tk_u32 met, unused;
  tk_i64 index, limit;
};

}  // namespace tk
