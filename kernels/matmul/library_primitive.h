// A primitive of oneDNN that is created when it is first needed. To create one takes up to
// milliseconds, because machine code is generated, and some primitives may never be executed.
#ifndef MILLSTREAM_KERNELS_MATMUL_LIBRARY_PRIMITIVE_H_
#define MILLSTREAM_KERNELS_MATMUL_LIBRARY_PRIMITIVE_H_

#include <dnnl.hpp>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace millstream::kernels {

// Its functions may be called from several threads at once, with OpenMP's teams of the size that
// the description was made with (LibraryThreads). They throw what the library throws.
class LibraryPrimitive {
 public:
  // An empty object, which cannot be executed.
  LibraryPrimitive() = default;
  explicit LibraryPrimitive(const dnnl::primitive_desc_base& description)
      : state_(std::make_unique<State>(description)) {}

  explicit operator bool() const { return state_ != nullptr; }

  // Creates the primitive if it was not created before. REQUIRES: it is not empty.
  void Prepare() const {
    std::call_once(state_->made,
                   [this] { state_->primitive = dnnl::primitive(state_->description.get()); });
  }

  // REQUIRES: it is not empty.
  void Execute(const dnnl::stream& stream,
               const std::unordered_map<int, dnnl::memory>& arguments) const {
    Prepare();
    state_->primitive.execute(stream, arguments);
  }

 private:
  struct State {
    explicit State(const dnnl::primitive_desc_base& desc) : description(desc) {}
    const dnnl::primitive_desc_base description;
    std::once_flag made;
    dnnl::primitive primitive;  // empty until it is made
  };
  std::unique_ptr<State> state_;
};

}  // namespace millstream::kernels

#endif  // MILLSTREAM_KERNELS_MATMUL_LIBRARY_PRIMITIVE_H_
