// Loaded into every thread of the worker before anything else (`node --import`): no stack is recorded for the promises of workflows.
// The SDK records one for each promise, with its source map, so that Temporal's UI can show where a run waits; it has no switch for it, and it
// takes a third of the workflow thread's time. What a run waits for is in its details and in the journal; --call-stacks=yes brings the stacks back.

import { promiseHooks } from 'node:v8'
import { isMainThread } from 'node:worker_threads'

if (!isMainThread) {
  const none: typeof promiseHooks.createHook = () => () => undefined
  promiseHooks.createHook = none
}
