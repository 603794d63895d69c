// The classes behind Metal's protocols, as far as they need each other.
#pragma once

#import <Metal/Metal.h>

#include <memory>
#include <string>

#include "command.hpp"

// What all objects have that a device makes.
@interface SoftObject : NSObject {
  NSString* label;
  id<MTLDevice> device;
}
- (id)initWithDevice:(id<MTLDevice>)owner;
- (id<MTLDevice>)device;
- (NSString*)label;
- (void)setLabel:(NSString*)text;
@end

@interface SoftBuffer : SoftObject <MTLBuffer> {
 @public
  std::shared_ptr<softmetal::Buffer>* core;
  MTLResourceOptions options;
}
@end

@interface SoftPipeline : SoftObject <MTLComputePipelineState> {
 @public
  std::shared_ptr<softmetal::Pipeline>* core;
}
@end

@interface SoftQueue : SoftObject <MTLCommandQueue> {
 @public
  std::shared_ptr<softmetal::Queue>* core;
}
@end

namespace softmetal {

// Between Foundation and the core.
std::string text_of(NSString* text);
NSString* ns(const std::string& text);
void set_error(NSError** error, NSString* domain, NSInteger code, const std::string& text);

}  // namespace softmetal
