// ParseAttrValue: parses attribute values in the form of op specifications.
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "framework/attr_value.h"
#include "framework/text_scanner.h"

namespace millstream {
namespace {

// Parse(scanner, value) for each kind of value; INVALID_ARGUMENT says what was expected.

Status Parse(TextScanner* scanner, int64_t* value) {
  MS_ASSIGN_OR_RETURN(*value, scanner->Integer());
  return absl::OkStatus();
}

Status Parse(TextScanner* scanner, float* value) {
  const TextScanner start = *scanner;
  if (absl::SimpleAtof(scanner->Word(), value)) return absl::OkStatus();
  return TextScanner(start).Error("a number");
}

Status Parse(TextScanner* scanner, double* value) {
  const TextScanner start = *scanner;
  if (absl::SimpleAtod(scanner->Word(), value)) return absl::OkStatus();
  return TextScanner(start).Error("a number");
}

Status Parse(TextScanner* scanner, bool* value) {
  const TextScanner start = *scanner;
  const absl::string_view word = scanner->Word();
  *value = word == "true";
  if (*value || word == "false") return absl::OkStatus();
  return TextScanner(start).Error("true or false");
}

Status Parse(TextScanner* scanner, std::string* value) {
  MS_ASSIGN_OR_RETURN(*value, scanner->QuotedString());
  return absl::OkStatus();
}

Status Parse(TextScanner* scanner, DataType* value) {
  const TextScanner start = *scanner;
  MS_ASSIGN_OR_RETURN(const std::string name, scanner->Identifier());
  *value = ParseDataType(name);
  if (*value != DataType::kInvalid) return absl::OkStatus();
  return TextScanner(start).Error("a type");
}

// One size of `[2, ?]`.
StatusOr<int64_t> ParseDim(TextScanner* scanner) {
  if (scanner->Consume("?")) return kUnknownDim;
  const TextScanner start = *scanner;
  MS_ASSIGN_OR_RETURN(const int64_t size, scanner->Integer());
  if (size < kUnknownDim) return TextScanner(start).Error("a size, -1 or ?");
  return size;
}

// After the brace of `{ dim { size: 2 } }`: the text form of the shape message.
Status ParseShapeMessage(TextScanner* scanner, PartialShape* value) {
  *value = PartialShape::Scalar();
  while (!scanner->Consume("}")) {
    if (scanner->Consume("unknown_rank")) {
      MS_RETURN_IF_ERROR(scanner->Expect(":"));
      bool unknown = false;
      MS_RETURN_IF_ERROR(Parse(scanner, &unknown));
      if (unknown) *value = PartialShape();
      continue;
    }
    MS_RETURN_IF_ERROR(scanner->Expect("dim"));
    MS_RETURN_IF_ERROR(scanner->Expect("{"));
    MS_RETURN_IF_ERROR(scanner->Expect("size"));
    MS_RETURN_IF_ERROR(scanner->Expect(":"));
    MS_ASSIGN_OR_RETURN(const int64_t size, ParseDim(scanner));
    MS_RETURN_IF_ERROR(scanner->Expect("}"));
    if (!value->known_rank()) return scanner->Error("no dim beside unknown_rank");
    value->AddDim(size);
  }
  return absl::OkStatus();
}

Status Parse(TextScanner* scanner, PartialShape* value) {
  if (scanner->Consume("{")) return ParseShapeMessage(scanner, value);
  *value = PartialShape();
  if (scanner->Consume("?") || scanner->Consume("<unknown>")) return absl::OkStatus();
  MS_RETURN_IF_ERROR(scanner->Expect("["));
  *value = PartialShape::Scalar();
  if (scanner->Consume("]")) return absl::OkStatus();
  do {
    MS_ASSIGN_OR_RETURN(const int64_t size, ParseDim(scanner));
    value->AddDim(size);
  } while (scanner->Consume(","));
  return scanner->Expect("]");
}

template <typename Cell, typename Parsed = Cell>
Status ParseElements(TextScanner* scanner, Tensor* tensor) {
  MS_RETURN_IF_ERROR(scanner->Expect("["));
  for (int64_t i = 0; i < tensor->num_elements(); ++i) {
    if (i > 0) MS_RETURN_IF_ERROR(scanner->Expect(","));
    const TextScanner start = *scanner;
    Parsed parsed{};
    MS_RETURN_IF_ERROR(Parse(scanner, &parsed));
    tensor->data<Cell>()[i] = static_cast<Cell>(parsed);
    if constexpr (!std::is_same_v<Cell, Parsed>) {
      if (static_cast<Parsed>(tensor->data<Cell>()[i]) != parsed) {
        return TextScanner(start).Error(absl::StrCat("a value of ", DataTypeName(tensor->dtype())));
      }
    }
  }
  return scanner->Expect("]");
}

Status Parse(TextScanner* scanner, Tensor* value) {
  DataType dtype = DataType::kInvalid;
  PartialShape shape;
  MS_RETURN_IF_ERROR(Parse(scanner, &dtype));
  const TextScanner start = *scanner;
  MS_RETURN_IF_ERROR(Parse(scanner, &shape));
  if (!shape.IsFullyKnown()) return TextScanner(start).Error("a shape that is fully known");
  MS_ASSIGN_OR_RETURN(*value, Tensor::Create(dtype, shape.ToShape()));
  switch (dtype) {
    case DataType::kFloat: return ParseElements<float>(scanner, value);
    case DataType::kDouble: return ParseElements<double>(scanner, value);
    case DataType::kInt8: return ParseElements<int8_t, int64_t>(scanner, value);
    case DataType::kUInt8: return ParseElements<uint8_t, int64_t>(scanner, value);
    case DataType::kInt16: return ParseElements<int16_t, int64_t>(scanner, value);
    case DataType::kUInt16: return ParseElements<uint16_t, int64_t>(scanner, value);
    case DataType::kInt32: return ParseElements<int32_t, int64_t>(scanner, value);
    case DataType::kInt64: return ParseElements<int64_t>(scanner, value);
    case DataType::kBool: return ParseElements<bool>(scanner, value);
    case DataType::kString: return ParseElements<std::string>(scanner, value);
    default:
      return errors::InvalidArgument("tensors of ", DataTypeName(dtype), " have no text form");
  }
}

Status Parse(TextScanner* scanner, FunctionRef* value) {
  MS_ASSIGN_OR_RETURN(value->name, scanner->Identifier());
  return absl::OkStatus();
}

template <typename T>
Status Parse(TextScanner* scanner, std::vector<T>* list) {
  MS_RETURN_IF_ERROR(scanner->Expect("["));
  if (scanner->Consume("]")) return absl::OkStatus();
  do {
    T value{};
    MS_RETURN_IF_ERROR(Parse(scanner, &value));
    list->push_back(std::move(value));
  } while (scanner->Consume(","));
  return scanner->Expect("]");
}

template <typename T>
StatusOr<AttrValue> ParseAll(absl::string_view text) {
  TextScanner scanner(text);
  T value{};
  MS_RETURN_IF_ERROR(Parse(&scanner, &value));
  MS_RETURN_IF_ERROR(scanner.ExpectEnd());
  return AttrValue(std::move(value));
}

template <typename T>
StatusOr<AttrValue> ParseOneOrList(bool is_list, absl::string_view text) {
  return is_list ? ParseAll<std::vector<T>>(text) : ParseAll<T>(text);
}

}  // namespace

StatusOr<AttrValue> ParseAttrValue(absl::string_view type, absl::string_view text) {
  absl::string_view kind = type;
  const bool is_list = absl::ConsumePrefix(&kind, "list(") && absl::ConsumeSuffix(&kind, ")");
  if (kind == "int") return ParseOneOrList<int64_t>(is_list, text);
  if (kind == "float") return ParseOneOrList<float>(is_list, text);
  if (kind == "bool") return ParseOneOrList<bool>(is_list, text);
  if (kind == "string") return ParseOneOrList<std::string>(is_list, text);
  if (kind == "type") return ParseOneOrList<DataType>(is_list, text);
  if (kind == "shape") return ParseOneOrList<PartialShape>(is_list, text);
  if (kind == "tensor") return ParseOneOrList<Tensor>(is_list, text);
  if (kind == "func") return ParseOneOrList<FunctionRef>(is_list, text);
  return errors::InvalidArgument("'", type, "' is no type of attributes (for the value '", text,
                                 "')");
}

}  // namespace millstream
