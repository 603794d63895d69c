// Loads a model from memory through the installed C++ API: y = relu(x).
#include <treadle/treadle.hpp>

#include <cstdio>

namespace {

// ModelProto {ir_version 8, opset 17, graph {Relu(x) → y, x and y f32[3]}}.
constexpr unsigned char kModel[] = {
    0x08, 0x08, 0x3a, 0x33, 0x0a, 0x0c, 0x0a, 0x01, 0x78, 0x12, 0x01, 0x79, 0x22, 0x04, 0x52, 0x65,
    0x6c, 0x75, 0x12, 0x01, 0x67, 0x5a, 0x0f, 0x0a, 0x01, 0x78, 0x12, 0x0a, 0x0a, 0x08, 0x08, 0x01,
    0x12, 0x04, 0x0a, 0x02, 0x08, 0x03, 0x62, 0x0f, 0x0a, 0x01, 0x79, 0x12, 0x0a, 0x0a, 0x08, 0x08,
    0x01, 0x12, 0x04, 0x0a, 0x02, 0x08, 0x03, 0x42, 0x04, 0x0a, 0x00, 0x10, 0x11,
};

}  // namespace

int main() {
  try {
    const auto model = treadle::Model::load(std::as_bytes(std::span(kModel)));
    treadle::Session session(model);
    const auto x = treadle::Tensor::from<float>({3}, {-1.0f, 0.5f, 2.0f});
    if (const auto status = session.run({{"x", x}}); !status.ok()) {
      std::fprintf(stderr, "%s\n", status.message().c_str());
      return 1;
    }
    const auto y = session.output("y").values<float>();
    std::printf("%g %g %g\n", y[0], y[1], y[2]);
    return y[0] == 0.0f && y[1] == 0.5f && y[2] == 2.0f ? 0 : 1;
  } catch (const treadle::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
