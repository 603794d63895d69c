// The text of treadle's kernels: what Metal would refuse is refused here.
#include <fstream>
#include <set>
#include <sstream>

#include "fixture.hpp"

namespace softmetal_test {
namespace {

std::string read_file(const char* path) {
  std::ostringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

class SoftMetalKernels : public SoftMetal {
 protected:
  id<MTLLibrary> library(const std::string& before = {}) {
    MTLCompileOptions* options = [[[MTLCompileOptions alloc] init] autorelease];
    [options setFastMathEnabled:NO];
    NSError* error = nil;
    NSString* text = [NSString stringWithUTF8String:(before + read_file(TREADLE_METAL_TEXT)).c_str()];
    id<MTLLibrary> made = [device newLibraryWithSource:text options:options error:&error];
    EXPECT_NE(made, nil) << [[error localizedDescription] UTF8String];
    return [made autorelease];
  }
};
using SoftMetalKernelsFull = SoftMetalKernels;

TEST_F(SoftMetalKernels, TheWholeTextCompiles) {
  std::istringstream listed(read_file(TREADLE_METAL_NAMES));
  std::set<std::string> expected;
  for (std::string name; std::getline(listed, name);) expected.insert(name);
  EXPECT_GT(expected.size(), 200u);
  // With Metal's own kernels, and the portable ones in their place.
  for (const char* before : {"", "#define TK_PORTABLE\n"}) {
    std::set<std::string> got;
    NSArray* names = [library(before) functionNames];
    for (NSUInteger i = 0; i < [names count]; ++i) got.insert([[names objectAtIndex:i] UTF8String]);
    EXPECT_EQ(got, expected) << before;
  }
}

TEST_F(SoftMetalKernelsFull, EveryKernelIsAPipeline) {
  id<MTLLibrary> all = library();
  NSArray* names = [all functionNames];
  for (NSUInteger i = 0; i < [names count]; ++i) {
    NSString* name = [names objectAtIndex:i];
    NSError* error = nil;
    id<MTLFunction> function = [[all newFunctionWithName:name] autorelease];
    id<MTLComputePipelineState> made =
        [[device newComputePipelineStateWithFunction:function error:&error] autorelease];
    ASSERT_NE(made, nil) << [[error localizedDescription] UTF8String];
    EXPECT_LE([made staticThreadgroupMemoryLength], 32768u) << [name UTF8String];
    EXPECT_EQ([made maxTotalThreadsPerThreadgroup] % 32, 0u) << [name UTF8String];
  }
}

}  // namespace
}  // namespace softmetal_test
