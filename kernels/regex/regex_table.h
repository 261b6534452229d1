/* The table of functions of the library of regular expressions. Kernels open the library when they
 * first need it (regex.h); nothing else of Millstream is linked with RE2.
 *
 * Functions may be called from any thread, on one expression too. None keeps a pointer that it was
 * given. Texts have a size and may have any bytes. */
#ifndef MILLSTREAM_KERNELS_REGEX_REGEX_TABLE_H_
#define MILLSTREAM_KERNELS_REGEX_REGEX_TABLE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kMillstreamRegexVersion = 1 };

typedef struct millstream_text {
  const char* data;
  size_t size;
} millstream_text;

/* Gets a text that is valid until the function returns. */
typedef void (*millstream_take_text)(void* user, millstream_text text);

typedef struct millstream_regex_table {
  uint32_t version; /* kMillstreamRegexVersion */
  /* An expression that `destroy` frees. For a pattern that is none it gives NULL, and `take` gets
   * what is wrong. */
  void* (*compile)(millstream_text pattern, millstream_take_text take, void* user);
  void (*destroy)(void* regex);
  /* 1 if `replace` takes the rewrite; else 0, and `take` gets what is wrong. */
  int32_t (*check_rewrite)(const void* regex, millstream_text rewrite, millstream_take_text take,
                           void* user);
  /* 1 if the whole text matches, else 0. */
  int32_t (*matches_all)(const void* regex, millstream_text text);
  /* `take` gets the text with its first match, or each of its matches, rewritten. REQUIRES: that
   * check_rewrite took the rewrite. */
  void (*replace)(const void* regex, millstream_text rewrite, int32_t each, millstream_text text,
                  millstream_take_text take, void* user);
  /* The number that ICU's UScriptCode has for the character's script; 103 for no known one, -1 for
   * no character. */
  int32_t (*script_of)(int32_t character);
} millstream_regex_table;

/* The library's only symbol. */
typedef const millstream_regex_table* (*millstream_get_regex)(void);
#define MILLSTREAM_REGEX_SYMBOL "millstream_regex"

#ifdef __cplusplus
}
#endif

#endif /* MILLSTREAM_KERNELS_REGEX_REGEX_TABLE_H_ */
