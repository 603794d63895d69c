// Spectra. Complex numbers are pairs in a last axis of size 2; real signals have one of size 1.
#pragma once

#include "graph/operator.hpp"

namespace treadle::ops {

// The discrete Fourier transform of x along an axis. Inputs: x, optional length (an integer of one
// element; default: the size of the axis, for `onesided` and `inverse` 2·(size − 1)), axis (an
// integer of one element, negative ones count from the end). The signal is cut or filled with zeros
// to the length. `onesided` keeps the first length/2 + 1 values of a real signal's spectrum; with
// `inverse` it makes a real signal of such a spectrum. `inverse` divides by the length. `shape` is
// that of the output, with symbols where length or axis are not known. Float dtypes; computed in
// f64.
class Dft final : public Operator {
 public:
  bool inverse = false, onesided = false;
  SymShape shape;
  TREADLE_OPERATOR(Dft);
};

// The spectra of windows of a signal [N, T, 1 or 2]. Inputs: signal, step, optional window [L],
// optional L. Output [N, (T − L)/step + 1, L or L/2 + 1, 2], which `shape` describes.
class Stft final : public Operator {
 public:
  bool onesided = true;
  SymShape shape;
  TREADLE_OPERATOR(Stft);
};

// The weights that sum the bins of a spectrum in triangles which are evenly spaced in mel. Inputs,
// each of one element: number of triangles, length of the transform, sample rate (integers), lower
// and upper edge in Hz (floats). Output [length/2 + 1, triangles], which `shape` describes.
class MelWeights final : public Operator {
 public:
  DType dtype = DType::F32;
  SymShape shape;
  TREADLE_OPERATOR(MelWeights);
};

}  // namespace treadle::ops
