// Reduces the CPU time of workflow threads by two changes to the SDK that it has no options for. Loaded into each workflow thread before anything else
// (thread-arguments.ts). --call-stacks=yes leaves the SDK unchanged.
//
//   T1. The SDK records a stack trace with source map for each promise, so that Temporal's UI can show where a run waits. That is a third of the CPU time of
//       a workflow thread. The run's details and the journal show the same, so promise hooks are switched off.
//   T2. The SDK guards every call into the sandbox with a time-out thread that costs 0.2 ms, against endless loops. Calls that run no workflow code, two
//       of three in an activation, skip it.
//   T3. The SDK loads the modules of the bundle with the time-out of a workflow's call, 5 s. On a busy machine loading takes longer, and the worker would end.
//       Loading has LOADING_TIMEOUT_MS. All other calls are unchanged.

import { promiseHooks } from 'node:v8'
import vm from 'node:vm'

type RunInContext = (this: vm.Script, context: vm.Context, options?: vm.RunningScriptOptions) => unknown

/** T3. Ends endless loops at the top level of a module. */
const LOADING_TIMEOUT_MS = 60_000

const noPromiseHooks: typeof promiseHooks.createHook = () => () => undefined
promiseHooks.createHook = noPromiseHooks

const runInContext = Reflect.get(vm.Script.prototype, 'runInContext') as RunInContext
vm.Script.prototype.runInContext = function (context: vm.Context, options?: vm.RunningScriptOptions): unknown {
  if (options?.timeout === undefined) return runInContext.call(this, context, options)
  if (loadsModules(context)) return runInContext.call(this, context, { ...options, timeout: LOADING_TIMEOUT_MS })
  if (!runsNoWorkflow(context)) return runInContext.call(this, context, options)
  const withoutTimeout = { ...options }
  delete withoutTimeout.timeout
  return runInContext.call(this, context, withoutTimeout)
}

/** The state that the SDK stores in the sandbox's context between its calls (@temporalio/worker, reusable-vm). */
interface SandboxGlobals {
  readonly __temporal_args?: readonly [holder: unknown, name: string, args: unknown]
  /** The workflow whose globals are installed. */
  readonly __TEMPORAL_BAG_HOLDER__?: unknown
  readonly __TEMPORAL_ACTIVATOR__?: { readonly blockedConditions?: ReadonlyMap<number, unknown> }
}

/** Whether the SDK has not called any workflow in this sandbox yet (T3). */
function loadsModules(context: SandboxGlobals): boolean {
  return context.__temporal_args === undefined
}

function runsNoWorkflow(context: SandboxGlobals): boolean {
  const [holder, name] = context.__temporal_args ?? []
  if (name === 'concludeActivation') return true
  // Without blocked conditions no workflow code runs.
  const isInPlace = holder !== undefined && holder === context.__TEMPORAL_BAG_HOLDER__
  return name === 'tryUnblockConditions' && isInPlace && context.__TEMPORAL_ACTIVATOR__?.blockedConditions?.size === 0
}
