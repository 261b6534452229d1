#include "framework/plugin/check/case_file.h"

#include <cstring>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "framework/op_def.h"

namespace millstream::plugin_check {
namespace {

constexpr absl::string_view kMagic = "MSCASES1";
// A larger tensor may have its first elements alone, which the others repeat.
constexpr int64_t kPeriod = 64;
// Of all tensors of a file.
constexpr int64_t kMostElements = 1 << 23;
constexpr uint8_t kRandom = 1;
constexpr uint8_t kVariable = 1;
constexpr uint8_t kConstant = 2;

// Takes numbers and texts off the front. After the end it gives zeros, and `is_whole` is false.
class Scanner {
 public:
  explicit Scanner(absl::string_view rest) : rest_(rest) {}

  bool is_whole() const { return is_whole_; }
  bool at_end() const { return rest_.empty(); }
  // Whether tensors may have so many elements more.
  bool Claim(int64_t elements) {
    if (elements > elements_left_) return false;
    elements_left_ -= elements;
    return true;
  }

  template <typename T>
  T Number() {
    T number = 0;
    const absl::string_view bytes = Bytes(sizeof(T));
    if (bytes.size() == sizeof(T)) std::memcpy(&number, bytes.data(), sizeof(T));
    return number;
  }
  absl::string_view Text() { return Bytes(Number<uint32_t>()); }
  absl::string_view ShortText() { return Bytes(Number<uint8_t>()); }

 private:
  absl::string_view Bytes(size_t size) {
    if (size > rest_.size()) {
      is_whole_ = false;
      rest_ = {};
      return {};
    }
    const absl::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return bytes;
  }

  absl::string_view rest_;
  bool is_whole_ = true;
  int64_t elements_left_ = kMostElements;
};

StatusOr<Shape> ReadShape(Scanner* scanner) {
  Shape shape;
  const auto rank = scanner->Number<uint8_t>();
  MS_RETURN_IF_ERROR(CheckRank(rank));
  for (int i = 0; i < rank; ++i) shape.AddDim(scanner->Number<int64_t>());
  if (!scanner->is_whole()) return errors::InvalidArgument("an input ends early");
  MS_RETURN_IF_ERROR(ValidateShape(shape));
  if (!scanner->Claim(shape.num_elements())) {
    return errors::InvalidArgument("expected at most ", kMostElements,
                                   " elements in all tensors, and shape ", shape.ToString(),
                                   " has more than are left");
  }
  return shape;
}

// Fills the elements after the first `given` with these, again and again.
template <typename T>
void Repeat(T* elements, int64_t given, int64_t count) {
  for (int64_t i = given; i < count; ++i) elements[i] = elements[i - given];
}

// Whether as many elements are given as there are, or as many as the others repeat.
bool AreEnough(int64_t given, int64_t count) {
  return given == count || (given == kPeriod && count > kPeriod);
}

Status ReadStrings(absl::string_view content, Tensor* tensor) {
  Scanner cells(content);
  auto* const elements = tensor->data<std::string>();
  const int64_t count = tensor->num_elements();
  int64_t given = 0;
  while (given < count && !cells.at_end()) elements[given++] = std::string(cells.ShortText());
  if (!cells.is_whole() || !cells.at_end() || !AreEnough(given, count)) {
    return errors::InvalidArgument(content.size(), " bytes are no ", count, " strings");
  }
  Repeat(elements, given, count);
  return absl::OkStatus();
}

StatusOr<Tensor> ReadTensor(DataType type, const Shape& shape, absl::string_view content) {
  if (type != DataType::kString && !IsPlainData(type)) {
    return errors::InvalidArgument("an input is of type ", DataTypeName(type));
  }
  MS_ASSIGN_OR_RETURN(Tensor tensor, Tensor::Create(type, shape));
  if (type == DataType::kString) {
    MS_RETURN_IF_ERROR(ReadStrings(content, &tensor));
    return tensor;
  }
  const size_t size = DataTypeSize(type);
  const int64_t given = static_cast<int64_t>(content.size() / size);
  if (content.size() % size != 0 || !AreEnough(given, tensor.num_elements())) {
    return errors::InvalidArgument(content.size(), " bytes are no tensor of ", DataTypeName(type),
                                   shape.ToString());
  }
  char* const bytes = static_cast<char*>(tensor.raw());
  if (!content.empty()) std::memcpy(bytes, content.data(), content.size());
  Repeat(bytes, static_cast<int64_t>(content.size()), static_cast<int64_t>(tensor.bytes()));
  return tensor;
}

StatusOr<CaseInput> ReadInput(Scanner* scanner) {
  const auto number = scanner->Number<uint8_t>();
  const auto flags = scanner->Number<uint8_t>();
  MS_ASSIGN_OR_RETURN(const Shape shape, ReadShape(scanner));
  const absl::string_view content = scanner->Text();
  if (!scanner->is_whole()) return errors::InvalidArgument("an input ends early");
  if (!IsValidDataType(number)) return errors::InvalidArgument("there is no type ", int{number});
  MS_ASSIGN_OR_RETURN(Tensor value, ReadTensor(static_cast<DataType>(number), shape, content));
  return CaseInput{std::move(value), (flags & kVariable) != 0, (flags & kConstant) != 0};
}

Status ReadAttr(Scanner* scanner, const OpDef& op, AttrMap* attrs) {
  const absl::string_view name = scanner->ShortText();
  const absl::string_view text = scanner->ShortText();
  const auto attr =
      absl::c_find_if(op.attrs, [name](const AttrDef& attr) { return attr.name == name; });
  if (attr == op.attrs.end()) {
    return errors::InvalidArgument(op.name, " has no attribute \"", name, "\"");
  }
  MS_ASSIGN_OR_RETURN(AttrValue value, ParseAttrValue(attr->type, text));
  SetAttr(attrs, name, std::move(value));
  return absl::OkStatus();
}

// The inputs have to be those of the node: kernels are not told how many there are.
Status CheckInputs(const OpDef& op, const KernelCase& kernel_case) {
  MS_ASSIGN_OR_RETURN(const NodeSignature signature, ExpandSignature(op, kernel_case.attrs));
  bool same = signature.input_types.size() == kernel_case.inputs.size();
  for (size_t i = 0; same && i < kernel_case.inputs.size(); ++i) {
    const CaseInput& input = kernel_case.inputs[i];
    const bool is_handle = signature.input_types[i] == DataType::kResource;
    same = is_handle == input.is_variable &&
           (is_handle || signature.input_types[i] == input.value.dtype());
  }
  return same ? absl::OkStatus() : errors::InvalidArgument("the inputs are not those of ", op.name);
}

StatusOr<KernelCase> ReadCase(Scanner* scanner, const OpDef& op) {
  KernelCase kernel_case;
  kernel_case.is_random = (scanner->Number<uint8_t>() & kRandom) != 0;
  const auto num_attrs = scanner->Number<uint8_t>();
  for (int i = 0; i < num_attrs; ++i) {
    MS_RETURN_IF_ERROR(ReadAttr(scanner, op, &kernel_case.attrs));
  }
  const auto num_inputs = scanner->Number<uint8_t>();
  for (int i = 0; i < num_inputs; ++i) {
    MS_ASSIGN_OR_RETURN(CaseInput input, ReadInput(scanner));
    absl::StrAppend(&kernel_case.text, i == 0 ? "" : " ", input.value.shape().ToString());
    kernel_case.inputs.push_back(std::move(input));
  }
  if (!scanner->is_whole()) return errors::InvalidArgument("a case ends early");
  MS_RETURN_IF_ERROR(CompleteAttrs(op, &kernel_case.attrs));
  MS_RETURN_IF_ERROR(CheckInputs(op, kernel_case));
  return kernel_case;
}

}  // namespace

StatusOr<CasesByOp> ReadCases(absl::string_view content, const OpRegistry& ops) {
  if (!absl::ConsumePrefix(&content, kMagic)) {
    return errors::InvalidArgument("expected a file of cases, which begins with ", kMagic);
  }
  Scanner scanner(content);
  CasesByOp cases;
  while (!scanner.at_end()) {
    const std::string name(scanner.ShortText());
    MS_ASSIGN_OR_RETURN(const OpDef* op, ops.Find(name));
    MS_ASSIGN_OR_RETURN(KernelCase kernel_case, ReadCase(&scanner, *op));
    cases[name].push_back(std::move(kernel_case));
  }
  if (!scanner.is_whole()) return errors::InvalidArgument("the file of cases ends early");
  return cases;
}

}  // namespace millstream::plugin_check
