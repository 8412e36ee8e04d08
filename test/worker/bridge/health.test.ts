import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Health, serveHealth } from '../../../worker/bridge/health.ts'
import type { Reflector } from '../../../worker/bridge/reflector.ts'

let behind: string | undefined
let health: Health
const reflector = (kind: string, state: () => string | undefined): Reflector => ({
  kind,
  run: () => Promise.resolve(),
  behind: state,
})

beforeEach(async () => {
  behind = 'listing'
  health = await serveHealth([reflector('Task', () => behind), reflector('Other', () => undefined)], 0)
})
afterEach(async () => {
  await health.close()
})

const ask = async (path: string): Promise<[number, unknown]> => {
  const response = await fetch(`http://127.0.0.1:${health.port}${path}`)
  return [response.status, await response.json()]
}

describe('the health of a bridge', () => {
  it('names the kinds that are not caught up, until they are', async () => {
    expect(await ask('/readyz')).toEqual([503, { ok: false, behind: { Task: 'listing' } }])
    behind = undefined
    expect(await ask('/readyz?verbose')).toEqual([200, { ok: true }])
  })

  it('is alive while a kind is behind', async () => {
    expect(await ask('/healthz')).toEqual([200, { ok: true }])
    expect((await ask('/other'))[0]).toBe(404)
  })
})
