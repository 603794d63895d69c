#include "cli/allocations.hpp"
#include "cli/command.hpp"

int main(int argc, char** argv) {
  treadle::cli::set_allocation_counter(treadle::cli::allocation_counter());
  return treadle::cli::command(argc, argv);
}
