/* A C program that knows nothing but the installed header. */
#include <stdio.h>
#include <string.h>
#include <vramwise/vramwise.h>

int main(void) {
  const char* request = "{\"id\":\"install\",\"ask\":\"catalog\"}";
  void* answer = vramwise_handle(request, (uint32_t)strlen(request));
  if (answer == NULL) return 1;
  puts(vramwise_text(answer));
  const int is_json = vramwise_text(answer)[0] == '{';
  vramwise_free(answer);
  return is_json ? 0 : 1;
}
