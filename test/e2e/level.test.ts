// Controllers in level mode on real servers: from an event to a run, writes, and a converged object, and again after changes.

import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'

import { widgetKind } from '../support/level/widget.ts'
import { CONFIG_MAPS, WAIT } from '../support/level/objects.ts'
import { managersOf, uidOf, widgetsOf } from '../support/level/widgets.ts'
import { administrators } from '../support/rights/accounts.ts'
import { useStage } from '../support/pawl/stage.ts'

// Short time-outs, so that a killed worker is given up soon.
const IMPATIENT = ['--workflow-task-timeout-ms', '2000', '--sticky-timeout-ms', '1000', '--wake-lease-ms', '2000']

const stage = useStage('level', () => {
  const controllers = new URL('../support/level/widget.ts', import.meta.url).pathname
  return Promise.resolve({ controllers, accounts: administrators(stage.servers), workerFlags: IMPATIENT })
})

const { request, patch, get, create, createConfigMap, until, converged, run, versions, installWidgets } =
  widgetsOf(stage)

beforeAll(async () => {
  // Both processes start before their kind exists.
  await vi.waitFor(() => expect(stage.pawl.log('bridge')).toContain(NOT_SERVED), { timeout: 60_000, interval: 50 })
  await vi.waitFor(async () => expect(await readiness()).toEqual({ ok: true }), { timeout: 60_000, interval: 50 })
  await installWidgets()
})

const NOT_SERVED = 'the cluster does not serve this kind; apply its CRD; the bridge waits for the CRD'

async function readiness(): Promise<unknown> {
  const port = /"healthPort":(\d+)/.exec(stage.pawl.log('bridge'))?.[1] ?? ''
  return await (await fetch(`http://127.0.0.1:${port}/readyz`)).json()
}

describe('a bridge whose kind is not installed', () => {
  it('reports it once, is ready, and waits for it', async () => {
    await vi.waitFor(
      () => expect(stage.pawl.log('bridge')).toMatch(/"kind":"Widget\.level\.test\.pawl\.dev".*"listed"/),
      60_000,
    )
    expect(stage.pawl.log('bridge').split(NOT_SERVED)).toHaveLength(2)
  })
})

describe('a controller in level mode', () => {
  it('creates the requested children, writes its status, and ends its run', async () => {
    const widget = await create('plain', { message: 'hello' })
    expect(await converged(widget)).toEqual(['stamper Converged', 'widget Converged'])
    expect((await get(widgetKind, 'plain'))?.['status']).toEqual({
      message: 'hello',
      colors: 0,
      stamp: 'plain',
      conditions: [expect.objectContaining({ type: 'Ready', status: 'True', observedGeneration: 1 })],
    })
    const configMap = await get(CONFIG_MAPS, 'plain')
    expect(configMap?.['data']).toEqual({ message: 'hello', stamp: 'plain' })
    expect(configMap?.metadata).toMatchObject({
      labels: { stamped: 'yes' },
      ownerReferences: [{ kind: 'Widget', name: 'plain', uid: widget.metadata.uid, controller: true }],
    })
    expect(managersOf(configMap)).toEqual(['pawl-stamper', 'pawl-widget'])
  })

  it('restores its children after edits and deletions, and no foreign fields', async () => {
    const widget = await create('kept', { message: 'hello' })
    await converged(widget)
    await patch(CONFIG_MAPS, 'kept', { data: { message: 'broken', stamp: 'broken', other: 'mine' } })
    await until(CONFIG_MAPS, 'kept', ({ data }) => data, { message: 'hello', stamp: 'kept', other: 'mine' })
    await request('DELETE', CONFIG_MAPS, 'kept')
    await until(CONFIG_MAPS, 'kept', ({ data }) => data, { message: 'hello', stamp: 'kept' })
    await converged(widget)
  })

  it('follows its object and the objects that it names, with any owner', async () => {
    const widget = await create('named', { message: 'one', settings: 'named-settings' })
    await patch(widgetKind, 'named', { spec: { message: 'two' } })
    await until(CONFIG_MAPS, 'named', ({ data }) => (data as { message: string }).message, 'two')
    // The object has not converged, because the object that it waits for does not exist.
    expect((await run('widget', widget)).outcome).toBeNull()
    await createConfigMap('named-settings', { color: 'red' })
    await until(widgetKind, 'named', ({ status }) => (status as { color?: string }).color, 'red')
    await converged(widget)
    // The run has ended; a change of an observed object starts another one.
    await patch(CONFIG_MAPS, 'named-settings', { data: { color: 'blue' } })
    await until(widgetKind, 'named', ({ status }) => (status as { color?: string }).color, 'blue')
    // A list of objects without an owner.
    await createConfigMap('labelled', {}, { widget: 'named' })
    await until(widgetKind, 'named', ({ status }) => (status as { colors?: number }).colors, 1)
    await converged(widget)
  })

  it('writes nothing in a pass without changes', async () => {
    const widget = await create('quiet', { message: 'hello', settings: 'quiet-settings' })
    await createConfigMap('quiet-settings', { color: 'red' })
    await until(widgetKind, 'quiet', ({ status }) => (status as { color?: string }).color, 'red')
    await converged(widget)
    const before = await versions('quiet')
    const { started_at } = await run('widget', widget)
    await patch(CONFIG_MAPS, 'quiet-settings', { data: { note: 'no color' } })
    await vi.waitFor(async () => expect((await run('widget', widget)).started_at).not.toEqual(started_at), 60_000)
    await converged(widget)
    expect(await versions('quiet')).toEqual(before)
  })

  it('requeues after the requested time, and continues after its worker is killed', async () => {
    const widget = await create('patient', { message: 'hello', rounds: 10_000 })
    await until(widgetKind, 'patient', ({ status }) => ((status as { rounds?: number }).rounds ?? 0) >= 2, true)
    await stage.pawl.kill('worker')
    await sleep(300)
    const { rounds } = (await get(widgetKind, 'patient'))?.['status'] as { rounds: number }
    expect(rounds).toBeLessThan(10_000)
    await patch(widgetKind, 'patient', { spec: { rounds: rounds + 5 } })
    await stage.pawl.startWorker()
    await until(widgetKind, 'patient', ({ status }) => (status as { rounds?: number }).rounds, rounds + 5)
    expect(await converged(widget)).toEqual(['stamper Converged', 'widget Converged'])
  })

  it('deletes its children before its object is removed, and ends its run', async () => {
    const widget = await create('leaving', { message: 'hello' })
    await converged(widget)
    expect((await get(widgetKind, 'leaving'))?.metadata.finalizers).toEqual(['level.test.pawl.dev/message'])
    await request('DELETE', widgetKind, 'leaving')
    await vi.waitFor(async () => expect(await get(widgetKind, 'leaving')).toBeUndefined(), 60_000)
    expect(await get(CONFIG_MAPS, 'leaving')).toBeUndefined()
    expect(await converged(widget)).toContain('widget Deleted')
    const left = await stage.pawl.db
      .selectFrom('subscription')
      .select('name')
      .where('uid', '=', uidOf(widget))
      .execute()
    expect(left).toEqual([])
  })
})

describe("a controller's own activities", () => {
  it('are retried by their own policy with one key per call, fail their pass, and are cancelled after a time-out', async () => {
    let answers = false
    const [priced, unpaid, slow] = await Promise.all([
      program((count) => (count === 1 ? { status: 503, text: 'not now' } : { status: 200, text: '42' })),
      program(() => ({ status: 402, text: 'pay first' })),
      program(() => (answers ? { status: 200, text: '7' } : undefined)),
    ])
    const widgets = {
      priced: await create('priced', { message: 'hello', prices: priced.url }),
      unpaid: await create('unpaid', { message: 'hello', prices: unpaid.url }),
      slow: await create('slow', { message: 'hello', slowPrices: slow.url }),
    }
    const price = async (name: string, wanted: string) =>
      await until(widgetKind, name, ({ status }) => (status as { price?: string }).price, wanted)
    const failed = async (name: 'unpaid' | 'slow', lastError: object) =>
      await vi.waitFor(async () => {
        expect((await run('widget', widgets[name])).last_error).toMatchObject(lastError)
      }, WAIT)

    await price('priced', '42')
    await converged(widgets.priced)
    // A later pass repeats the request.
    const [first, second, ...later] = priced.asked
    expect([first, second]).toMatchObject([
      { attempt: '1', widget: 'priced' },
      { attempt: '2', widget: 'priced', 'idempotency-key': first?.['idempotency-key'] },
    ])
    expect(later.map((headers) => headers['idempotency-key'])).not.toContain(first?.['idempotency-key'])
    expect(stage.pawl.log('worker')).toMatch(/"price":"42".*"activity":"fetchPrice".*"msg":"a price was fetched"/)
    expect(stage.pawl.log('worker')).toMatch(
      /"controller":"widget","object":"Widget level\/priced","action":"askForPrice".*"msg":"the price is known"/,
    )

    const fault = { reason: 'NotPaid', message: 'fetchPrice: pay first' }
    await failed('unpaid', fault)
    // Another pass may have repeated the request in its own call.
    expect(new Set(unpaid.asked.map(({ attempt }) => attempt))).toEqual(new Set(['1']))
    expect((await get(widgetKind, 'unpaid'))?.['status']).toMatchObject({
      conditions: [{ type: 'Ready', status: 'False', ...fault }],
    })

    await failed('slow', { reason: 'Timeout', message: 'waitForPrice took longer than 1000 ms' })
    await vi.waitFor(() => expect(slow.left()).toBeGreaterThanOrEqual(1), WAIT)
    answers = true
    await price('slow', '7')
    await converged(widgets.slow)
  })
})

interface Answer {
  readonly status: number
  readonly text: string
}

/** An HTTP server that records requests and aborted requests. `answer` may delay the response. */
async function program(answer: (count: number) => Answer | undefined) {
  const asked: IncomingHttpHeaders[] = []
  let left = 0
  const server = createServer((request, response) => {
    asked.push(request.headers)
    const given = answer(asked.length)
    response.on('close', () => {
      if (!response.writableEnded) left += 1
    })
    if (given !== undefined) response.writeHead(given.status).end(given.text)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, asked, left: () => left }
}
