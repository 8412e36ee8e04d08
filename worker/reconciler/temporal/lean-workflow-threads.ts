// Loaded into every thread of the worker before anything else (`node --import`): what the SDK does around each step of a workflow and has no
// switch for. --call-stacks=yes leaves the SDK as it is.
//
//   T1. It records a stack for each promise, with its source map, so that Temporal's UI can show where a run waits: a third of the workflow
//       thread's time. What a run waits for is in its details and in the journal.
//   T2. It gives every call into the sandbox a watchdog, a thread of its own that costs 0.2 ms, against code that does not end. Calls that run
//       no code of workflows, two of the three in a step, go without; where it is not the SDK that calls, nothing changes.

import { promiseHooks } from 'node:v8'
import vm from 'node:vm'
import { isMainThread } from 'node:worker_threads'

type RunInContext = (this: vm.Script, context: vm.Context, options?: vm.RunningScriptOptions) => unknown

if (!isMainThread) {
  const none: typeof promiseHooks.createHook = () => () => undefined
  promiseHooks.createHook = none

  const runInContext = Reflect.get(vm.Script.prototype, 'runInContext') as RunInContext
  vm.Script.prototype.runInContext = function (context: vm.Context, options?: vm.RunningScriptOptions): unknown {
    if (options?.timeout === undefined || !runsNoWorkflow(context)) return runInContext.call(this, context, options)
    const unwatched = { ...options }
    delete unwatched.timeout
    return runInContext.call(this, context, unwatched)
  }
}

/** What the SDK leaves in the sandbox's context before and between its calls (@temporalio/worker, reusable-vm). */
interface SandboxGlobals {
  readonly __temporal_args?: readonly [holder: unknown, name: string, args: unknown]
  /** Whose globals are in place. */
  readonly __TEMPORAL_BAG_HOLDER__?: unknown
  readonly __TEMPORAL_ACTIVATOR__?: { readonly blockedConditions?: ReadonlyMap<number, unknown> }
}

function runsNoWorkflow(context: SandboxGlobals): boolean {
  const [holder, name] = context.__temporal_args ?? []
  if (name === 'concludeActivation') return true
  // Without conditions that wait there is nothing to ask.
  const isInPlace = holder !== undefined && holder === context.__TEMPORAL_BAG_HOLDER__
  return name === 'tryUnblockConditions' && isInPlace && context.__TEMPORAL_ACTIVATOR__?.blockedConditions?.size === 0
}
