// `pawl/kit/testing`: functions for unit tests of controllers. Imports neither Temporal nor Node nor a test runner.

export { runPass } from './run-pass.ts'
export type { FakedCalls, FakedFaults, GivenPass, PassCourse, TestEvent, TestWrite } from './pass-course.ts'
export { CREATED, stored } from './stored-objects.ts'
export type { Unstored } from './stored-objects.ts'
export { describeTrace, recordSteps, traceToMermaid } from '../plan/trace.ts'
export type { StepMark, StepRecorder, TracedStep, TraceTextOptions } from '../plan/trace.ts'
