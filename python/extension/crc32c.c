/* The checksum of record files: CRC-32C (Castagnoli), RFC 3720, appendix B.4.
 *
 * Eight bytes are taken at a time, each through a table of its own (Kounavis, Berry: A systematic
 * approach to building high performance software-based CRC generators, 2005). */
#include <stdint.h>

#include "python/extension/runtime.h"

enum { kTables = 8 };

/* tables[k][b]: what the byte b, followed by k bytes of zero, does to a checksum of zero. */
static uint32_t tables[kTables][256];

static void fill_tables(void) {
  const uint32_t polynomial = 0x82F63B78u; /* bits reversed */
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? polynomial : 0);
    tables[0][byte] = crc;
  }
  for (int k = 1; k < kTables; ++k) {
    for (int byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xFF];
    }
  }
}

static uint32_t update(uint32_t crc, const unsigned char* data, size_t size) {
  for (; size >= kTables; size -= kTables, data += kTables) {
    uint32_t next = 0;
    for (int i = 0; i < 4; ++i) {
      next ^= tables[kTables - 1 - i][data[i] ^ ((crc >> (8 * i)) & 0xFF)];
      next ^= tables[kTables - 5 - i][data[i + 4]];
    }
    crc = next;
  }
  for (; size > 0; --size, ++data) crc = (crc >> 8) ^ tables[0][(crc ^ *data) & 0xFF];
  return crc;
}

static PyObject* crc32c(PyObject* module, PyObject* bytes) {
  (void)module;
  char* data = NULL;
  Py_ssize_t size = 0;
  if (PyBytes_AsStringAndSize(bytes, &data, &size) != 0) return NULL;
  const uint32_t crc = update(0xFFFFFFFFu, (const unsigned char*)data, (size_t)size);
  return PyLong_FromUnsignedLong(crc ^ 0xFFFFFFFFu);
}

static PyMethodDef functions[] = {
    {"crc32c", crc32c, METH_O, "crc32c(bytes) -> int: the CRC-32C."},
    {NULL, NULL, 0, NULL},
};

int crc32c_init(PyObject* module) {
  fill_tables();
  return PyModule_AddFunctions(module, functions);
}
