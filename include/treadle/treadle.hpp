// treadle's C++ API: load a model, run it, read the outputs.
//
//   treadle::Model model = treadle::Model::load("model.onnx");
//   treadle::Session session(model);
//   treadle::Tensor x = treadle::Tensor::from<float>({1, 3, 224, 224}, pixels);
//   if (treadle::Status s = session.run({{"image", x}}); !s.ok()) std::cerr << s.message();
//   std::span<const float> scores = session.output(0).values<float>();
//
// A Model is immutable and may be shared by any number of threads; a Session is used by one thread
// at a time. Loading throws treadle::Error; running returns a Status and throws nothing.
#ifndef TREADLE_TREADLE_HPP_
#define TREADLE_TREADLE_HPP_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#define TREADLE_API [[gnu::visibility("default")]]

// The library's own sources have classes of the same names one level up.
#if defined(TREADLE_BUILDING_API)
#define TREADLE_API_NAMESPACE namespace v1
#else
#define TREADLE_API_NAMESPACE inline namespace v1
#endif

namespace treadle {
TREADLE_API_NAMESPACE {
  // "0.1.0".
  TREADLE_API std::string_view version() noexcept;

  // Values are stable.
  enum class DataType : std::uint8_t {
    Bool,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    Complex64,
    Complex128,
    String,
    // One byte an element: the code of a float in the low bits, an integer sign-extended.
    Float8E4M3FN,
    Float8E4M3FNUZ,
    Float8E5M2,
    Float8E5M2FNUZ,
    Float8E8M0,
    Float6E2M3,
    Float6E3M2,
    Float4E2M1,
    Int4,
    UInt4,
    Int2,
    UInt2,
  };

  // "bool", "i8", …, "f32", "string".
  TREADLE_API std::string_view to_string(DataType type) noexcept;
  // Bytes of one element; 0 for strings.
  TREADLE_API std::size_t size_of(DataType type) noexcept;

  // Values are stable; new ones are only appended.
  enum class StatusCode : int {
    Ok = 0,
    Parse,
    Unsupported,
    Shape,
    Type,
    Io,
    Device,
    Memory,
    Internal,
    InvalidArgument,
  };

  class [[nodiscard]] TREADLE_API Status {
   public:
    Status() = default;
    Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}
    bool ok() const noexcept { return code_ == StatusCode::Ok; }
    StatusCode code() const noexcept { return code_; }
    // Where and what: "node 'conv1' (Conv): input 1 …"; empty when ok.
    const std::string& message() const noexcept { return message_; }

   private:
    StatusCode code_ = StatusCode::Ok;
    std::string message_;
  };

  // What loading and the constructors of tensors throw.
  class TREADLE_API Error : public std::exception {
   public:
    explicit Error(Status status) : status_(std::move(status)) {}
    StatusCode code() const noexcept { return status_.code(); }
    const char* what() const noexcept override { return status_.message().c_str(); }

   private:
    Status status_;
  };

  namespace detail {
  template <typename T>
  struct DataTypeOf;
#define TREADLE_DATA_TYPE_OF(type, value_)              \
  template <>                                           \
  struct DataTypeOf<type> {                             \
    static constexpr DataType value = DataType::value_; \
  };
  TREADLE_DATA_TYPE_OF(bool, Bool)
  TREADLE_DATA_TYPE_OF(std::int8_t, Int8)
  TREADLE_DATA_TYPE_OF(std::int16_t, Int16)
  TREADLE_DATA_TYPE_OF(std::int32_t, Int32)
  TREADLE_DATA_TYPE_OF(std::int64_t, Int64)
  TREADLE_DATA_TYPE_OF(std::uint8_t, UInt8)
  TREADLE_DATA_TYPE_OF(std::uint16_t, UInt16)
  TREADLE_DATA_TYPE_OF(std::uint32_t, UInt32)
  TREADLE_DATA_TYPE_OF(std::uint64_t, UInt64)
  TREADLE_DATA_TYPE_OF(float, Float32)
  TREADLE_DATA_TYPE_OF(double, Float64)
  TREADLE_DATA_TYPE_OF(std::string, String)
#undef TREADLE_DATA_TYPE_OF
  }  // namespace detail

  // Row-major elements with a type and a shape. Copies share the elements; clone() does not.
  class TREADLE_API Tensor {
   public:
    using Shape = std::vector<std::int64_t>;

    // Undefined: no elements.
    Tensor() noexcept;
    // Zeros (empty strings). Throws Error for more than 16 axes or a size that overflows.
    Tensor(DataType type, const Shape& shape);
    // Copies the values; throws Error when their number does not fit the shape.
    template <typename T>
    static Tensor from(const Shape& shape, std::span<const T> values) {
      return copy(detail::DataTypeOf<T>::value, shape, values.data(), values.size());
    }
    template <typename T>
    static Tensor from(const Shape& shape, std::initializer_list<T> values) {
      return from<T>(shape, std::span<const T>(values.begin(), values.size()));
    }
    template <typename T>
    static Tensor from(const Shape& shape, const std::vector<T>& values) {
      return from<T>(shape, std::span<const T>(values.data(), values.size()));
    }
    // Elements that stay the caller's and must outlive the tensor. Not for strings.
    static Tensor wrap(DataType type, const Shape& shape, void* data);

    // A .npy file.
    static Tensor read_npy(const std::string& path);
    void write_npy(const std::string& path) const;

    bool defined() const noexcept { return impl_ != nullptr; }
    DataType type() const noexcept;
    Shape shape() const;
    std::size_t elements() const noexcept;
    const void* data() const noexcept;
    void* data() noexcept;
    // The elements as T; throws Error when the tensor has another type.
    template <typename T>
    std::span<const T> values() const {
      require(detail::DataTypeOf<T>::value);
      return {static_cast<const T*>(data()), elements()};
    }
    template <typename T>
    std::span<T> values() {
      require(detail::DataTypeOf<T>::value);
      return {static_cast<T*>(data()), elements()};
    }
    Tensor clone() const;

   private:
    friend struct Access;
    struct Impl;
    static Tensor copy(DataType type, const Shape& shape, const void* values, std::size_t count);
    void require(DataType type) const;
    std::shared_ptr<Impl> impl_;
  };

  using NamedTensor = std::pair<std::string, Tensor>;

  struct LoadOptions {
    // Threads that a session uses, its caller's included.
    int threads = 1;
    std::string target = "cpu";
    // Only algorithms that round like the direct ones.
    bool exact = false;
    // Every operator through its plain reference: slow, for finding wrong results.
    bool reference = false;
    // Input shapes in place of the file's: "name=1,3,224,224" (sizes or symbols).
    std::vector<std::string> shapes;
    // Values of symbols: "batch=4".
    std::vector<std::string> symbols;
    // Inner values that become inputs, and values that become outputs as well.
    std::vector<std::string> cut_inputs, extra_outputs;
    // Limits for hostile files. Of a tensor, and of what a session holds at once:
    std::int64_t max_tensor_bytes = std::int64_t{16} << 30;
    std::int64_t max_nodes = 2'000'000;
    // Of a run: iterations of all its loops together; seconds, looked at between steps and
    // iterations (0: no bound).
    std::int64_t max_iterations = 10'000'000;
    double max_seconds = 0;
    // Denormal numbers count as zero while a session runs (they cost up to 100 times the time). The
    // caller's floating-point state comes back afterwards. False: that state holds in the run too.
    bool flush_denormals = true;
    // Called with what is wrong in the file and keeps nothing from running, such as a shape that an
    // output is declared with and does not have; may be empty. While loading, on its thread; for a
    // file that can be read only when the sizes of the inputs are known also while a session runs,
    // on that one's. Control characters in names are escaped. What it throws ends the loading.
    std::function<void(const std::string&)> warn;
  };

  // An input or output. Sizes that are no fixed number are −1 in `shape` and named in `dims`. Where
  // even the number of axes is known only at run time, shape is {−1} and dims {"..."}.
  struct PortInfo {
    std::string name;
    DataType type = DataType::Float32;
    std::vector<std::int64_t> shape;
    std::vector<std::string> dims;
  };

  class TREADLE_API Model {
   public:
    // The format (ONNX, TensorFlow GraphDef) is told by the content. Throws Error.
    static Model load(const std::string& path, const LoadOptions& options = {});
    static Model load(std::span<const std::byte> bytes, const LoadOptions& options = {});

    const std::vector<PortInfo>& inputs() const noexcept;
    const std::vector<PortInfo>& outputs() const noexcept;

   private:
    friend struct Access;
    struct Impl;
    std::shared_ptr<const Impl> impl_;
  };

  class TREADLE_API Session {
   public:
    explicit Session(const Model& model);
    ~Session();
    Session(Session&&) noexcept;
    Session& operator=(Session&&) noexcept;

    // Inputs are not copied: their elements must stay until run() returns. Each input is named
    // once.
    Status run(std::span<const NamedTensor> inputs) noexcept;
    Status run(std::initializer_list<NamedTensor> inputs) noexcept;
    // Inputs in the model's order.
    Status run(std::span<const Tensor> inputs) noexcept;

    // Sets one input for this and later runs, for loops that must not allocate.
    Status set_input(std::size_t index, const Tensor& tensor) noexcept;
    Status run() noexcept;

    std::size_t outputs() const noexcept;
    // The output of the last successful run, undefined before it; its elements are valid until the
    // next run: clone() to keep them. An output that is a sequence or an optional stays undefined.
    const Tensor& output(std::size_t index) const noexcept;
    // Throws Error when there is no output of that name.
    const Tensor& output(std::string_view name) const;

   private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
  };

}  // TREADLE_API_NAMESPACE
}  // namespace treadle

#endif  // TREADLE_TREADLE_HPP_
