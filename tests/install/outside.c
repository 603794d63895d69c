/* The installed C API: its version, and an error with its text. */
#include <stdio.h>
#include <string.h>
#include <treadle/treadle.h>

int main(void) {
  treadle_options options;
  treadle_model* model = NULL;
  treadle_options_init(&options);
  const treadle_status status = treadle_model_load("/nonexistent.onnx", &options, &model);
  printf("%s: %s: %s\n", treadle_version(), treadle_status_name(status), treadle_last_error());
  return status == TREADLE_IO && model == NULL && strstr(treadle_last_error(), "nonexistent") ? 0
                                                                                              : 1;
}
