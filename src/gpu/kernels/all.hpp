// The bodies of every kernel of list.inc.
#pragma once

#include "gpu/kernels/copy.hpp"
