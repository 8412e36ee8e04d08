// Settings of controllers in level mode, with real processes: the maximum number of concurrent passes over all workers,
// and a task queue by name. Limits of retries: test/env/rate-limits.test.ts.

import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import type { KubeObject } from '../../activities/kube/client.ts'
import { crateKind } from '../support/level/crate.ts'
import { objectsOf } from '../support/level/objects.ts'
import { byForm } from '../support/matrix/form.ts'
import { administrators } from '../support/rights/accounts.ts'
import { useStage } from '../support/pawl/stage.ts'

// Three runs per crate on a busy machine.
const WAIT = { timeout: 120_000, interval: 50 }
const CRATES = byForm(8, 20)
const BOUND = 2

const stage = useStage('level-settings', () => {
  const controllers = new URL('../support/level/crate.ts', import.meta.url).pathname
  // Short leases: the other worker takes over soon after a kill.
  const accounts = administrators(stage.servers)
  const workerFlags = ['--workflow-task-timeout-ms', '2000', '--sticky-timeout-ms', '1000', '--wake-lease-ms', '2000']
  return Promise.resolve({ controllers, accounts, workerFlags })
})

const objects = objectsOf(stage)
beforeAll(() => objects.install(crateKind))

describe('a controller with a maximum of concurrent passes', { timeout: 300_000 }, () => {
  it('never runs more passes in all workers together, and does not delay other controllers', async () => {
    await stage.pawl.startWorker('second')
    const program = await programOf({ slow: 'held', quick: 2000 })
    const crates = await Promise.all(Array.from({ length: CRATES }, (_, index) => create(`many-${index}`, program.url)))
    await vi.waitFor(() => expect(program.crates('slow')).toHaveLength(BOUND), WAIT)
    await vi.waitFor(() => expect(program.crates('quick')).toHaveLength(CRATES), WAIT)
    // The passes above the maximum still wait.
    expect(program.crates('slow')).toHaveLength(BOUND)
    program.release()
    for (const crate of crates) await converged(crate, 'slow')
    expect(program.most('slow')).toBe(BOUND)
    expect(program.most('quick')).toBeGreaterThan(BOUND)
    expect(program.crates('slow')).toHaveLength(CRATES)
  })

  it('continues within its maximum when the workers that run its passes are killed', async () => {
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

describe('a controller with a task queue by name', () => {
  it('runs on its queue, and the worker serves this queue and the default queue', async () => {
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

type Of = 'slow' | 'quick' | 'apart'

// The servers run until the file ends: a worker that starts also reconciles the crates of earlier tests.
const programs: Server[] = []
afterAll(() => {
  for (const server of programs) {
    server.closeAllConnections()
    server.close()
  }
})

/** Starts an HTTP server that records the requests of each controller and their maximum concurrency. Responses marked `held` wait for `release`. */
async function programOf(answers: Partial<Record<Of, number | 'held'>>) {
  const asked: { readonly of: string; readonly crate: string; readonly at: number }[] = []
  const open = new Map<string, Set<string>>()
  const most = new Map<string, number>()
  const held: (() => void)[] = []
  let isHolding = true
  const server = createServer((request, response: ServerResponse) => {
    const [, crate = '', of = ''] = (request.url ?? '').split('/')
    asked.push({ of, crate, at: Date.now() })
    // Counted by crate: a call that is retried after its worker was killed belongs to the same pass.
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

const create = async (name: string, url: (crate: string) => string) =>
  await objects.create(crateKind, name, { url: url(name) })

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
