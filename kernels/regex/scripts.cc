#include "kernels/regex/scripts.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <string>
#include <vector>

namespace millstream::regex {
namespace {

// Numbers are those of the UScriptCode of ICU, names are of the Unicode standard.
struct Script {
  const char* name;
  int32_t code;
};

constexpr int32_t kInvalid = -1;
constexpr int32_t kUnknown = 103;

constexpr Script kScripts[] = {
    {"Common", 0},
    {"Inherited", 1},
    {"Arabic", 2},
    {"Armenian", 3},
    {"Bengali", 4},
    {"Bopomofo", 5},
    {"Cherokee", 6},
    {"Coptic", 7},
    {"Cyrillic", 8},
    {"Deseret", 9},
    {"Devanagari", 10},
    {"Ethiopic", 11},
    {"Georgian", 12},
    {"Gothic", 13},
    {"Greek", 14},
    {"Gujarati", 15},
    {"Gurmukhi", 16},
    {"Han", 17},
    {"Hangul", 18},
    {"Hebrew", 19},
    {"Hiragana", 20},
    {"Kannada", 21},
    {"Katakana", 22},
    {"Khmer", 23},
    {"Lao", 24},
    {"Latin", 25},
    {"Malayalam", 26},
    {"Mongolian", 27},
    {"Myanmar", 28},
    {"Ogham", 29},
    {"Old_Italic", 30},
    {"Oriya", 31},
    {"Runic", 32},
    {"Sinhala", 33},
    {"Syriac", 34},
    {"Tamil", 35},
    {"Telugu", 36},
    {"Thaana", 37},
    {"Thai", 38},
    {"Tibetan", 39},
    {"Canadian_Aboriginal", 40},
    {"Yi", 41},
    {"Tagalog", 42},
    {"Hanunoo", 43},
    {"Buhid", 44},
    {"Tagbanwa", 45},
    {"Braille", 46},
    {"Cypriot", 47},
    {"Limbu", 48},
    {"Linear_B", 49},
    {"Osmanya", 50},
    {"Shavian", 51},
    {"Tai_Le", 52},
    {"Ugaritic", 53},
    {"Buginese", 55},
    {"Glagolitic", 56},
    {"Kharoshthi", 57},
    {"Syloti_Nagri", 58},
    {"New_Tai_Lue", 59},
    {"Tifinagh", 60},
    {"Old_Persian", 61},
    {"Balinese", 62},
    {"Batak", 63},
    {"Brahmi", 65},
    {"Cham", 66},
    {"Egyptian_Hieroglyphs", 71},
    {"Pahawh_Hmong", 75},
    {"Old_Hungarian", 76},
    {"Javanese", 78},
    {"Kayah_Li", 79},
    {"Lepcha", 82},
    {"Linear_A", 83},
    {"Mandaic", 84},
    {"Meroitic_Hieroglyphs", 86},
    {"Nko", 87},
    {"Old_Turkic", 88},
    {"Old_Permic", 89},
    {"Phags_Pa", 90},
    {"Phoenician", 91},
    {"Miao", 92},
    {"Vai", 99},
    {"Cuneiform", 101},
    {"Carian", 104},
    {"Tai_Tham", 106},
    {"Lycian", 107},
    {"Lydian", 108},
    {"Ol_Chiki", 109},
    {"Rejang", 110},
    {"Saurashtra", 111},
    {"SignWriting", 112},
    {"Sundanese", 113},
    {"Meetei_Mayek", 115},
    {"Imperial_Aramaic", 116},
    {"Avestan", 117},
    {"Chakma", 118},
    {"Kaithi", 120},
    {"Manichaean", 121},
    {"Inscriptional_Pahlavi", 122},
    {"Psalter_Pahlavi", 123},
    {"Inscriptional_Parthian", 125},
    {"Samaritan", 126},
    {"Tai_Viet", 127},
    {"Bamum", 130},
    {"Lisu", 131},
    {"Old_South_Arabian", 133},
    {"Bassa_Vah", 134},
    {"Duployan", 135},
    {"Elbasan", 136},
    {"Grantha", 137},
    {"Mende_Kikakui", 140},
    {"Meroitic_Cursive", 141},
    {"Old_North_Arabian", 142},
    {"Nabataean", 143},
    {"Palmyrene", 144},
    {"Khudawadi", 145},
    {"Warang_Citi", 146},
    {"Mro", 149},
    {"Nushu", 150},
    {"Sharada", 151},
    {"Sora_Sompeng", 152},
    {"Takri", 153},
    {"Tangut", 154},
    {"Anatolian_Hieroglyphs", 156},
    {"Khojki", 157},
    {"Tirhuta", 158},
    {"Caucasian_Albanian", 159},
    {"Mahajani", 160},
    {"Ahom", 161},
    {"Hatran", 162},
    {"Modi", 163},
    {"Multani", 164},
    {"Pau_Cin_Hau", 165},
    {"Siddham", 166},
    {"Adlam", 167},
    {"Bhaiksuki", 168},
    {"Marchen", 169},
    {"Newa", 170},
    {"Osage", 171},
    {"Masaram_Gondi", 175},
    {"Soyombo", 176},
    {"Zanabazar_Square", 177},
    {"Dogra", 178},
    {"Gunjala_Gondi", 179},
    {"Makasar", 180},
    {"Medefaidrin", 181},
    {"Hanifi_Rohingya", 182},
    {"Sogdian", 183},
    {"Old_Sogdian", 184},
    {"Elymaic", 185},
    {"Nyiakeng_Puachue_Hmong", 186},
    {"Nandinagari", 187},
    {"Wancho", 188},
    {"Chorasmian", 189},
    {"Dives_Akuru", 190},
    {"Khitan_Small_Script", 191},
    {"Yezidi", 192},
    {"Cypro_Minoan", 193},
    {"Old_Uyghur", 194},
    {"Tangsa", 195},
    {"Toto", 196},
    {"Vithkuqi", 197},
    {"Kawi", 198},
    {"Nag_Mundari", 199},
};

// All scripts as one automaton, made when it is first used.
class ScriptSet {
 public:
  ScriptSet() : set_(Options(), re2::RE2::ANCHOR_BOTH) {
    for (const Script& script : kScripts) {
      // A script that RE2 is too old for has no place in the set.
      if (set_.Add(std::string("\\p{") + script.name + "}", nullptr) >= 0) {
        codes_.push_back(script.code);
      }
    }
    set_.Compile();
  }

  int32_t CodeOf(int32_t character) const {
    if (character < 0 || character > 0x10FFFF) return kInvalid;
    std::vector<int> found;
    set_.Match(Utf8Of(static_cast<uint32_t>(character)), &found);
    return found.empty() ? kUnknown : codes_[static_cast<size_t>(found.front())];
  }

 private:
  static re2::RE2::Options Options() {
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(int64_t{64} << 20);
    return options;
  }

  static std::string Utf8Of(uint32_t character) {
    if (character < 0x80) return std::string(1, static_cast<char>(character));
    const int more = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
    const uint32_t first = more == 1 ? 0xC0 : more == 2 ? 0xE0 : 0xF0;
    std::string text(1, static_cast<char>(first | (character >> (6 * more))));
    for (int i = more - 1; i >= 0; --i) {
      text += static_cast<char>(0x80 | ((character >> (6 * i)) & 0x3F));
    }
    return text;
  }

  re2::RE2::Set set_;
  std::vector<int32_t> codes_;
};

}  // namespace

int32_t ScriptOf(int32_t character) {
  // Never freed: steps may run as long as the process does.
  static const auto* const scripts = new ScriptSet;
  return scripts->CodeOf(character);
}

}  // namespace millstream::regex
