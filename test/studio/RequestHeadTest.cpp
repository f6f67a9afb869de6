#include "studio/server/RequestHead.h"

#include <gtest/gtest.h>

using namespace headrace::studio;

namespace {

const ServerIdentity kServer{8123, "0123456789abcdef"};

int statusOf(const std::string &line, const std::string &headers) {
  return refusalOf(line + "\r\n" + headers, kServer, 1000).status;
}

const std::string kGet = "GET /0123456789abcdef/api/state HTTP/1.1";
const std::string kPost = "POST /0123456789abcdef/api/apply HTTP/1.1";
const std::string kHost = "Host: 127.0.0.1:8123\r\n";
const std::string kJson = "Content-Type: application/json\r\nContent-Length: 2\r\n";

} // namespace

TEST(RequestHead, ThePagePasses) {
  EXPECT_EQ(statusOf(kGet, kHost), 0);
  EXPECT_EQ(statusOf(kGet, "host:localhost:8123\r\nOrigin: http://localhost:8123\r\n"), 0);
  EXPECT_EQ(statusOf(kPost, kHost + kJson), 0);
  EXPECT_EQ(statusOf("GET /0123456789abcdef/ HTTP/1.1", kHost + "Sec-Fetch-Site: none\r\n"), 0);
}

TEST(RequestHead, OtherHostsAndOriginsAreRefused) {
  EXPECT_EQ(statusOf(kGet, ""), 403);
  EXPECT_EQ(statusOf(kGet, "Host: example.com\r\n"), 403);
  EXPECT_EQ(statusOf(kGet, "Host: 127.0.0.1\r\n"), 403);
  EXPECT_EQ(statusOf(kGet, "Host: 127.0.0.1:8124\r\n"), 403);
  EXPECT_EQ(statusOf(kGet, kHost + "Host: example.com\r\n"), 400);
  EXPECT_EQ(statusOf(kGet, kHost + "Origin: http://example.com\r\n"), 403);
  EXPECT_EQ(statusOf(kGet, kHost + "Origin: null\r\n"), 403);
  EXPECT_EQ(statusOf(kGet, kHost + "Origin: http://127.0.0.1:80\r\n"), 403);
  EXPECT_EQ(statusOf(kGet, kHost + "Sec-Fetch-Site: cross-site\r\n"), 403);
}

TEST(RequestHead, PathsWithoutTheTokenAreRefused) {
  for (const char *path : {"/", "/api/state", "/0123456789abcdee/", "/0123456789abcdef",
                           "/0123456789abcdef0/", "//0123456789abcdef/", "/../0123456789abcdef/"})
    EXPECT_EQ(statusOf("GET " + std::string(path) + " HTTP/1.1", kHost), 403) << path;
  EXPECT_EQ(statusOf("GET http://127.0.0.1:8123/0123456789abcdef/ HTTP/1.1", kHost), 400);
}

TEST(RequestHead, OnlyWhatThePageNeedsPasses) {
  EXPECT_EQ(statusOf("PUT /0123456789abcdef/ HTTP/1.1", kHost), 405);
  EXPECT_EQ(statusOf("GET /0123456789abcdef/ HTTP/1.0", kHost), 400);
  EXPECT_EQ(statusOf("GET", kHost), 400);
  EXPECT_EQ(statusOf("", kHost), 400);
  for (const char *header : {"Range: bytes=0-1", "Transfer-Encoding: chunked",
                             "Expect: 100-continue", "Upgrade: websocket", " folded: x", "none"})
    EXPECT_EQ(statusOf(kGet, kHost + header + "\r\n"), 400) << header;
}

TEST(RequestHead, BodiesAreBounded) {
  EXPECT_EQ(statusOf(kPost, kHost), 411);
  EXPECT_EQ(statusOf(kPost, kHost + "Content-Length: 2\r\n"), 411) << "a form is not JSON";
  std::string type = "Content-Type: application/json\r\n";
  EXPECT_EQ(statusOf(kPost, kHost + type + "Content-Length: 1000\r\n"), 0);
  EXPECT_EQ(statusOf(kPost, kHost + type + "Content-Length: 1001\r\n"), 413);
  EXPECT_EQ(statusOf(kPost, kHost + type + "Content-Length: 99999999999999999999\r\n"), 400);
  EXPECT_EQ(statusOf(kPost, kHost + type + "Content-Length: -1\r\n"), 400);
  EXPECT_EQ(statusOf(kPost, kHost + kJson + "Content-Length: 2\r\n"), 400);
  EXPECT_EQ(statusOf(kGet, kHost + "Content-Length: 5\r\n"), 413);
}
