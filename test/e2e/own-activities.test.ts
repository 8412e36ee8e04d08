// Tests running activities of a controller while their worker is killed or receives SIGTERM, and while the code of
// their controller changes. Source: docs/guides/own-activities.md "What to know about calls".

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'

import { errandKind } from '../support/level/errand.ts'
import { CONFIG_MAPS, objectsOf, WAIT } from '../support/level/objects.ts'
import { useStage } from '../support/pawl/stage.ts'

const NAMESPACE = 'own-activities'
const moduleOf = (path: string) => new URL(`../support/${path}.ts`, import.meta.url).pathname
// Short timeouts: Temporal soon gives the task of a killed worker to another worker.
const IMPATIENT = ['--workflow-task-timeout-ms', '2000', '--sticky-timeout-ms', '1000', '--wake-lease-ms', '2000']

const stage = useStage(NAMESPACE, () =>
  Promise.resolve({ controllers: moduleOf('level/errand'), workerFlags: IMPATIENT }),
)

const objects = objectsOf(stage)

interface Asked {
  readonly headers: IncomingHttpHeaders
  readonly response: ServerResponse
  /** Whether the client closed the connection before the answer. */
  isLeft: boolean
  leftAt: number
}

const asked: Asked[] = []
const server = createServer((request, response) => {
  const one = { headers: request.headers, response, isLeft: false, leftAt: 0 }
  asked.push(one)
  response.on('close', () => {
    one.isLeft = !response.writableEnded
    one.leftAt = Date.now()
  })
})
let url: string

beforeAll(async () => {
  await objects.install(errandKind)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

describe('a running activity whose worker is killed', () => {
  it('is retried by another worker with the same idempotency key, and its object converges', async () => {
    await stage.pawl.startWorker('second')
    await create('killed')
    const first = await nth('killed', 1)
    await hasBeaten('killed')
    const workers = ['worker', 'second']
    const pid = first.headers['asked-by'] ?? ''
    const victim = workers.find((name) => String(stage.pawl.child(name).pid) === pid) ?? ''
    await stage.pawl.kill(victim)

    // WAIT is shorter than the two minutes that one attempt may take. So a second attempt within WAIT shows that
    // Temporal noticed the missing heartbeats.
    const second = await nth('killed', 2)
    expect(second.headers).toMatchObject({
      attempt: '2',
      'idempotency-key': first.headers['idempotency-key'],
      progress: JSON.stringify({ askedBy: Number(pid) }),
    })
    expect(second.headers['asked-by']).not.toBe(pid)
    second.response.end('bread')
    await ended('killed', 'bread')
    expect(callsOf('killed')).toHaveLength(2)
    await stage.pawl.startWorker(victim)
  })
})

// Kubernetes' default grace period of a Pod.
const GRACE_MS = 30_000
const DRAIN_MS = 6000
/** Longer than the start of another worker. */
const LONG_DRAIN_MS = 90_000

describe('a running activity whose worker receives SIGTERM', () => {
  it('continues for the drain time, is then cancelled, and is retried by another worker; the first worker reports that it is not ready', async () => {
    const { pawl } = stage
    await pawl.startWorker('leaving', undefined, ['--drain-ms', String(DRAIN_MS)])
    await Promise.all(['worker', 'second'].map((name) => pawl.kill(name, 'SIGTERM')))
    await create('left')
    const first = await nth('left', 1)
    const leaving = pawl.child('leaving')
    expect(first.headers['asked-by']).toBe(String(leaving.pid))
    const ready = readinessOf('leaving')
    expect(await ready()).toBe(200)

    const told = Date.now()
    const exited = once(leaving, 'exit').then(([code]: unknown[]) => ({ code, afterMs: Date.now() - told }))
    leaving.kill('SIGTERM')
    const started = pawl.startWorker('worker', undefined, ['--drain-ms', String(LONG_DRAIN_MS)])
    started.catch(() => undefined)
    await expect.poll(ready, { interval: 5 }).not.toBe(200)
    const { code, afterMs } = await exited
    expect(code).toBe(0)
    expect(afterMs).toBeLessThan(GRACE_MS)
    await vi.waitFor(() => expect(first.isLeft).toBe(true), WAIT)
    // The test and the worker measure with different clocks.
    expect(first.leftAt - told).toBeGreaterThan(DRAIN_MS - 100)

    const second = await nth('left', 2)
    expect(second.headers).toMatchObject({ attempt: '2', 'idempotency-key': first.headers['idempotency-key'] })
    second.response.end('cheese')
    await ended('left', 'cheese')
    await started
  })
})

describe('running activities whose controller gets new code', () => {
  it('are cancelled or their results are ignored; the run that replaces their run calls the activity once, with a new idempotency key', async () => {
    await create('listening')
    await create('deaf', { isDeaf: true })
    const [listening, deaf] = [await nth('listening', 1), await nth('deaf', 1)]

    // The old worker stops polling before the new worker starts. Otherwise it may get a task of a run that the new
    // worker has restarted, and the run restarts a second time.
    const ready = readinessOf('worker')
    const stopped = stage.pawl.kill('worker', 'SIGTERM')
    await expect.poll(ready, { interval: 5 }).not.toBe(200)
    await stage.pawl.startWorker('changed', undefined, ['--controllers', moduleOf('code-changes/errand')])
    const [again, deafAgain] = [await nth('listening', 2), await nth('deaf', 2)]
    for (const name of ['listening', 'deaf']) {
      expect(await rowOf(name)).toMatchObject({ restarts: 1, outcome: null })
      const [before, after] = callsOf(name).map(({ headers }) => headers)
      expect(after).toMatchObject({ attempt: '1', progress: 'null' })
      expect(after?.['idempotency-key']).not.toBe(before?.['idempotency-key'])
    }
    await vi.waitFor(() => expect(listening.isLeft).toBe(true), WAIT)
    expect(deaf.isLeft).toBe(false)
    deaf.response.end('of the old code')
    await stopped
    again.response.end('milk')
    deafAgain.response.end('of the new code')
    await ended('listening', 'milk')
    await ended('deaf', 'of the new code')
    expect([callsOf('listening').length, callsOf('deaf').length]).toEqual([2, 2])
  })
})

const create = async (name: string, spec: object = {}) => await objects.create(errandKind, name, { url, ...spec })

/** Reads the HTTP status of /readyz of the worker that was started last under this name; 0 when it has exited. */
function readinessOf(name: string): () => Promise<number> {
  const [, health = ''] = [...stage.pawl.log(name).matchAll(/"health":"([^"]+)"/g)].at(-1) ?? []
  return async () =>
    await fetch(`http://${health}/readyz`).then(
      ({ status }) => status,
      () => 0,
    )
}

function callsOf(errand: string): readonly Asked[] {
  return asked.filter(({ headers }) => headers['errand'] === errand)
}

/** Waits until the server has received this many requests for the errand. @returns the last of these requests. */
async function nth(errand: string, count: number): Promise<Asked> {
  await vi.waitFor(() => expect(callsOf(errand).length).toBeGreaterThanOrEqual(count), WAIT)
  const one = callsOf(errand)[count - 1]
  if (one === undefined) throw new Error(`the program was not asked ${count} times for ${errand}`)
  return one
}

/** Waits until the object and its ConfigMap have this answer, and the run has ended. */
async function ended(name: string, answer: string): Promise<void> {
  await vi.waitFor(async () => {
    expect((await objects.get(errandKind, name))?.['status']).toEqual({ answer })
    expect((await objects.get(CONFIG_MAPS, name))?.['data']).toEqual({ answer })
    expect(await rowOf(name)).toMatchObject({ outcome: 'Converged', last_error: null })
  }, WAIT)
}

/** Waits until Temporal has a heartbeat of the running activity. */
async function hasBeaten(name: string): Promise<void> {
  const { workflow_id } = await rowOf(name)
  await vi.waitFor(async () => {
    const { raw } = await stage.pawl.client.workflow.getHandle(workflow_id).describe()
    expect(raw.pendingActivities?.[0]?.lastHeartbeatTime).toBeTruthy()
  }, WAIT)
}

async function rowOf(name: string) {
  return await stage.pawl.db.selectFrom('job').selectAll().where('name', '=', name).executeTakeFirstOrThrow()
}
