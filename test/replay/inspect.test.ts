// Recorded runs that are replayed under a debugger, which is one here over Node's inspector protocol.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import proto from '@temporalio/proto'
import { DefaultLogger } from '@temporalio/worker'
import { beforeAll, describe, expect, it } from 'vitest'

import { parseInspectAddress, replayInspected } from '../../worker/cli/replay/inspect.ts'
import { bundleEntry } from '../../worker/reconciler/bundle.ts'
import { deferred } from '../workflows/kit/plan/fake-runtime.ts'
import { Debugger } from './debugger.ts'

const ROOT = join(import.meta.dirname, '../..')
const INSTALLATION = join(ROOT, 'workflows/landscaper/installation/workflow.ts')
const LOOP = join(ROOT, 'workflows/kit/run/loop/run-job.ts')
const quiet = new DefaultLogger('ERROR', () => undefined)
// The SDK gives code of workflows 5 s where nobody debugs it.
const LONGER_THAN_A_TASK_MS = 6_000

describe('a replay under a debugger', () => {
  let code: string
  beforeAll(async () => {
    code = (await bundleEntry(join(ROOT, 'workflows/index.ts'), quiet)).code
  })

  it('stops at breakpoints in the source of the workflows, for as long as one looks, and goes on', async () => {
    const { told, ended } = inspected(code, 'installation-success.json')
    const seen = await Debugger.attach(addressIn(await told))
    expect(await seen.paused()).toMatchObject({ file: join(ROOT, 'worker/cli/replay/inspected-process.ts') })
    const first = await seen.breakAt(INSTALLATION, 'const { namespace, name } = input.subject')
    const second = await seen.breakAt(LOOP, 'const pass = root.start(')

    await seen.resume()
    const begun = await seen.paused()
    expect(begun).toMatchObject({ file: INSTALLATION, line: first })
    expect(await begun.evaluate('input.subject.kind')).toBe('Installation')
    await sleep(LONGER_THAN_A_TASK_MS)

    await seen.resume()
    const observed = await seen.paused()
    expect(observed).toMatchObject({ file: LOOP, line: second })
    expect(await observed.evaluate('observed.value.target.name')).toBe('success')

    await seen.resume()
    expect(await ended).toBeUndefined()
  })
})

const LISTENS = /^The replay waits for a debugger at (ws:\/\/127\.0\.0\.1:\d+\/\S+)$/

function addressIn(line: string): string {
  return LISTENS.exec(line)?.[1] ?? `no address in '${line}'`
}

function inspected(code: string, file: string) {
  const { workflowId: workflowID, history } = JSON.parse(
    readFileSync(join(import.meta.dirname, 'histories', file), 'utf8'),
  ) as { workflowId: string; history: object }
  const first = deferred<string>()
  const run = { workflowID, history: proto.temporal.api.history.v1.History.fromObject(history), code }
  const ended = replayInspected({ ...run, payloadKeyPath: undefined }, parseInspectAddress('0'), first.resolve)
  ended.catch(first.reject)
  return { told: first.promise, ended }
}
