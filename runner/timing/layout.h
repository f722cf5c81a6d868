#pragma once

namespace etprof::runner {

// Every process randomizes its memory layout, so that equal variants do not differ because of their layouts.
//
// Operating systems move the heap by whole pages. Within a page, the address of an allocation of ExecuTorch
// depends on earlier allocations, and so on the lengths of the model's path and of messages. Every launch of
// a variant then has the same layout, and a variant with another name has another layout, which no number of
// launches averages out. For MobileNetV3-Small, a path that was 16 characters longer changed the self time of
// 11 of 18 OPERATOR_CALLs by more than 20% (145 ns instead of 210 ns), in every launch and in the same
// direction. Copies of the file, arguments, and environment variables changed nothing. With random layouts,
// the difference becomes part of a launch's effect, which the interval over launches covers
// (stats/ratio/launches.h). See Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously
// Wrong!", ASPLOS 2009; Curtsinger & Berger, "Stabilizer: Statistically Sound Performance Evaluation", ASPLOS
// 2013.

// Calls `program` with the stack moved by up to a page. Linux already moves the stack in steps of 16 bytes;
// other systems move it by whole pages, so that its offset depends on the arguments and the environment.
int CallWithShiftedStack(int (*program)(int, char**), int argc, char** argv);

// Moves later allocations by a random part of a page, and takes some of the free blocks that would be used
// next. The process keeps about 20 KB for this. All shifts of a launch together take 0.2 ms.
void ShiftHeap();

}  // namespace etprof::runner
