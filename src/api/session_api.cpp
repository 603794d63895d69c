// The public Model and Session.
#include <algorithm>
#include <list>

#include "api/public.hpp"
#include "ops/unify.hpp"

namespace treadle::v1 {
namespace {

constexpr std::size_t kSessionsKept = 4;

std::vector<PortInfo> describe_ports(const std::vector<Port>& ports) {
  std::vector<PortInfo> out;
  for (const Port& p : ports) {
    PortInfo info;
    info.name = p.name;
    info.type = static_cast<DataType>(p.fact.dtype);
    if (ops::has_unknown_rank(p.fact)) {
      info.shape = {-1};
      info.dims = {"..."};
    }
    for (const Dim& d : p.fact.shape) {
      if (ops::has_unknown_rank(p.fact)) break;
      info.shape.push_back(d.as_const().value_or(-1));
      info.dims.push_back(d.str());
    }
    out.push_back(std::move(info));
  }
  return out;
}

}  // namespace

struct Model::Impl {
  explicit Impl(std::shared_ptr<const ::treadle::Model> m)
      : model(std::move(m)),
        inputs(describe_ports(model->inputs())),
        outputs(describe_ports(model->outputs())) {}

  std::shared_ptr<const ::treadle::Model> model;
  std::vector<PortInfo> inputs, outputs;
};

const std::shared_ptr<const ::treadle::Model>& Access::model(const Model& m) {
  return m.impl_->model;
}

Model Model::load(const std::string& path, const LoadOptions& options) {
  return rethrowing([&] {
    Model m;
    m.impl_ = std::make_shared<const Impl>(::treadle::Model::load(path, to_model_options(options)));
    return m;
  });
}

Model Model::load(std::span<const std::byte> bytes, const LoadOptions& options) {
  return rethrowing([&] {
    Model m;
    m.impl_ =
        std::make_shared<const Impl>(::treadle::Model::load(bytes, to_model_options(options)));
    return m;
  });
}

const std::vector<PortInfo>& Model::inputs() const noexcept {
  return impl_->inputs;
}
const std::vector<PortInfo>& Model::outputs() const noexcept {
  return impl_->outputs;
}

struct Session::Impl {
  explicit Impl(std::shared_ptr<const ::treadle::Model> m)
      : model(std::move(m)),
        pool(make_thread_pool(model->options().threads)),
        inputs(model->inputs().size()),
        outputs(model->outputs().size()) {
    if (!model->needs_sizes()) session_of(model);
  }

  // The session of this model for the sizes at hand.
  ::treadle::Session& session_of(const std::shared_ptr<const ::treadle::Model>& sized) {
    auto it = sessions.begin();
    while (it != sessions.end() && it->first != sized) ++it;
    if (it == sessions.end()) {
      sessions.emplace_front(sized, ::treadle::Session(sized->program(), pool.get()));
      sessions.front().second.set_symbols(sized->symbols());
      if (sessions.size() > kSessionsKept) sessions.pop_back();
    } else {
      sessions.splice(sessions.begin(), sessions, it);
    }
    return sessions.front().second;
  }

  std::size_t input_index(std::string_view name) const {
    const auto& ports = model->inputs();
    const auto at =
        std::find_if(ports.begin(), ports.end(), [&](const Port& p) { return p.name == name; });
    if (at == ports.end()) {
      std::string known;
      for (const Port& p : ports) known += (known.empty() ? "'" : ", '") + p.name + "'";
      fail(ErrorKind::Parse, "the model has no input '{}'; its inputs are {}", name, known);
    }
    return static_cast<std::size_t>(at - ports.begin());
  }

  void set(std::size_t i, const Tensor& t) {
    check(i < inputs.size(), ErrorKind::Parse, "input {} does not exist: the model has {}", i,
          inputs.size());
    const auto* tensor = Access::tensor(t);
    check(tensor != nullptr, ErrorKind::Type, "input '{}' is an undefined tensor",
          model->inputs()[i].name);
    inputs[i] = Value(*tensor);
  }

  void run() {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      check(inputs[i].is_tensor() && inputs[i].tensor().defined(), ErrorKind::Parse,
            "input '{}' is missing: the model needs {} inputs", model->inputs()[i].name,
            inputs.size());
    ::treadle::Session& session = session_of(model->for_inputs(inputs));
    if (auto error = session.run(inputs)) throw *error;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const Value& v = session.output(i);
      if (v.is_tensor())
        Access::assign(outputs[i], v.tensor());
      else
        outputs[i] = Tensor();
    }
  }

  std::shared_ptr<const ::treadle::Model> model;
  std::unique_ptr<Parallel> pool;
  // One, unless the model needs_sizes(); the last used first.
  std::list<std::pair<std::shared_ptr<const ::treadle::Model>, ::treadle::Session>> sessions;
  std::vector<Value> inputs;
  std::vector<Tensor> outputs;
};

Session::Session(const Model& model)
    : impl_(rethrowing([&] { return std::make_unique<Impl>(Access::model(model)); })) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Status Session::run(std::span<const NamedTensor> inputs) noexcept {
  return guarded([&] {
    std::fill(impl_->inputs.begin(), impl_->inputs.end(), Value());
    for (const auto& [name, tensor] : inputs) {
      const std::size_t i = impl_->input_index(name);
      check(!impl_->inputs[i].tensor().defined(), ErrorKind::Parse, "input '{}' is given twice",
            name);
      impl_->set(i, tensor);
    }
    impl_->run();
  });
}

Status Session::run(std::initializer_list<NamedTensor> inputs) noexcept {
  return run(std::span<const NamedTensor>(inputs.begin(), inputs.size()));
}

Status Session::run(std::span<const Tensor> inputs) noexcept {
  return guarded([&] {
    check(inputs.size() == impl_->inputs.size(), ErrorKind::Parse,
          "the model has {} inputs, got {}", impl_->inputs.size(), inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) impl_->set(i, inputs[i]);
    impl_->run();
  });
}

Status Session::set_input(std::size_t index, const Tensor& tensor) noexcept {
  return guarded([&] { impl_->set(index, tensor); });
}

Status Session::run() noexcept {
  return guarded([&] { impl_->run(); });
}

std::size_t Session::outputs() const noexcept {
  return impl_->outputs.size();
}

const Tensor& Session::output(std::size_t index) const noexcept {
  static const Tensor undefined;
  return index < impl_->outputs.size() ? impl_->outputs[index] : undefined;
}

const Tensor& Session::output(std::string_view name) const {
  const auto& ports = impl_->model->outputs();
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (ports[i].name == name) return impl_->outputs[i];
  throw Error(
      Status(StatusCode::InvalidArgument, fmt::format("the model has no output '{}'", name)));
}

}  // namespace treadle::v1
