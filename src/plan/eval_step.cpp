#include "plan/eval_step.hpp"

#include "base/error.hpp"

namespace treadle {
namespace {

class StepContext final : public EvalContext {
 public:
  StepContext(const Step& step, StepHost& host)
      : step_(step), host_(host), values_(step.in.size()) {}

  void attach(RunContext& ctx) {
    ctx_ = &ctx;
    for (Value& v : values_) v = Value();
  }

  std::size_t inputs() const override { return step_.in.size(); }
  std::size_t outputs() const override { return step_.out.size(); }
  const TensorView* input(std::size_t i) const override {
    return i < ctx_->in.size() ? ctx_->in[i] : nullptr;
  }
  const Value& input_value(std::size_t i) const override {
    check(i < step_.in.size() && step_.in[i] >= 0, ErrorKind::Internal, "input {} is missing", i);
    values_[i] = host_.value(step_.in[i]);
    return values_[i];
  }
  TensorView& output(std::size_t i) override { return *ctx_->out[i]; }
  void set_output(std::size_t i, Value value) override {
    host_.store(step_.out[i], std::move(value));
  }
  std::vector<Value> run_subgraph(std::size_t which, std::vector<Value> inputs) override {
    return host_.run_subprogram(step_, which, std::move(inputs));
  }
  std::int64_t value_of(const Dim& dim) const override { return dim.eval(host_.symbols()); }

 private:
  const Step& step_;
  StepHost& host_;
  RunContext* ctx_ = nullptr;
  mutable std::vector<Value> values_;
};

class EvalStep final : public BoundKernel {
 public:
  EvalStep(const Step& step, StepHost& host) : op_(step.op), ctx_(step, host) {}
  void run(RunContext& ctx) override {
    ctx_.attach(ctx);
    op_->eval(ctx_);
  }
  std::string_view variant() const override { return "reference"; }

 private:
  OperatorPtr op_;
  StepContext ctx_;
};

}  // namespace

std::unique_ptr<BoundKernel> bind_eval(const Step& step, StepHost& host) {
  return std::make_unique<EvalStep>(step, host);
}

}  // namespace treadle
