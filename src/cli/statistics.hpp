// Robust statistics for measurements. Values that are not finite are left out by every function.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace treadle::cli::statistics {

// Natural logarithms of the values that are finite and positive: differences of them are relative.
std::vector<double> logarithms(std::span<const double> values);

// The value below which `part` (0 to 1) of the values lie, interpolated; nullopt without values.
std::optional<double> quantile(std::span<const double> values, double part);
std::optional<double> median(std::span<const double> values);

// Fewest values of a series that its scatter is told from.
inline constexpr std::size_t kFewestForScatter = 5;

// How far a value of the series lies from the value before it, as a standard deviation; nullopt for
// fewer than kFewestForScatter values. A drift does not count (it is the median step, and taken
// off), a lasting step or an outlier counts as one or two of the many steps, and values that jump
// between two levels count in full. After the scale from adjacent values of Gelper, Schettlinger,
// Croux and Gather (2009); docs/benchmarking.md says why differences and why these quantiles.
std::optional<double> scatter_of_steps(std::span<const double> series);

// Standard deviation about the medians of two samples, over both; nullopt for fewer than two values
// in either.
std::optional<double> pooled_deviation(std::span<const double> a, std::span<const double> b);

// All of `b` above all of `a`, or all below; false when either is empty.
bool separated(std::span<const double> a, std::span<const double> b);

// The part of the pairs (one of `a`, one of `b`) for which `holds`; 0 without pairs.
double part_of_pairs(std::span<const double> a, std::span<const double> b,
                     const std::function<bool(double, double)>& holds);

}  // namespace treadle::cli::statistics
