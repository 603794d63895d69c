#include "base/error.hpp"

#include <gtest/gtest.h>

namespace treadle {
namespace {

TEST(Error, ContextsStandOutermostFirst) {
  Error e(ErrorKind::Shape, "text");
  e.in("inner").in("outer");
  EXPECT_STREQ(e.what(), "outer: inner: text");
  e.in("file");
  EXPECT_STREQ(e.what(), "file: outer: inner: text");
}

TEST(Error, OriginTakesThePlaceOfTheNodeOfItsName) {
  Error e(ErrorKind::Shape, "text");
  e.in_node("a", "core a").in_origin("a", "file a").in("file");
  EXPECT_STREQ(e.what(), "file: file a: text");
}

TEST(Error, OriginLeavesOtherContexts) {
  Error other(ErrorKind::Shape, "text");
  other.in_node("a/1", "core a/1").in_origin("a", "file a");
  EXPECT_STREQ(other.what(), "file a: core a/1: text");
  Error between(ErrorKind::Shape, "text");
  between.in_node("a", "core a").in("attribute").in_origin("a", "file a");
  EXPECT_STREQ(between.what(), "file a: attribute: core a: text");
  // A node of a file around another one of the same name.
  Error nested(ErrorKind::Shape, "text");
  nested.in_node("a", "core a").in_origin("a", "inner a").in_origin("a", "outer a");
  EXPECT_STREQ(nested.what(), "outer a: inner a: text");
  Error none(ErrorKind::Shape, "text");
  none.in_origin("", "file");
  EXPECT_STREQ(none.what(), "file: text");
}

}  // namespace
}  // namespace treadle
