#include "formats/http/head.h"

#include <gtest/gtest.h>

namespace vramwise::formats {
namespace {

TEST(HttpHead, LinesAndInterimAnswers) {
  HttpHead head;
  for (const char* line : {"HTTP/1.1 100 Continue\r\n", "X-Old: 1\r\n", "\r\n", "HTTP/2 206 \r\n",
                           "Content-Range: bytes 0-1/9\r\n", "content-range: second\r\n",
                           "no colon\r\n", ": no name\r\n"}) {
    head.add_line(line);
  }
  EXPECT_EQ(head.status, 206);
  EXPECT_EQ(head.find("content-range"), "bytes 0-1/9");
  EXPECT_EQ(head.find("x-old"), "");
  head.add_line("HTTP/1.1 abc");
  EXPECT_EQ(head.status, 0);
}

TEST(HttpHead, ContentRange) {
  const auto range = parse_content_range("bytes 100-199/1000");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->first, 100);
  EXPECT_EQ(range->last, 199);
  EXPECT_EQ(range->total, 1000);
  EXPECT_EQ(parse_content_range("bytes */55")->total, 55);
  EXPECT_EQ(parse_content_range("bytes 0-9/*")->total, -1);
  for (const char* bad : {"", "bytes", "bytes 0-9", "items 0-9/10", "bytes 9-0/10", "bytes 0-10/10",
                          "bytes -5/10", "bytes 0x1-9/10", "bytes 0-9/99999999999999999999"}) {
    EXPECT_FALSE(parse_content_range(bad)) << bad;
  }
}

TEST(HttpHead, RetryAfter) {
  EXPECT_EQ(parse_retry_after("120", 0), 120);
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1445412400), 80);
  EXPECT_EQ(parse_retry_after("Wed, 21 Oct 2015 07:28:00 GMT", 1999999999), 0);
  for (const char* bad : {"", "soon", "-5", "Wed, 99 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2015"}) {
    EXPECT_FALSE(parse_retry_after(bad, 0)) << bad;
  }
}

TEST(HttpHead, Urls) {
  const auto url = parse_url("HTTPS://Hugging.Face:8443/a/b?c=d#e");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->to_text(), "https://hugging.face:8443/a/b?c=d");
  EXPECT_EQ(url->without_query(), "https://hugging.face:8443/a/b");
  EXPECT_EQ(parse_url("http://x")->to_text(), "http://x/");
  EXPECT_EQ(parse_url("http://[::1]:80/y")->to_text(), "http://[::1]/y");
  for (const char* bad :
       {"", "x", "ftp://x", "file:///etc/passwd", "http://", "http://user@x/", "http://u:p@x/",
        "http://x:0/", "http://x:99999/", "http://x/a b", "http://x\r\nHost: y/", "http://x\\y"}) {
    EXPECT_FALSE(parse_url(bad)) << bad;
  }
}

TEST(HttpHead, Locations) {
  const Url base = *parse_url("https://hub/a/b/c?q");
  const auto to = [&](std::string_view location) {
    const auto url = resolve_location(base, location);
    return url ? url->to_text() : "none";
  };
  EXPECT_EQ(to("https://cdn/x?sig=1"), "https://cdn/x?sig=1");
  EXPECT_EQ(to("/x"), "https://hub/x");
  EXPECT_EQ(to("//cdn/x"), "https://cdn/x");
  EXPECT_EQ(to("x"), "https://hub/a/b/x");
  EXPECT_EQ(to("?r"), "https://hub/a/b/c?r");
  EXPECT_EQ(to("file:///etc/passwd"), "none");
  EXPECT_EQ(to(""), "none");
  EXPECT_TRUE(same_origin(base, *parse_url("https://HUB:443/z")));
  EXPECT_FALSE(same_origin(base, *parse_url("http://hub/z")));
}

TEST(HttpHead, Links) {
  EXPECT_EQ(next_link(R"(<https://h/a>; rel="first", <https://h/b?c>; rel="next")"),
            "https://h/b?c");
  EXPECT_FALSE(next_link(R"(<https://h/a>; rel="first")"));
  EXPECT_FALSE(next_link("<<<"));
}

TEST(HttpHead, PathParts) { EXPECT_EQ(encode_path_part("a b/c%.gguf"), "a%20b%2Fc%25.gguf"); }

}  // namespace
}  // namespace vramwise::formats
