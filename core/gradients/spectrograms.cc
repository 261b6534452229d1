// Spectra of sound have no gradients.
#include "core/gradients/gradient_registry.h"

namespace millstream {
namespace {

MILLSTREAM_NOT_DIFFERENTIABLE("AudioSpectrogram");
MILLSTREAM_NOT_DIFFERENTIABLE("Mfcc");

}  // namespace
}  // namespace millstream
