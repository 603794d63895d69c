// The part of the kernel dialect that is the same in every front end.
#pragma once

namespace tk {

TK_FN float tk_inf() {
  return tk_float(0x7f800000u);
}
TK_FN float tk_nan() {
  return tk_float(0x7fc00000u);
}
TK_FN bool tk_isnan(float v) {
  return v != v;
}
TK_FN float tk_abs(float v) {
  return tk_float(tk_bits(v) & 0x7fffffffu);
}
// A NaN on either side is the result, unlike fmax and fmin.
TK_FN float tk_max(float a, float b) {
  return a > b || a != a ? a : b;
}
TK_FN float tk_min(float a, float b) {
  return a < b || a != a ? a : b;
}
TK_FN int tk_imax(int a, int b) {
  return a > b ? a : b;
}
TK_FN int tk_imin(int a, int b) {
  return a < b ? a : b;
}

// n / d for 0 <= n < 2^31.
TK_FN int tk_div(int n, TK_PARAM tk_divisor& d) {
  return int((tk_mulhi(tk_u32(n), d.multiplier) + tk_u32(n)) >> d.shift);
}
// The quotient; n becomes the remainder.
TK_FN int tk_divmod(TK_LOCAL int& n, TK_PARAM tk_divisor& d) {
  const int q = tk_div(n, d);
  n -= q * int(d.divisor);
  return q;
}

// exp(v) - 1 and log(1 + v), accurate near 0 (Kahan's correction by the error of the rounding).
TK_FN float tk_expm1(float v) {
  const float u = tk_exp(v);
  if (u == 1.0f) return v;
  if (!(tk_abs(v) < 1.0f)) return u - 1.0f;
  return (u - 1.0f) * v / tk_log(u);
}
TK_FN float tk_log1p(float v) {
  const float u = 1.0f + v;
  if (u == 1.0f) return v;
  if (!(tk_abs(v) < 1.0f)) return tk_log(u);
  return tk_log(u) * v / (u - 1.0f);
}

// erf by its Taylor series below 2 and by the continued fraction of erfc above (Abramowitz and
// Stegun 7.1.5, 7.1.14): within 4e-7 of erf.
TK_FN float tk_erf_portable(float v) {
  const float a = tk_abs(v);
  float r = 1.0f;
  if (a != a) return v;
  if (a < 2.0f) {
    float term = a, sum = a;
    for (int n = 1; n < 30; ++n) {
      term *= -a * a / float(n);
      sum += term / float(2 * n + 1);
    }
    r = 1.1283791671f * sum;
  } else if (a < 4.0f) {
    float f = 0.0f;
    for (int n = 24; n > 0; --n) f = 0.5f * float(n) / (a + f);
    r = 1.0f - tk_exp(-a * a) * 0.5641895835f / (a + f);
  }
  return v < 0.0f ? -r : r;
}
#if defined(TK_ERF_IN_COMMON)
TK_FN float tk_erf(float v) {
  return tk_erf_portable(v);
}
#endif

#if defined(TK_CLIP_HALVES_IN_COMMON)
TK_FN tk_u32 tk_clip_halves(tk_u32 pair, tk_u32 low, tk_u32 high) {
  tk_u32 clipped = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const float v =
        tk_clip(tk_half_to_float(tk_u16(pair >> shift)), tk_half_to_float(tk_u16(low >> shift)),
                tk_half_to_float(tk_u16(high >> shift)));
    clipped |= tk_u32(tk_float_to_half(v)) << shift;
  }
  return clipped;
}
#endif

#if defined(TK_WARP_TREES_IN_COMMON)
TK_FN float tk_warp_sum(TK_CTX c, float v) {
  TK_UNROLL for (int step = 16; step > 0; step >>= 1) v = v + tk_warp_xor(c, v, step);
  return v;
}
TK_FN float tk_warp_max(TK_CTX c, float v) {
  TK_UNROLL for (int step = 16; step > 0; step >>= 1) v = tk_max(v, tk_warp_xor(c, v, step));
  return v;
}
TK_FN float tk_warp_min(TK_CTX c, float v) {
  TK_UNROLL for (int step = 16; step > 0; step >>= 1) v = tk_min(v, tk_warp_xor(c, v, step));
  return v;
}
#endif

// How a storage type keeps a float.
template <class T>
struct tk_storage;
template <>
struct tk_storage<float> {
  static TK_FN float load(TK_GLOBAL const float* p) { return *p; }
  static TK_FN void store(TK_GLOBAL float* p, float v) { *p = v; }
};
template <>
struct tk_storage<tk_half> {
  static TK_FN float load(TK_GLOBAL const tk_half* p) { return tk_half_to_float(p->bits); }
  static TK_FN void store(TK_GLOBAL tk_half* p, float v) { p->bits = tk_float_to_half(v); }
  static TK_FN float widen(tk_u32 bits) { return tk_half_to_float(tk_u16(bits & 0xffffu)); }
  static TK_FN tk_u32 narrow(float v) { return tk_u32(tk_float_to_half(v)); }
};
template <>
struct tk_storage<tk_bf16> {
  static TK_FN float load(TK_GLOBAL const tk_bf16* p) { return tk_float(tk_u32(p->bits) << 16); }
  static TK_FN void store(TK_GLOBAL tk_bf16* p, float v) { p->bits = tk_float_to_bf16(v); }
  static TK_FN float widen(tk_u32 bits) { return tk_float(bits << 16); }
  static TK_FN tk_u32 narrow(float v) { return tk_u32(tk_float_to_bf16(v)); }
};

// One element of float, tk_half or tk_bf16.
template <class T>
TK_FN float tk_load(TK_GLOBAL const T* p) {
  return tk_storage<T>::load(p);
}
template <class T>
TK_FN void tk_store(TK_GLOBAL T* p, float v) {
  tk_storage<T>::store(p, v);
}

// N words in one or two accesses; p must be aligned to the smaller of their size and 16 bytes.
template <int N>
struct tk_words {
  tk_u32 v[N];
};
template <class T>
TK_FN void tk_load_words(TK_GLOBAL const T* p, TK_LOCAL tk_words<1>& r) {
  TK_CHECK_ALIGNED(p, 4);
  r.v[0] = *(TK_GLOBAL const tk_u32*)p;
}
template <class T>
TK_FN void tk_load_words(TK_GLOBAL const T* p, TK_LOCAL tk_words<2>& r) {
  TK_CHECK_ALIGNED(p, 8);
  const tk_u32x2 q = *(TK_GLOBAL const tk_u32x2*)p;
  r.v[0] = q.x;
  r.v[1] = q.y;
}
template <class T, int N>
TK_FN void tk_load_words(TK_GLOBAL const T* p, TK_LOCAL tk_words<N>& r) {
  TK_CHECK_ALIGNED(p, 16);
  TK_UNROLL for (int i = 0; i < N; i += 4) {
    const tk_u32x4 q = ((TK_GLOBAL const tk_u32x4*)p)[i / 4];
    r.v[i] = q.x;
    r.v[i + 1] = q.y;
    r.v[i + 2] = q.z;
    r.v[i + 3] = q.w;
  }
}
template <class T>
TK_FN void tk_store_words(TK_GLOBAL T* p, TK_LOCAL const tk_words<1>& r) {
  TK_CHECK_ALIGNED(p, 4);
  *(TK_GLOBAL tk_u32*)p = r.v[0];
}
template <class T>
TK_FN void tk_store_words(TK_GLOBAL T* p, TK_LOCAL const tk_words<2>& r) {
  TK_CHECK_ALIGNED(p, 8);
  tk_u32x2 q;
  q.x = r.v[0];
  q.y = r.v[1];
  *(TK_GLOBAL tk_u32x2*)p = q;
}
template <class T, int N>
TK_FN void tk_store_words(TK_GLOBAL T* p, TK_LOCAL const tk_words<N>& r) {
  TK_CHECK_ALIGNED(p, 16);
  TK_UNROLL for (int i = 0; i < N; i += 4) {
    tk_u32x4 q;
    q.x = r.v[i];
    q.y = r.v[i + 1];
    q.z = r.v[i + 2];
    q.w = r.v[i + 3];
    ((TK_GLOBAL tk_u32x4*)p)[i / 4] = q;
  }
}

// How V elements lie in words, V even for 16-bit types.
template <class T, int V>
struct tk_packed {
  enum { kWords = V / 2 };
  static TK_FN void widen(TK_LOCAL const tk_words<V / 2>& w, TK_LOCAL tk_vec<V>& r) {
    TK_UNROLL for (int i = 0; i < V; i += 2) {
      r.v[i] = tk_storage<T>::widen(w.v[i / 2]);
      r.v[i + 1] = tk_storage<T>::widen(w.v[i / 2] >> 16);
    }
  }
  static TK_FN void narrow(TK_LOCAL const tk_vec<V>& r, TK_LOCAL tk_words<V / 2>& w) {
    TK_UNROLL for (int i = 0; i < V; i += 2) {
      w.v[i / 2] = tk_storage<T>::narrow(r.v[i]) | (tk_storage<T>::narrow(r.v[i + 1]) << 16);
    }
  }
};
template <int V>
struct tk_packed<float, V> {
  enum { kWords = V };
  static TK_FN void widen(TK_LOCAL const tk_words<V>& w, TK_LOCAL tk_vec<V>& r) {
    TK_UNROLL for (int i = 0; i < V; ++i) r.v[i] = tk_float(w.v[i]);
  }
  static TK_FN void narrow(TK_LOCAL const tk_vec<V>& r, TK_LOCAL tk_words<V>& w) {
    TK_UNROLL for (int i = 0; i < V; ++i) w.v[i] = tk_bits(r.v[i]);
  }
};

// Vectors of V elements, aligned as words are.
template <class T>
TK_FN void tk_load_vec(TK_GLOBAL const T* p, TK_LOCAL tk_vec<1>& r) {
  r.v[0] = tk_load(p);
}
template <class T, int V>
TK_FN void tk_load_vec(TK_GLOBAL const T* p, TK_LOCAL tk_vec<V>& r) {
  tk_words<tk_packed<T, V>::kWords> w;
  tk_load_words(p, w);
  tk_packed<T, V>::widen(w, r);
}
template <class T>
TK_FN void tk_store_vec(TK_GLOBAL T* p, TK_LOCAL const tk_vec<1>& r) {
  tk_store(p, r.v[0]);
}
template <class T, int V>
TK_FN void tk_store_vec(TK_GLOBAL T* p, TK_LOCAL const tk_vec<V>& r) {
  tk_words<tk_packed<T, V>::kWords> w;
  tk_packed<T, V>::narrow(r, w);
  tk_store_words(p, w);
}
template <int V>
TK_FN void tk_fill_vec(float value, TK_LOCAL tk_vec<V>& r) {
  TK_UNROLL for (int i = 0; i < V; ++i) r.v[i] = value;
}

// Four floats of shared memory in one access; p aligned to 16 bytes.
TK_FN void tk_shared_load4(TK_SHARED const float* p, TK_LOCAL tk_vec<4>& r) {
  TK_CHECK_ALIGNED(p, 16);
  const tk_u32x4 q = *(TK_SHARED const tk_u32x4*)p;
  r.v[0] = tk_float(q.x);
  r.v[1] = tk_float(q.y);
  r.v[2] = tk_float(q.z);
  r.v[3] = tk_float(q.w);
}
TK_FN void tk_shared_store4(TK_SHARED float* p, TK_LOCAL const tk_vec<4>& r) {
  TK_CHECK_ALIGNED(p, 16);
  tk_u32x4 q;
  q.x = tk_bits(r.v[0]);
  q.y = tk_bits(r.v[1]);
  q.z = tk_bits(r.v[2]);
  q.w = tk_bits(r.v[3]);
  *(TK_SHARED tk_u32x4*)p = q;
}

}  // namespace tk
