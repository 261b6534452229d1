// Strings and sounds, by the ops that parse them. The first byte chooses the op, the rest is the
// string; where an op takes a pattern, the pattern is what is fed.
#include <iterator>
#include <string>
#include <vector>

#include "testing/fuzz/fed_string.h"
#include "testing/fuzz/target.h"

namespace {

using millstream::fuzz::FedString;

struct Parser {
  char letter;       // of the input's first byte
  const char* name;  // of its node
};

constexpr Parser kParsers[] = {
    {'w', "wav"},           {'c', "csv"},     {'C', "csv_some"},    {'n', "float"},
    {'N', "int64"},         {'u', "utf8"},    {'U', "utf16"},       {'t', "shift_jis"},
    {'l', "lower"},         {'L', "length"},  {'b', "base64"},      {'d', "raw"},
    {'r', "regex_pattern"}, {'R', "rewrite"}, {'m', "regex_input"}, {'s', "split"},
    {'S', "separator"},     {'j', "json"},    {'p', "tensor"},      {'z', "gzip"},
};

constexpr char kNodes[] = R"(
node { name: 'axis' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }
       attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 } } } }
node { name: 'row' op: 'ExpandDims' input: 'x' input: 'axis'
       attr { key: 'T' value { type: DT_STRING } } }
node { name: 'text' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
       attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { }
                                            string_val: 'abab, aab' } } } }
node { name: 'texts' op: 'ExpandDims' input: 'text' input: 'axis'
       attr { key: 'T' value { type: DT_STRING } } }
node { name: 'pattern' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
       attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { }
                                            string_val: '(a+)(b|$)' } } } }
node { name: 'comma' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
       attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { }
                                            string_val: ',' } } } }
node { name: 'number' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } }
       attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 1 } }
                                            float_val: 0.5 } } } }
node { name: 'word' op: 'Const' attr { key: 'dtype' value { type: DT_STRING } }
       attr { key: 'value' value { tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } }
                                            string_val: 'none' } } } }
node { name: 'wav' op: 'DecodeWav' input: 'x' }
node { name: 'csv' op: 'DecodeCSV' input: 'x' input: 'number' input: 'word' attr {
       key: 'OUT_TYPE' value { list { type: DT_FLOAT type: DT_STRING } } } }
node { name: 'csv_some' op: 'DecodeCSV' input: 'x' input: 'word' attr {
       key: 'OUT_TYPE' value { list { type: DT_STRING } } }
       attr { key: 'select_cols' value { list { i: 1 } } } }
node { name: 'float' op: 'StringToNumber' input: 'x' }
node { name: 'int64' op: 'StringToNumber' input: 'x'
       attr { key: 'out_type' value { type: DT_INT64 } } }
node { name: 'utf8' op: 'UnicodeDecodeWithOffsets' input: 'row'
       attr { key: 'input_encoding' value { s: 'UTF-8' } } }
node { name: 'utf16' op: 'UnicodeDecode' input: 'row'
       attr { key: 'input_encoding' value { s: 'UTF-16-BE' } } }
node { name: 'shift_jis' op: 'UnicodeTranscode' input: 'x'
       attr { key: 'input_encoding' value { s: 'SHIFT_JIS' } }
       attr { key: 'output_encoding' value { s: 'UTF-8' } } }
node { name: 'lower' op: 'StringLower' input: 'x' attr { key: 'encoding' value { s: 'utf-8' } } }
node { name: 'length' op: 'StringLength' input: 'x' attr { key: 'unit' value { s: 'UTF8_CHAR' } } }
node { name: 'base64' op: 'DecodeBase64' input: 'x' }
node { name: 'raw' op: 'DecodeRaw' input: 'x' attr { key: 'out_type' value { type: DT_INT32 } } }
node { name: 'regex_pattern' op: 'RegexFullMatch' input: 'text' input: 'x' }
node { name: 'rewrite' op: 'RegexReplace' input: 'text' input: 'pattern' input: 'x' }
node { name: 'regex_input' op: 'RegexReplace' input: 'x' input: 'pattern' input: 'comma' }
node { name: 'split' op: 'StringSplitV2' input: 'row' input: 'comma' }
node { name: 'separator' op: 'StringSplitV2' input: 'texts' input: 'x' }
node { name: 'json' op: 'DecodeJSONExample' input: 'x' }
node { name: 'tensor' op: 'ParseTensor' input: 'x'
       attr { key: 'out_type' value { type: DT_FLOAT } } }
node { name: 'gzip' op: 'DecodeCompressed' input: 'x'
       attr { key: 'compression_type' value { s: 'GZIP' } } })";

FedString* NewParsers() {
  std::vector<const char*> names;
  for (const Parser& parser : kParsers) names.push_back(parser.name);
  return new FedString(kNodes, names);
}

// A byte that is no letter stands for one of them, always the same.
size_t ParserOf(uint8_t letter) {
  for (size_t i = 0; i < std::size(kParsers); ++i) {
    if (kParsers[i].letter == static_cast<char>(letter)) return i;
  }
  return letter % std::size(kParsers);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static FedString* const parsers = NewParsers();
  if (size == 0) return 0;
  millstream_tensor_free(parsers->Run(ParserOf(data[0]), data + 1, size - 1));
  return 0;
}
