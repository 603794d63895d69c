#include "cpu_translate_util.hpp"
#include "ops/recurrent.hpp"

namespace treadle::cpu::test {
namespace {

using ops::CellKind;
using ops::Direction;
using ops::Recurrent;

Recurrent make(CellKind cell, Direction direction, std::int64_t hidden) {
  Recurrent r;
  r.cell = cell;
  r.direction = direction;
  r.hidden = hidden;
  for (int d = 0; d < (direction == Direction::Bidirectional ? 2 : 1); ++d) {
    r.activations.insert(r.activations.end(), {"sigmoid", "tanh"});
    if (cell == CellKind::Lstm) r.activations.push_back("tanh");
  }
  r.alpha.assign(r.activations.size(), 0);
  r.beta.assign(r.activations.size(), 0);
  return r;
}

struct Sizes {
  std::int64_t time, batch, features, hidden;
};

TEST(TranslateRecurrent, AgreesWithTheReference) {
  std::mt19937 random(1);
  for (const Sizes& s :
       {Sizes{1, 1, 1, 1}, Sizes{7, 3, 5, 19}, Sizes{20, 1, 40, 64}, Sizes{0, 2, 3, 4}}) {
    for (const CellKind cell : {CellKind::Lstm, CellKind::Gru}) {
      for (const Direction direction :
           {Direction::Forward, Direction::Reverse, Direction::Bidirectional}) {
        Recurrent op = make(cell, direction, s.hidden);
        const std::int64_t d = direction == Direction::Bidirectional ? 2 : 1;
        const std::int64_t rows = (cell == CellKind::Lstm ? 4 : 3) * s.hidden;
        const Tensor x = random_f32(random, {s.time, s.batch, s.features}, -1, 1);
        const Tensor w = random_f32(random, {d, rows, s.features}, -0.5f, 0.5f);
        const Tensor r = random_f32(random, {d, rows, s.hidden}, -0.3f, 0.3f);
        const Tensor b = random_f32(random, {d, 2 * rows}, -0.5f, 0.5f);
        const Tensor h = random_f32(random, {d, s.batch, s.hidden}, -1, 1);
        const Tensor c = random_f32(random, {d, s.batch, s.hidden}, -1, 1);
        const std::vector<bool> constants = {false, true, true, true};
        op.linear_before_reset = cell == CellKind::Gru && s.time % 2 == 1;
        const OperatorPtr shared = std::make_shared<Recurrent>(op);
        expect_reference(shared, {x, w, r}, 1e-5, constants);
        std::vector<Tensor> all = {x, w, r, b, Tensor(), h};
        if (cell == CellKind::Lstm) all.push_back(c);
        expect_reference(shared, all, 1e-5, constants);
        all[3] = Tensor();
        op.linear_before_reset = cell == CellKind::Gru && !op.linear_before_reset;
        expect_reference(std::make_shared<Recurrent>(op), all, 1e-5, constants);
      }
    }
  }
}

}  // namespace
}  // namespace treadle::cpu::test
