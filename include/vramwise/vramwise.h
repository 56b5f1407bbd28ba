/* The C interface of Vramwise: JSON in, JSON out (docs/json-contract.md). The same functions
 * are exported by the shared library and by vramwise.wasm.
 *
 *   const char* request =
 * "{\"model\":{\"ref\":\"Qwen/Qwen3-8B\"},\"hardware\":{\"gpu\":\"h100-sxm\"}}"; void* answer =
 * vramwise_handle(request, (uint32_t)strlen(request)); if (answer) puts(vramwise_text(answer));
 *   vramwise_free(answer);
 *
 * No function reads a file, the network, the clock or the environment, and none keeps anything
 * between two calls; calls from several threads need no lock.
 */
#ifndef VRAMWISE_VRAMWISE_H
#define VRAMWISE_VRAMWISE_H

#include <stdint.h>

#define VRAMWISE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Memory for a request, for callers that cannot hand over their own (JavaScript). 0 when there is
 * none or more than 256 MiB is asked for. */
VRAMWISE_API void* vramwise_alloc(uint32_t size);

/* Gives back what vramwise_alloc or vramwise_handle returned; 0 is allowed. */
VRAMWISE_API void vramwise_free(void* pointer);

/* Answers one request of `size` bytes of UTF-8. Returns a buffer that the caller frees: the length
 * of the answer as uint32_t in the byte order of the machine, the answer, a NUL that the length
 * does not count. An error is an answer too; 0 is returned only when there is no memory for it. */
VRAMWISE_API void* vramwise_handle(const char* request, uint32_t size);

/* A range of a model file that the caller has read: `blob` is the number that the request gives the
 * file ("model":{"blob":0,"size_bytes":…}). */
typedef struct vramwise_part {
  uint64_t offset;
  const void* bytes;
  uint32_t size;
  uint32_t blob;
} vramwise_part;

/* The same with parts of model files. While something is lacking the answer is
 * {"need":{"blob":…,"offset":…,"bytes":…}}: read that range and call again with all parts so far.
 */
VRAMWISE_API void* vramwise_handle_parts(const char* request, uint32_t size,
                                         const vramwise_part* parts, uint32_t count);

/* The answer as a C string. It lives as long as the buffer. */
static inline const char* vramwise_text(const void* answer) { return (const char*)answer + 4; }

#ifdef __cplusplus
}
#endif

#endif
