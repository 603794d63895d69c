/* treadle's C API. Handles are opaque; functions return a status code and leave the message of the
 * last failure in treadle_last_error(), one per thread. The interface only grows: enum values,
 * struct fields and functions are appended, and treadle_options carries its size. */
#ifndef TREADLE_TREADLE_H_
#define TREADLE_TREADLE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TREADLE_C_API __attribute__((visibility("default")))

typedef struct treadle_model treadle_model;
typedef struct treadle_session treadle_session;

typedef enum treadle_status {
  TREADLE_OK = 0,
  TREADLE_PARSE = 1,
  TREADLE_UNSUPPORTED = 2,
  TREADLE_SHAPE = 3,
  TREADLE_TYPE = 4,
  TREADLE_IO = 5,
  TREADLE_DEVICE = 6,
  TREADLE_MEMORY = 7,
  TREADLE_INTERNAL = 8,
  TREADLE_INVALID_ARGUMENT = 9
} treadle_status;

typedef enum treadle_dtype {
  TREADLE_BOOL = 0,
  TREADLE_I8 = 1,
  TREADLE_I16 = 2,
  TREADLE_I32 = 3,
  TREADLE_I64 = 4,
  TREADLE_U8 = 5,
  TREADLE_U16 = 6,
  TREADLE_U32 = 7,
  TREADLE_U64 = 8,
  TREADLE_F16 = 9,
  TREADLE_BF16 = 10,
  TREADLE_F32 = 11,
  TREADLE_F64 = 12,
  TREADLE_C64 = 13,
  TREADLE_C128 = 14,
  TREADLE_STRING = 15,
  /* One byte an element: the code of a float in the low bits, an integer sign-extended. */
  TREADLE_F8E4M3FN = 16,
  TREADLE_F8E4M3FNUZ = 17,
  TREADLE_F8E5M2 = 18,
  TREADLE_F8E5M2FNUZ = 19,
  TREADLE_F8E8M0 = 20,
  TREADLE_F6E2M3 = 21,
  TREADLE_F6E3M2 = 22,
  TREADLE_F4E2M1 = 23,
  TREADLE_I4 = 24,
  TREADLE_U4 = 25,
  TREADLE_I2 = 26,
  TREADLE_U2 = 27
} treadle_dtype;

#define TREADLE_MAX_RANK 16

/* Describes elements that somebody else owns. */
typedef struct treadle_tensor {
  treadle_dtype dtype;
  int32_t rank;
  int64_t shape[TREADLE_MAX_RANK];
  void* data;
  size_t bytes;
} treadle_tensor;

/* Set with treadle_options_init, then change fields. Arrays and texts stay the caller's. */
typedef struct treadle_options {
  size_t size;
  int32_t threads;
  int32_t exact;
  int32_t reference;
  const char* target;
  const char* const* shapes; /* "name=1,3,224,224" */
  size_t shape_count;
  const char* const* symbols; /* "batch=4" */
  size_t symbol_count;
  const char* const* cut_inputs;
  size_t cut_input_count;
  const char* const* extra_outputs;
  size_t extra_output_count;
  int64_t max_tensor_bytes;
  int64_t max_nodes;
  int64_t max_iterations; /* of all loops of a run together */
  double max_seconds;     /* of a run; 0: no bound */
  int32_t keep_denormals; /* not 0: denormals are not flushed to zero during a run */
  /* Called, unless NULL, with what is wrong in the file and keeps nothing from running, such as a
   * shape that an output is declared with and does not have; the text lives as long as the call.
   * While loading; for a file that can be read only when the sizes of the inputs are known also
   * from treadle_session_run. `warn_data` is handed on. */
  void (*warn)(const char* message, void* warn_data);
  void* warn_data;
} treadle_options;

/* A description of an input or output: sizes that are not fixed are -1. */
typedef struct treadle_port {
  const char* name; /* lives as long as the model */
  treadle_dtype dtype;
  int32_t rank;
  int64_t shape[TREADLE_MAX_RANK];
} treadle_port;

TREADLE_C_API const char* treadle_version(void);
/* The message of this thread's last failed call; "" when there was none. Valid until the next call.
 */
TREADLE_C_API const char* treadle_last_error(void);
TREADLE_C_API const char* treadle_status_name(treadle_status status);

TREADLE_C_API void treadle_options_init(treadle_options* options);

/* `options` may be NULL. On failure *model is NULL. */
TREADLE_C_API treadle_status treadle_model_load(const char* path, const treadle_options* options,
                                                treadle_model** model);
/* The bytes are copied. */
TREADLE_C_API treadle_status treadle_model_load_memory(const void* bytes, size_t size,
                                                       const treadle_options* options,
                                                       treadle_model** model);
/* Sessions of the model stay valid. NULL is allowed. */
TREADLE_C_API void treadle_model_free(treadle_model* model);
TREADLE_C_API size_t treadle_model_input_count(const treadle_model* model);
TREADLE_C_API size_t treadle_model_output_count(const treadle_model* model);
TREADLE_C_API treadle_status treadle_model_input(const treadle_model* model, size_t index,
                                                 treadle_port* port);
TREADLE_C_API treadle_status treadle_model_output(const treadle_model* model, size_t index,
                                                  treadle_port* port);

/* A session is used by one thread at a time; any number may share a model. */
TREADLE_C_API treadle_status treadle_session_create(const treadle_model* model,
                                                    treadle_session** session);
TREADLE_C_API void treadle_session_free(treadle_session* session);
/* The elements are not copied: they must stay until the runs that use them are over. `bytes` must
 * be what dtype and shape need. Not for strings. */
TREADLE_C_API treadle_status treadle_session_set_input(treadle_session* session, size_t index,
                                                       const treadle_tensor* tensor);
TREADLE_C_API treadle_status treadle_session_set_input_named(treadle_session* session,
                                                             const char* name,
                                                             const treadle_tensor* tensor);
TREADLE_C_API treadle_status treadle_session_run(treadle_session* session);
/* Describes an output of the last run; its elements stay valid until the next run. */
TREADLE_C_API treadle_status treadle_session_output(const treadle_session* session, size_t index,
                                                    treadle_tensor* tensor);
/* Element `element` of a string output; not terminated by a zero byte when it holds zero bytes. */
TREADLE_C_API treadle_status treadle_session_output_string(const treadle_session* session,
                                                           size_t index, size_t element,
                                                           const char** text, size_t* size);

#ifdef __cplusplus
}
#endif

#endif /* TREADLE_TREADLE_H_ */
