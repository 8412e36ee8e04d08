// How controllers in level mode are run, each by its own settings, on real servers: passes at once, in several workers, a queue, retries.

import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { parse } from 'yaml'

import type { KubeObject } from '../../activities/kube/client.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'
import { crdDocument } from '../../worker/gen/crd.ts'
import { crateKind } from '../support/level/crate.ts'
import { administrators } from '../support/rights.ts'
import { useStage } from '../support/stage.ts'

// Eighty runs on a busy machine.
const WAIT = { timeout: 120_000, interval: 50 }
const CRATES = 20
const BOUND = 2
const LONGEST_MS = 1600

const stage = useStage('level-settings', () => {
  const controllers = new URL('../support/level/crate.ts', import.meta.url).pathname
  // A worker that is killed is given up soon.
  const accounts = administrators(stage.servers)
  const workerFlags = ['--workflow-task-timeout-ms', '2000', '--sticky-timeout-ms', '1000', '--wake-lease-ms', '2000']
  return Promise.resolve({ controllers, accounts, workerFlags })
})

beforeAll(async () => {
  const { kube } = stage.cluster
  const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
  await kube.request('POST', crds, { body: parse(crdDocument(crateKind)) as object })
  const served = () => kube.request('GET', resourcePath(crateKind, stage.cluster.namespace))
  await vi.waitFor(async () => expect(await served()).toMatchObject({ items: [] }), WAIT)
})

describe('a controller that bounds its passes', { timeout: 300_000 }, () => {
  it('has no more of them under way, in all workers together, and holds up no other', async () => {
    await stage.pawl.startWorker('second')
    const program = await programOf({ slow: 'held', quick: 2000 })
    const crates = await Promise.all(Array.from({ length: CRATES }, (_, index) => create(`many-${index}`, program.url)))
    await vi.waitFor(() => expect(program.crates('slow')).toHaveLength(BOUND), WAIT)
    await vi.waitFor(() => expect(program.crates('quick')).toHaveLength(CRATES), WAIT)
    // The others wait all the same.
    expect(program.crates('slow')).toHaveLength(BOUND)
    program.release()
    for (const crate of crates) await converged(crate, 'slow')
    expect(program.most('slow')).toBe(BOUND)
    expect(program.most('quick')).toBeGreaterThan(BOUND)
    expect(program.crates('slow')).toHaveLength(CRATES)
  })

  it('goes on, within its bound, when the worker is killed in which its passes are', async () => {
    const program = await programOf({ slow: 'held' })
    const crates = await Promise.all(Array.from({ length: 5 }, (_, index) => create(`killed-${index}`, program.url)))
    await vi.waitFor(() => expect(program.asked('slow')).toHaveLength(BOUND), WAIT)
    await stage.pawl.kill('worker')
    await stage.pawl.kill('second')
    await stage.pawl.startWorker()
    program.release()
    for (const crate of crates) await converged(crate, 'slow')
    expect(program.most('slow')).toBe(BOUND)
    const turns = () => stage.pawl.db.selectFrom('pass_turn').select('workflow_id').execute()
    await vi.waitFor(async () => expect(await turns()).toEqual([]), WAIT)
  })
})

describe('a controller that asks for a queue by name', () => {
  it('has its runs on it, and the worker serves it beside that of the others', async () => {
    const program = await programOf({})
    const crate = await create('queued', program.url)
    await converged(crate, 'apart')
    await converged(crate, 'quick')
    const queueOf = async (controller: string) => {
      const { workflow_id } = await run(controller, crate)
      const { taskQueue } = await stage.pawl.client.workflow.getHandle(workflow_id).describe()
      return taskQueue.slice(stage.pawl.taskQueue.length)
    }
    expect([await queueOf('apart'), await queueOf('quick')]).toEqual(['-2.apart', '-2'])
  })
})

describe('a controller with limits of its own for retries', () => {
  it('comes again at its own longest wait, which it does not exceed', async () => {
    const program = await programOf({})
    const crate = await create('failing', program.url)
    // What they write wakes its passes, too.
    for (const other of ['slow', 'quick', 'apart']) await converged(crate, other)
    await vi.waitFor(async () => expect((await run('failing', crate)).attempt).toBeGreaterThanOrEqual(4), WAIT)
    // By default they would double up to a quarter of an hour. A late event of what the others wrote may make one of them shorter.
    await vi.waitFor(() => {
      const times = program.asked('failing').map(({ at }) => at)
      const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0))
      const last = waits.slice(-3)
      for (const ms of last) expect(ms, waits.join(' ')).toBeGreaterThanOrEqual(LONGEST_MS)
      expect(Math.min(...last), waits.join(' ')).toBeLessThan(2 * LONGEST_MS)
    }, WAIT)
    expect((await run('failing', crate)).last_error).toMatchObject({ reason: 'Away', message: 'never there' })
  })
})

type Of = 'slow' | 'quick' | 'apart' | 'failing'

// They stay: a worker that starts looks at all objects, also at those of tests before.
const programs: Server[] = []
afterAll(() => {
  for (const server of programs) {
    server.closeAllConnections()
    server.close()
  }
})

/** A program of the test: who asked when, how many of a controller at most at the same time. Held answers wait for `release`. */
async function programOf(answers: Partial<Record<Of, number | 'held'>>) {
  const asked: { readonly of: string; readonly crate: string; readonly at: number }[] = []
  const open = new Map<string, Set<string>>()
  const most = new Map<string, number>()
  const held: (() => void)[] = []
  let isHolding = true
  const server = createServer((request, response: ServerResponse) => {
    const [, crate = '', of = ''] = (request.url ?? '').split('/')
    asked.push({ of, crate, at: Date.now() })
    // By crate: a call that is tried again after its worker was killed is of the same pass.
    const now = open.get(of) ?? new Set<string>()
    open.set(of, now.add(crate))
    most.set(of, Math.max(most.get(of) ?? 0, now.size))
    const end = () => {
      now.delete(crate)
      response.end('said')
    }
    const answer = answers[of as Of] ?? 0
    if (answer !== 'held') setTimeout(end, answer)
    else if (isHolding) held.push(end)
    else setTimeout(end, 100)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  programs.push(server)
  const { port } = server.address() as AddressInfo
  return {
    url: (crate: string) => `http://127.0.0.1:${port}/${crate}/`,
    asked: (of: Of) => asked.filter((one) => one.of === of),
    crates: (of: Of) => [...new Set(asked.filter((one) => one.of === of).map(({ crate }) => crate))],
    most: (of: Of) => most.get(of) ?? 0,
    release() {
      isHolding = false
      for (const end of held) end()
    },
  }
}

async function create(name: string, url: (crate: string) => string): Promise<KubeObject> {
  const { apiVersion, kind } = crateKind
  const body = { apiVersion, kind, metadata: { name }, spec: { url: url(name) } }
  return await stage.cluster.kube.request<KubeObject>('POST', resourcePath(crateKind, stage.cluster.namespace), {
    body,
  })
}

async function run(controller: string, { metadata: { uid = '' } }: KubeObject) {
  return await stage.pawl.db
    .selectFrom('job')
    .selectAll()
    .where('uid', '=', uid)
    .where('controller', '=', controller)
    .executeTakeFirstOrThrow()
}

async function converged(crate: KubeObject, controller: string): Promise<void> {
  await vi.waitFor(async () => expect((await run(controller, crate)).outcome).toBe('Converged'), WAIT)
}
