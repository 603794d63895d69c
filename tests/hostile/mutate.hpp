// Damages model files, in ways that a seed repeats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace treadle::hostile {

struct Mutant {
  std::string bytes;
  std::string what;  // "flip 3 bits", for the report
};

// A protobuf file and the places where its structure lies: keys, lengths, numbers, short texts.
// Weights are few places, so that mutations hit what the importer reads.
class Mutator {
 public:
  explicit Mutator(std::string model);

  // Truncates, flips bits, splices bytes, edits varints, or removes, repeats, swaps or rewrites
  // whole fields while the lengths around them stay right.
  Mutant make(std::uint64_t seed, int number) const;

 private:
  struct Field {
    std::size_t begin, length, payload, end;  // of the key, the length or number, what follows
    int wire;
    int parent;  // −1: the file
    bool leaf = true;
  };
  using Random = std::mt19937_64;

  bool scan(std::size_t begin, std::size_t end, int parent, int depth);
  std::size_t place(Random& random) const;
  const Field& pick(Random& random) const;
  std::string replaced(const Field& field, std::string_view with) const;

  Mutant truncate(Random& random) const;
  Mutant flip(Random& random) const;
  Mutant splice(Random& random) const;
  Mutant edit_number(Random& random) const;
  Mutant edit_field(Random& random) const;
  Mutant rewrite_leaf(Random& random) const;

  std::string model_;
  std::vector<Field> fields_;
};

}  // namespace treadle::hostile
