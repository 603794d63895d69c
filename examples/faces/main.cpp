// Finds faces in a photograph with the YuNet detector and draws them: the whole road from a JPEG to
// boxes and landmarks, through treadle's public API.
//
//   faces MODEL.onnx PHOTO.(jpg|png) OUT.png
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "cli/picture.hpp"
#include "treadle/treadle.hpp"

namespace {

using treadle::cli::Image;

struct Point {
  float x = 0, y = 0;
};

struct Face {
  float score = 0;
  float left = 0, top = 0, right = 0, bottom = 0;
  std::array<Point, 5> landmarks;  // eyes, nose, corners of the mouth
  float area() const { return std::max(0.0f, right - left) * std::max(0.0f, bottom - top); }
};

// The picture on a canvas whose sides are multiples of 32, as float BGR [1, 3, H, W].
treadle::Tensor to_input(const Image& image, int width, int height) {
  treadle::Tensor t(treadle::DataType::Float32, {1, 3, height, width});
  auto out = t.values<float>();
  for (int c = 0; c < 3; ++c) {
    for (int y = 0; y < image.height; ++y) {
      for (int x = 0; x < image.width; ++x) {
        const auto from = (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                           static_cast<std::size_t>(x)) *
                          3;
        const auto to = (static_cast<std::size_t>(c) * static_cast<std::size_t>(height) +
                         static_cast<std::size_t>(y)) *
                            static_cast<std::size_t>(width) +
                        static_cast<std::size_t>(x);
        out[to] = image.pixels[from + static_cast<std::size_t>(2 - c)];
      }
    }
  }
  return t;
}

// Decodes one stride: each cell predicts a centre offset and a log size in units of the stride, and
// scores that multiply (Wu et al., YuNet: A Tiny Millisecond-level Face Detector, 2023).
void decode(const treadle::Session& session, const treadle::Model& model, int stride, int columns,
            float threshold, std::vector<Face>& faces) {
  const auto find = [&](const char* kind) {
    const std::string name = std::string(kind) + "_" + std::to_string(stride);
    const auto& outputs = model.outputs();
    const auto it =
        std::find_if(outputs.begin(), outputs.end(), [&](const auto& o) { return o.name == name; });
    if (it == outputs.end()) throw std::runtime_error("the model has no output '" + name + "'");
    return session.output(static_cast<std::size_t>(it - outputs.begin())).values<float>();
  };
  const auto cls = find("cls"), obj = find("obj"), box = find("bbox"), points = find("kps");
  const auto s = static_cast<float>(stride);
  for (std::size_t i = 0; i < cls.size(); ++i) {
    const float score = std::sqrt(std::clamp(cls[i], 0.0f, 1.0f) * std::clamp(obj[i], 0.0f, 1.0f));
    if (score < threshold) continue;
    const auto column = static_cast<float>(static_cast<int>(i) % columns),
               row = static_cast<float>(static_cast<int>(i) / columns);
    const float cx = (column + box[4 * i]) * s, cy = (row + box[4 * i + 1]) * s;
    const float w = std::exp(box[4 * i + 2]) * s, h = std::exp(box[4 * i + 3]) * s;
    Face f{score, cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2, {}};
    for (std::size_t k = 0; k < 5; ++k) {
      f.landmarks[k] = {(column + points[10 * i + 2 * k]) * s,
                        (row + points[10 * i + 2 * k + 1]) * s};
    }
    faces.push_back(f);
  }
}

// Keeps the best of faces that overlap by more than 30 %.
std::vector<Face> suppress(std::vector<Face> faces) {
  std::sort(faces.begin(), faces.end(),
            [](const Face& a, const Face& b) { return a.score > b.score; });
  std::vector<Face> kept;
  for (const Face& f : faces) {
    const bool covered = std::any_of(kept.begin(), kept.end(), [&](const Face& k) {
      const float w = std::min(f.right, k.right) - std::max(f.left, k.left);
      const float h = std::min(f.bottom, k.bottom) - std::max(f.top, k.top);
      const float both = std::max(0.0f, w) * std::max(0.0f, h);
      return both > 0.3f * (f.area() + k.area() - both);
    });
    if (!covered) kept.push_back(f);
  }
  return kept;
}

void paint(Image& image, int x, int y, std::array<std::uint8_t, 3> colour) {
  if (x < 0 || y < 0 || x >= image.width || y >= image.height) return;
  const auto at = (static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                   static_cast<std::size_t>(x)) *
                  3;
  std::copy(colour.begin(), colour.end(), image.pixels.begin() + static_cast<std::ptrdiff_t>(at));
}

void draw(Image& image, const Face& f) {
  const auto px = [](float v) { return static_cast<int>(std::lround(v)); };
  for (int t = 0; t < 3; ++t) {
    for (int x = px(f.left); x <= px(f.right); ++x) {
      paint(image, x, px(f.top) + t, {64, 220, 64});
      paint(image, x, px(f.bottom) - t, {64, 220, 64});
    }
    for (int y = px(f.top); y <= px(f.bottom); ++y) {
      paint(image, px(f.left) + t, y, {64, 220, 64});
      paint(image, px(f.right) - t, y, {64, 220, 64});
    }
  }
  for (const Point& p : f.landmarks) {
    for (int y = -4; y <= 4; ++y) {
      for (int x = -4; x <= 4; ++x) {
        if (x * x + y * y <= 16) paint(image, px(p.x) + x, px(p.y) + y, {255, 64, 64});
      }
    }
  }
}

// Peak resident memory in MB, from /proc.
double peak_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

int run(const char* model_path, const char* photo, const char* out) {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::time_point from) {
    return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
  };
  Image image = treadle::cli::read_image(photo);
  const int width = (image.width + 31) / 32 * 32, height = (image.height + 31) / 32 * 32;
  const treadle::Tensor input = to_input(image, width, height);

  const auto loading = Clock::now();
  const treadle::Model model = treadle::Model::load(model_path);
  treadle::Session session(model);
  const double load_ms = ms(loading);
  const auto first = Clock::now();
  double first_ms = 0, best_ms = 1e9;
  for (int i = 0; i < 10; ++i) {
    const auto start = Clock::now();
    if (const auto status = session.run({{model.inputs()[0].name, input}}); !status.ok()) {
      std::fprintf(stderr, "error: %s\n", status.message().c_str());
      return 2;
    }
    if (i == 0) first_ms = ms(first);
    best_ms = std::min(best_ms, ms(start));
  }
  std::vector<Face> faces;
  for (int stride : {8, 16, 32}) decode(session, model, stride, width / stride, 0.6f, faces);
  faces = suppress(std::move(faces));
  std::printf("%s: %d x %d pixels, %zu face%s\n", photo, image.width, image.height, faces.size(),
              faces.size() == 1 ? "" : "s");
  for (const Face& f : faces) {
    std::printf(
        "  score %.3f  box (%.0f, %.0f) to (%.0f, %.0f)  eyes (%.0f, %.0f) and (%.0f, %.0f)\n",
        static_cast<double>(f.score), static_cast<double>(f.left), static_cast<double>(f.top),
        static_cast<double>(f.right), static_cast<double>(f.bottom),
        static_cast<double>(f.landmarks[0].x), static_cast<double>(f.landmarks[0].y),
        static_cast<double>(f.landmarks[1].x), static_cast<double>(f.landmarks[1].y));
    draw(image, f);
  }
  treadle::cli::write_png(out, image);
  std::printf(
      "load %.1f ms, first run %.1f ms, then %.1f ms a run on one thread; peak memory %.0f MB\n",
      load_ms, first_ms, best_ms, peak_mb());
  std::printf("picture with boxes and landmarks: %s\n", out);
  return faces.empty() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s MODEL.onnx PHOTO.(jpg|png) OUT.png\n", argv[0]);
    return 2;
  }
  try {
    return run(argv[1], argv[2], argv[3]);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 2;
  }
}
