// Tests the timeouts of workflow threads with lean-workflow-threads.ts, and the module's assumptions about the SDK. A
// thread with the name of the SDK's threads, in a separate process, calls the sandbox like the SDK.

import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

import { scratchFolder } from '../../dev/scratch.ts'

const MODULE = join(import.meta.dirname, '../../../../worker/reconciler/temporal/thread-arguments.ts')

describe('a workflow thread', () => {
  it('has time-outs only around calls that run workflow code', async () => {
    expect(
      await inThread([
        ['activate', 2],
        ['concludeActivation', 2],
        ['tryUnblockConditions', 0],
        ['tryUnblockConditions', 1],
      ]),
    ).toEqual([
      'activate: stopped',
      'concludeActivation: ran',
      'tryUnblockConditions: ran',
      'tryUnblockConditions: stopped',
    ])
  })

  it('has more time to load the modules', async () => {
    expect(await inThread([['load', 0]])).toEqual(['load: ran'])
  })

  it('knows the calls of the installed SDK version', async () => {
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', SDK_NAMES])
    expect(JSON.parse(stdout)).toEqual([true, true, true, true])
  })
})

const run = promisify(execFile)

/** Makes calls, each with a number of blocked conditions. Each call takes longer than its timeout. */
async function inThread(calls: readonly (readonly [name: string, conditions: number])[]): Promise<unknown> {
  const file = join(await scratchFolder(), 'workflow-worker-thread.js')
  const thread = `
    const vm = require('node:vm')
    const { parentPort } = require('node:worker_threads')
    const context = vm.createContext({})
    const script = new vm.Script('for (const end = Date.now() + 60; Date.now() < end; );')
    parentPort.postMessage(${JSON.stringify(calls)}.map(([name, conditions]) => {
      const holder = {}
      context.__TEMPORAL_BAG_HOLDER__ = holder
      context.__TEMPORAL_ACTIVATOR__ = { blockedConditions: new Map(Array.from({ length: conditions }, (_, i) => [i, i])) }
      context.__temporal_args = name === 'load' ? undefined : [holder, name, []]
      try { script.runInContext(context, { timeout: 10 }); return name + ': ran' }
      catch (error) { if (error.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error; return name + ': stopped' }
    }))`
  await writeFile(file, thread)
  const main = `
    import { createRequire } from 'node:module'
    import { useLeanWorkflowThreads } from ${JSON.stringify(MODULE)}
    useLeanWorkflowThreads()
    const { Worker } = createRequire(import.meta.url)('node:worker_threads')
    new Worker(${JSON.stringify(file)}).on('message', (found) => console.log(JSON.stringify(found)))`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', main])
  return JSON.parse(stdout)
}

const SDK_NAMES = `
  import { readFileSync } from 'node:fs'
  import { createRequire } from 'node:module'
  import { dirname, join } from 'node:path'
  const lib = join(dirname(createRequire(import.meta.url).resolve('@temporalio/worker')), 'workflow')
  const sandbox = readFileSync(join(lib, 'reusable-vm.js'), 'utf8')
  const steps = readFileSync(join(lib, 'vm-shared.js'), 'utf8')
  const threads = readFileSync(join(lib, 'threaded-vm.js'), 'utf8')
  console.log(JSON.stringify([
    sandbox.includes('context.__temporal_args = [holder, fn, args]') && sandbox.includes('.runInContext(context, {'),
    sandbox.includes('globalThis.__TEMPORAL_BAG_HOLDER__ = holder'),
    steps.includes('workflowModule.concludeActivation()') && steps.includes('workflowModule.tryUnblockConditions()'),
    threads.includes("new node_worker_threads_1.Worker(require.resolve('./workflow-worker-thread'))"),
  ]))`
