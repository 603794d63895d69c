#include "cli/model_args.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>

#include "api/option_text.hpp"
#include "cli/terminal.hpp"

namespace treadle::cli {

void add_model_args(CLI::App& app, ModelArgs& args) {
  app.add_option("MODEL", args.path, "Model file: ONNX or TensorFlow frozen GraphDef (.pb)")
      ->required();
  app.add_option("--shape", args.shapes,
                 "Shape of an input in place of the file's, e.g. image=1,3,224,224");
  app.add_option("--set", args.symbols, "Value of a symbol in the input shapes, e.g. batch=4");
  app.add_option("--extra-output", args.extra_outputs,
                 "Inner value that becomes an output as well");
  app.add_option("--target", args.target,
                 "Where to run: cpu, cuda, cuda:N (device N), metal, sim (device kernels on this "
                 "CPU, slow)")
      ->capture_default_str();
  app.add_option("--on-unsupported", args.on_unsupported,
                 "With a device target, nodes that it has no kernel for: run on the cpu, or error")
      ->check(CLI::IsMember({"cpu", "error"}))
      ->capture_default_str();
  app.add_option("--keep-on-cpu", args.keep_on_cpu,
                 "With a device target, an operator that stays on the CPU, e.g. Pool");
  app.add_option("--avoid-kernel", args.avoid_kernels,
                 "With a device target, a convolution kernel that is not chosen, e.g. depthwise");
  app.add_option("--threads", args.threads, "Threads to run on")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--exact", args.exact, "Only algorithms that round like the direct ones");
  app.add_flag("--reference", args.reference,
               "Every operator through its plain reference implementation (slow)");
  app.add_flag("--keep-denormals", args.keep_denormals,
               "Do not count denormal numbers as zero while running");
  app.add_option("--max-tensor-bytes", args.limits.max_tensor_bytes,
                 "Limit on a tensor, and on what a session holds at once")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-nodes", args.limits.max_nodes, "Limit on nodes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-iterations", args.limits.max_iterations,
                 "Limit on iterations of all loops of a run together")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-seconds", args.limits.max_seconds,
                 "Limit on the time of a run, looked at between steps (0: none)")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--json", args.json, "Write JSON instead of text");
}

ModelOptions to_options(const ModelArgs& args) {
  ModelOptions out;
  for (const auto& s : args.shapes) add_shape(s, out);
  for (const auto& s : args.symbols) add_symbol(s, out);
  out.extra_outputs = args.extra_outputs;
  out.lower.target = args.target;
  out.lower.require_device = args.on_unsupported == "error";
  out.lower.keep_on_cpu = args.keep_on_cpu;
  out.lower.avoid_kernels = args.avoid_kernels;
  out.lower.threads = args.threads;
  out.lower.exact = args.exact;
  out.lower.reference = args.reference;
  out.lower.flush_denormals = !args.keep_denormals;
  out.limits = args.limits;
  out.warn = [](const std::string& text) {
    std::fputs((styled_error(Style::Yellow, "warning:") + " " + text + "\n").c_str(), stderr);
  };
  return out;
}

}  // namespace treadle::cli
