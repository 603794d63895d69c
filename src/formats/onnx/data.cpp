#include "formats/onnx/data.hpp"

#include "base/error.hpp"
#include "formats/onnx/tensors.hpp"
#include "formats/onnx/wire.hpp"

namespace treadle::onnx {
namespace {

constexpr int kMaxNesting = 32;

// Fields of SequenceProto and OptionalProto: the same numbers, repeated in the first.
enum Field : std::uint32_t {
  kTensorField = 3,
  kSparseField = 4,
  kSequenceField = 5,
  kOptionalField = 7
};

class ValueReader {
 public:
  ValueReader(const std::shared_ptr<const MappedFile>& file, const Limits& limits)
      : tensors_(file, std::nullopt, limits) {}

  Value read(std::string_view bytes, Fact::Kind kind, int depth) {
    check(depth < kMaxNesting, ErrorKind::Parse, "values nest deeper than {}", kMaxNesting);
    if (kind == Fact::Kind::Tensor) return *tensors_.read(bytes).tensor;
    std::vector<Value> items;
    Message m(bytes);
    while (m.next()) {
      switch (m.tag()) {
        case kTensorField:
          items.push_back(read(m.bytes(), Fact::Kind::Tensor, depth + 1));
          break;
        case kSparseField:
          items.emplace_back(*tensors_.read_sparse(m.bytes()).tensor);
          break;
        case kSequenceField:
          items.push_back(read(m.bytes(), Fact::Kind::Sequence, depth + 1));
          break;
        case kOptionalField:
          items.push_back(read(m.bytes(), Fact::Kind::Optional, depth + 1));
          break;
        default:
          m.skip();
      }
    }
    if (kind == Fact::Kind::Sequence) return Value::sequence(std::move(items));
    check(items.size() <= 1, ErrorKind::Parse, "an optional holds {} values", items.size());
    return Value::optional(items.empty() ? std::nullopt : std::optional(std::move(items[0])));
  }

 private:
  TensorReader tensors_;
};

}  // namespace

Value read_value(std::shared_ptr<const MappedFile> file, const Fact& fact, const Limits& limits) {
  return decode("value",
                [&] { return ValueReader(file, limits).read(file->bytes(), fact.kind, 0); });
}

}  // namespace treadle::onnx
