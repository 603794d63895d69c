#include "cli/explain.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "cli/terminal.hpp"

namespace treadle::cli {
namespace {

std::string_view kernel_of(const Step& step) {
  return step.kernel ? step.kernel->name() : std::string_view("reference");
}

std::string_view place_of(const Program& program, const Step& step) {
  return step.queued ? program.device->kind() : std::string_view("cpu");
}

}  // namespace

std::int64_t planned_syncs(const Program& program) {
  return (program.sync_at_end ? 1 : 0) +
         std::count_if(program.steps.begin(), program.steps.end(),
                       [](const Step& step) { return step.sync_before; });
}

std::string explain_text(const Program& program) {
  Table table({"node", "operator", "runs on", "kernel", "why not on the device"}, {});
  std::map<std::string_view, int> counts;
  for (const Step& step : program.steps) {
    table.row({step.name, step.op_name + step.fused, std::string(place_of(program, step)),
               std::string(kernel_of(step)), step.why_on_cpu});
    ++counts[place_of(program, step)];
  }
  std::string text = table.str() + "\n";
  for (const auto& [place, n] : counts) text += fmt::format("{} steps on {}, ", n, place);
  return text + fmt::format("{} device-to-host syncs a run\n", planned_syncs(program));
}

Json explain_json(const Program& program) {
  Json list = Json::array();
  for (const Step& step : program.steps)
    list.push_back({{"node", step.name},
                    {"op", step.op_name + step.fused},
                    {"device", place_of(program, step)},
                    {"kernel", kernel_of(step)},
                    {"why_not", step.why_on_cpu}});
  return list;
}

}  // namespace treadle::cli
