// Tests the timeouts of workflow threads with lean-workflow-threads.ts, and the module's assumptions about the SDK. A
// separate process loads the module, and its worker thread calls the sandbox like the SDK.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const MODULE = join(import.meta.dirname, '../../../../worker/reconciler/temporal/lean-workflow-threads.ts')

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
    expect(JSON.parse(stdout)).toEqual([true, true, true])
  })
})

const run = promisify(execFile)

/** Makes calls, each with a number of blocked conditions. Each call takes longer than its timeout. */
async function inThread(calls: readonly (readonly [name: string, conditions: number])[]): Promise<unknown> {
  const thread = `
    import vm from 'node:vm'
    import { parentPort } from 'node:worker_threads'
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
  const main = `
    const { Worker } = require('node:worker_threads')
    new Worker(new URL(${JSON.stringify(`data:text/javascript,${encodeURIComponent(thread)}`)})).on('message', (found) => console.log(JSON.stringify(found)))`
  const { stdout } = await run(process.execPath, ['--import', MODULE, '--eval', main])
  return JSON.parse(stdout)
}

const SDK_NAMES = `
  import { readFileSync } from 'node:fs'
  import { createRequire } from 'node:module'
  import { dirname, join } from 'node:path'
  const lib = join(dirname(createRequire(import.meta.url).resolve('@temporalio/worker')), 'workflow')
  const sandbox = readFileSync(join(lib, 'reusable-vm.js'), 'utf8')
  const steps = readFileSync(join(lib, 'vm-shared.js'), 'utf8')
  console.log(JSON.stringify([
    sandbox.includes('context.__temporal_args = [holder, fn, args]') && sandbox.includes('.runInContext(context, {'),
    sandbox.includes('globalThis.__TEMPORAL_BAG_HOLDER__ = holder'),
    steps.includes('workflowModule.concludeActivation()') && steps.includes('workflowModule.tryUnblockConditions()'),
  ]))`
