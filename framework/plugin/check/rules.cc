#include "framework/plugin/check/rules.h"

namespace millstream::plugin_check {
namespace {

constexpr Rule kRules[] = {
    {"LOAD-PREFLIGHT", "load", "the file is an intact shared object of this machine with a note"},
    {"LOAD-VERSION", "load", "the note asks for an ABI that this host has"},
    {"LOAD-CPU", "load", "this machine has the instruction sets that the note names"},
    {"LOAD-SYMBOLS", "load", "it exports its entry point alone, and wants nothing of the host"},
    {"LOAD-OPEN", "load", "the file can be opened: it leaves no symbol to the process"},
    {"LOAD-ENTRY", "load", "the entry point gives an MS_Plugin that agrees with the note"},
    {"LOAD-FUNCTIONS", "load", "every mandatory function is there"},
    {"LOAD-INIT", "load", "init succeeds with the options that were given"},
    {"LOAD-REGISTER", "load", "register_all succeeds"},
    {"LOAD-SHUTDOWN", "load", "shutdown returns"},
    {"LOAD-OLD-HOST", "load", "a host of another ABI major is refused with a status"},
    {"OPTION-UNKNOWN", "options", "an option that nobody knows is refused with INVALID_ARGUMENT"},
    {"OPTION-SCHEMA", "options",
     "ms.options/1 describes every option, and init takes the defaults"},
    {"REG-KERNELS", "registry", "every op, argument, attribute and type of a kernel exists"},
    {"REG-TIES", "registry", "no two kernels fit one node with the same priority"},
    {"REG-DEVICES", "registry", "every kernel is for a device that is there or open to others"},
    {"REG-REFUSED", "registry", "register_all returns what a refused registration gave it"},
    {"DEV-STABLE", "devices", "enumerating twice gives the same devices"},
    {"DEV-COUNT", "devices", "enumerate counts all devices and fills no more than it may"},
    {"DEV-DESCRIPTION", "devices", "a device has a type, an ordinal of its own and its spaces"},
    {"DEV-REASON", "devices", "a plugin that finds no device says why"},
    {"DEV-CREATE", "devices", "a device is created and destroyed, with a full table"},
    {"DEV-TWICE", "devices", "two logical devices stand on one ordinal, each with its memory"},
    {"DEV-ORDINAL", "devices", "an ordinal that is not there is refused"},
    {"DEV-ERROR", "devices", "a fresh device reports no error"},
    {"MEM-ALIGN", "memory", "blocks start at the alignment that was asked for"},
    {"MEM-REF", "memory", "a block says its size and space"},
    {"MEM-DISTINCT", "memory", "blocks that live at the same time do not overlap"},
    {"MEM-ZERO", "memory", "zero bytes can be allocated and freed"},
    {"MEM-HUGE", "memory", "more than there can be is RESOURCE_EXHAUSTED"},
    {"MEM-SPACE", "memory", "a space that is not known is UNIMPLEMENTED"},
    {"MEM-SIZES", "memory", "sizes and statistics are plausible"},
    {"MEM-COUNT", "memory", "in_use follows what is allocated and freed"},
    {"MEM-LEAK", "memory", "after all blocks are freed nothing is in use"},
    {"COPY-DIRECTIONS", "copies", "copies between host and device keep every byte"},
    {"COPY-SIZES", "copies", "copies of odd sizes copy no byte less and none more"},
    {"COPY-OFFSETS", "copies", "copies start at odd offsets of both blocks"},
    {"COPY-ZERO", "copies", "copies of no bytes succeed and change nothing"},
    {"COPY-FILL", "copies", "fills repeat patterns of 1, 2 and 4 bytes"},
    {"COPY-PEER", "copies", "copies reach the memory of another device"},
    {"STREAM-ROLES", "streams", "streams of every role are created and destroyed"},
    {"STREAM-ORDER", "streams", "a stream does its work in order"},
    {"STREAM-IDLE", "streams", "after stream_sync the stream is idle"},
    {"STREAM-DEVICE-SYNC", "streams", "device_sync waits for every stream"},
    {"STREAM-DESTROY", "streams", "destroying a stream finishes or drops its work, and returns"},
    {"EVENT-FRESH", "streams", "an event that was never recorded is done"},
    {"EVENT-SYNC", "streams", "after event_sync what came before the event is done"},
    {"EVENT-QUERY", "streams", "an event gets done without anybody waiting for it"},
    {"EVENT-WAIT", "streams", "a stream that waits for an event sees what came before it"},
    {"HOSTFN-ONCE", "streams", "host functions are called once"},
    {"HOSTFN-ORDER", "streams", "host functions are called in order, after the work before them"},
    {"STREAM-THREADS", "streams", "streams of several threads do not disturb each other"},
    {"KERNEL-CREATE", "kernels", "a kernel is created for a node that the op allows"},
    {"KERNEL-RUNS", "kernels", "a kernel succeeds where the CPU plugin does"},
    {"KERNEL-REFERENCE", "kernels", "results are those of the CPU plugin within the type's bound"},
    {"KERNEL-SHAPES", "kernels", "outputs have the shapes that the CPU plugin gives"},
    {"KERNEL-PLANNED", "kernels", "with planned outputs and scratch results are the same"},
    {"KERNEL-FORWARD", "kernels", "outputs that take over inputs have the same values"},
    {"KERNEL-IN-PLACE", "kernels", "outputs laid over inputs by in-place pairs are the same"},
    {"KERNEL-OUTPUTS", "kernels", "success means that every used output is there"},
    {"KERNEL-BOUNDS", "kernels", "nothing is written outside outputs, temporaries and scratch"},
    {"KERNEL-INPUTS", "kernels", "inputs that are not given away keep their values"},
    {"KERNEL-FRAME", "kernels", "a kernel writes nothing to its frame and the views in it"},
    {"KERNEL-LOCKS", "kernels", "variables are unlocked once, before compute returns"},
    {"KERNEL-REFERENCES", "kernels", "every reference to a tensor or object is released once"},
    {"KERNEL-STATUS", "kernels", "every status is returned or freed, once"},
    {"KERNEL-AFTER", "kernels", "nothing of a frame is used after it"},
    {"KERNEL-ASYNC", "kernels", "an asynchronous kernel calls done once, then writes nothing"},
    {"KERNEL-CANCEL", "kernels",
     "in a cancelled step a kernel ends, with its results or CANCELLED"},
    {"KERNEL-TRACE", "kernels", "parts of a trace are begun and ended, and change no result"},
    {"KERNEL-RANDOM", "kernels", "random numbers are the CPU plugin's bit for bit"},
    {"FAULT-MEMORY", "faults", "when the host has no memory a kernel says so and leaves nothing"},
    {"THREADS-STATE", "threads", "one kernel gives the same bits from four threads at once"},
    {"TRACE-EVENTS", "trace", "a profiler's events lie within the work that was traced"},
    {"SOAK-DEVICES", "soak", "devices that come and go leave nothing"},
    {"SOAK-STREAMS", "soak", "streams, events and blocks that come and go leave nothing"},
};

}  // namespace

absl::Span<const Rule> Rules() { return kRules; }

const Rule* FindRule(absl::string_view id) {
  for (const Rule& rule : kRules) {
    if (id == rule.id) return &rule;
  }
  return nullptr;
}

}  // namespace millstream::plugin_check
