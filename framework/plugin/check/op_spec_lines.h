// The standard ops as texts; the build writes the .cc (list_op_specs.cc).
#ifndef MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPEC_LINES_H_
#define MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPEC_LINES_H_

namespace millstream::plugin_check {

// Lines of a letter and a text: N, an op's name; I, O, A: an input, output or attribute of it, as
// OpSpec reads them. One text, since thousands of pointers would have to be relocated.
extern const char kOpSpecLines[];

}  // namespace millstream::plugin_check

#endif  // MILLSTREAM_FRAMEWORK_PLUGIN_CHECK_OP_SPEC_LINES_H_
