// Loads lean-workflow-threads.ts into the workflow threads of this process. The SDK has no option for the arguments of its threads, so this replaces the
// class that the SDK calls.

import { createRequire } from 'node:module'
import type { Worker, WorkerOptions } from 'node:worker_threads'

import { modulePath } from '../../server/config.ts'

/** The SDK's module of a workflow thread. */
const THREAD = /[\\/]workflow-worker-thread\.js$/
const ARGUMENTS = [
  '--disable-warning=ExperimentalWarning',
  '--import',
  modulePath('reconciler/temporal/lean-workflow-threads.ts'),
]

/** Call it before the SDK starts its threads. It has no effect on threads of ES modules. */
export function useLeanWorkflowThreads(): void {
  const threads = createRequire(import.meta.url)('node:worker_threads') as { Worker: typeof Worker }
  const Thread = threads.Worker
  threads.Worker = class extends Thread {
    constructor(file: string | URL, options?: WorkerOptions) {
      super(file, THREAD.test(String(file)) ? { ...options, execArgv: ARGUMENTS } : options)
    }
  }
}
