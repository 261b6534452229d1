// All message and enum types as JSON.
#ifndef MILLSTREAM_CORE_C_API_MESSAGE_DESCRIPTIONS_H_
#define MILLSTREAM_CORE_C_API_MESSAGE_DESCRIPTIONS_H_

#include <string>

namespace millstream::c_api {

// The JSON that millstream_message_descriptions returns. Types are in order of their names, fields
// in
// order of their numbers. A map field's message is its entry type ("NodeDef.AttrEntry"), with the
// fields "key" and "value". "enum" names the type of an enum field, "presence" says whether an
// unset field differs from one at its default.
std::string MessageDescriptions();

}  // namespace millstream::c_api

#endif  // MILLSTREAM_CORE_C_API_MESSAGE_DESCRIPTIONS_H_
