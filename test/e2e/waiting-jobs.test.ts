// Jobs that wait behind others say so on their objects, by the processes as they are installed. What is told of which in detail:
// test/env/waiting-jobs.test.ts.

import { afterAll, describe, expect, it } from 'vitest'
import { ApiProxy } from '../support/api-proxy.ts'
import { installation, type LsObject } from '../support/cluster.ts'
import { Gate } from '../support/gate.ts'
import { useStage } from '../support/stage.ts'

let proxy: ApiProxy | undefined
const stage = useStage('waiting-jobs', async () => {
  proxy = await ApiProxy.start(stage.servers.accounts.worker)
  return { workerKubeconfig: proxy.kubeconfigPath }
})
afterAll(() => proxy?.stop())

// More than a worker has in hand and in Temporal's queue.
const CROWD = 40
/** What has not begun by then is told of. */
const LATE_MS = 10_000
const LIMIT_MS = 180_000

interface Told {
  readonly involvedObject: { readonly kind: string; readonly name: string }
  readonly reason: string
  readonly message: string
}

/** What was told of jobs that wait: the object, and what. */
async function tellings(): Promise<readonly Told[]> {
  const events = (await stage.cluster.list('events', 'v1')) as unknown as readonly (LsObject & Told)[]
  return events.filter(({ reason }) => reason === 'WaitingForTurn')
}

describe('a worker that has its hands full', { timeout: LIMIT_MS }, () => {
  it('tells of jobs that wait for their turn, and of none that begins at once', async () => {
    const { cluster } = stage
    const created = performance.now()
    await cluster.create(installation('prompt', []), 'installations')
    await cluster.finished('prompt')
    // On a machine that stood still it had to wait as well.
    const isPrompt = performance.now() - created < LATE_MS
    // The API server takes no status: so each run that has begun keeps its place for many seconds.
    const gate = new Gate()
    proxy?.arm(undefined, async (label) => {
      if (label !== 'PATCH installations/status') return undefined
      await gate.passed
      return 'lost before'
    })
    const names = Array.from({ length: CROWD }, (_, index) => `job-${index}`)
    for (const name of names) await cluster.create(installation(name, []), 'installations')
    const isBehind = ({ message }: Told) => /^waits for its turn since \S+: \d+ of its namespace come/.test(message)
    await expect.poll(async () => (await tellings()).some(isBehind), { timeout: 90_000, interval: 500 }).toBe(true)
    proxy?.arm()
    gate.open()
    for (const name of names)
      expect((await cluster.finished(name, undefined, 'installations', LIMIT_MS)).status?.phase).toBe('Succeeded')
    const told = (await tellings()).map(({ involvedObject: { kind, name } }) => `${kind} ${name}`)
    const others = told.filter((one) => !one.startsWith('Installation job-'))
    expect(isPrompt ? others : others.filter((one) => one !== 'Installation prompt')).toEqual([])
  })
})
