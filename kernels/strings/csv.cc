// DecodeCSV: fields of records that are separated by a character (RFC 4180).
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "framework/plugin/plugin.hpp"
#include "kernels/array/strings.h"
#include "kernels/common/number_text.h"

namespace millstream::kernels {
namespace {

struct Format {
  char delimiter = ',';
  bool has_quotes = true;
};

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

// Takes the next field, and what ends it, off the record. Sets *is_last if it is the last one.
// Returns what is wrong, or null.
const char* TakeField(const Format& format, std::string_view* record, std::string* field,
                      bool* is_last) {
  field->clear();
  while (!record->empty() && IsLineEnd(record->front())) record->remove_prefix(1);
  if (!format.has_quotes || record->empty() || record->front() != '"') {
    const size_t end = record->find(format.delimiter);
    *is_last = end == record->npos;
    field->assign(record->substr(0, end));
    record->remove_prefix(*is_last ? record->size() : end + 1);
    const bool is_plain = field->find_first_of("\n\r") == field->npos &&
                          (!format.has_quotes || field->find('"') == field->npos);
    return is_plain ? nullptr : "Unquoted fields cannot have quotes/CRLFs inside";
  }
  record->remove_prefix(1);
  for (;;) {
    const size_t quote = record->find('"');
    if (quote == record->npos) return "Quoted field has to end with quote followed by delim or end";
    field->append(record->substr(0, quote));
    record->remove_prefix(quote + 1);
    if (record->empty() || record->front() != '"') break;
    field->push_back('"');
    record->remove_prefix(1);
  }
  *is_last = record->empty();
  if (*is_last) return nullptr;
  if (record->front() != format.delimiter) {
    return "Quoted field has to end with quote followed by delim or end";
  }
  record->remove_prefix(1);
  return nullptr;
}

// Sets element i of the output to the number or text of a field; false if it is none.
bool SetField(const std::string& field, const ms::View& output, int64_t i) {
  switch (output.dtype()) {
    case MS_INT32: return ParseNumber(field, output.data<int32_t>() + i);
    case MS_INT64: return ParseNumber(field, output.data<int64_t>() + i);
    case MS_FLOAT32: return ParseNumber(field, output.data<float>() + i);
    case MS_FLOAT64: return ParseNumber(field, output.data<double>() + i);
    default: return true;
  }
}

// Inputs: records, and a default for each column.
class DecodeCsv {
 public:
  ms::Status Init(const ms::KernelInfo& info) {
    std::string delimiter;
    MS_TRY(info.Attr("field_delim", &delimiter));
    MS_TRY(info.Attr("use_quote_delim", &format_.has_quotes));
    MS_TRY(info.Attr("na_value", &na_value_));
    MS_TRY(info.Attr("select_cols", &columns_));
    if (delimiter.size() != 1) {
      return ms::InvalidArgument("field_delim should be only 1 char, got '", delimiter, "'");
    }
    format_.delimiter = delimiter[0];
    const std::string_view reserved = format_.has_quotes ? "\"\r\n" : "\r\n";
    if (reserved.find(delimiter[0]) != reserved.npos) {
      return ms::InvalidArgument("field_delim must be no quote and no end of a line");
    }
    if (!columns_.empty() && columns_.size() != info.num_outputs()) {
      return ms::InvalidArgument("select_cols should match output size: there are ",
                                 columns_.size(), " for ", info.num_outputs(), " outputs");
    }
    for (size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i] >= 0 && (i == 0 || columns_[i] > columns_[i - 1])) continue;
      return ms::InvalidArgument(
          "select_cols should be strictly increasing indices from 0 on, but ", "select_cols[", i,
          "] = ", columns_[i]);
    }
    return ms::Status();
  }

  ms::Status Compute(ms::Frame& frame) const {
    const ms::View records = frame.input(0);
    std::vector<ms::View> outputs(frame.num_outputs());
    for (uint32_t k = 0; k < frame.num_outputs(); ++k) {
      const ms::View value = frame.input(k + 1);
      if (value.rank() > 1 || value.size() > 1) {
        return ms::InvalidArgument("record_defaults[", k, "] must be a scalar or a vector of at ",
                                   "most one element, but has shape ", value.shape().ToString());
      }
      MS_TRY(frame.Output(k, records.shape(), &outputs[k]));
    }
    for (int64_t i = 0; i < records.size(); ++i) {
      std::string_view record;
      MS_TRY(records.GetString(i, &record));
      MS_TRY(ReadRecord(frame, record, i, outputs));
    }
    return ms::Status();
  }

 private:
  ms::Status ReadRecord(const ms::Frame& frame, std::string_view record, int64_t i,
                        const std::vector<ms::View>& outputs) const {
    size_t next = 0;  // output
    bool is_last = record.empty();
    std::string field;
    for (int64_t column = 0; !is_last; ++column) {
      const char* const wrong = TakeField(format_, &record, &field, &is_last);
      if (wrong != nullptr) return ms::InvalidArgument(wrong, ": records[", i, "]");
      if (!columns_.empty()) {
        if (next == outputs.size() || columns_[next] != column) continue;
      } else if (next == outputs.size()) {
        return ms::InvalidArgument("Expect ", outputs.size(), " fields but have more in records[",
                                   i, "]");
      }
      MS_TRY(SetOutput(frame, field, static_cast<uint32_t>(next), i, outputs[next]));
      ++next;
    }
    if (next == outputs.size()) return ms::Status();
    return ms::InvalidArgument("Expect ", outputs.size(), " fields but have ", next, " in records[",
                               i, "]");
  }

  ms::Status SetOutput(const ms::Frame& frame, const std::string& field, uint32_t k, int64_t i,
                       const ms::View& output) const {
    const ms::View value = frame.input(k + 1);
    if (!field.empty() && field != na_value_) {
      if (output.dtype() == MS_STRING) return output.SetString(i, field);
      if (SetField(field, output, i)) return ms::Status();
      return ms::InvalidArgument("Field ", k, " in record ", i, " is not a valid number: ", field,
                                 " (argument 'records')");
    }
    if (value.size() == 0) {
      return ms::InvalidArgument("Field ", k, " is required but missing in record ", i,
                                 ": record_defaults[", k, "] is empty");
    }
    if (output.dtype() == MS_STRING) return CopyString(value, 0, output, i);
    const uint64_t bytes = ms::ElementSize(output.dtype());
    std::memcpy(output.data<char>() + static_cast<uint64_t>(i) * bytes, value.raw(), bytes);
    return ms::Status();
  }

  Format format_;
  std::string na_value_;
  std::vector<int64_t> columns_;
};

const ms::Registered decode_csv = ms::Register<DecodeCsv>("DecodeCSV");

}  // namespace
}  // namespace millstream::kernels
