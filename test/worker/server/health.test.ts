import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { createReadinessChecks, type Health, serveHealth, type ReadinessChecks } from '../../../worker/server/health.ts'

let troubles: ReadinessChecks
let health: Health

beforeEach(async () => {
  troubles = createReadinessChecks()
  health = await serveHealth(troubles, '127.0.0.1', 0)
})
afterEach(async () => {
  await health.close()
})

const ask = async (path: string): Promise<[number, unknown]> => {
  const response = await fetch(`http://${health.address}${path}`)
  return [response.status, await response.json()]
}

describe('the health of a process', () => {
  it('is ready while the last call to every part succeeded', async () => {
    expect(await ask('/readyz')).toEqual([200, { ok: true }])
    troubles.report('journal', new Error('refused'))
    troubles.report('temporal', 'away')
    expect(await ask('/readyz')).toEqual([503, { ok: false, troubles: { journal: 'refused', temporal: 'no answer' } }])
    troubles.report('journal', undefined)
    troubles.report('temporal', undefined)
    expect(await ask('/readyz?verbose')).toEqual([200, { ok: true }])
  })

  it('is alive while it is not ready, and has no other path', async () => {
    troubles.report('journal', new Error('refused'))
    expect(await ask('/healthz')).toEqual([200, { ok: true }])
    expect(await ask('/other')).toEqual([404, { error: 'not found' }])
  })

  it('is not served on a port in use', async () => {
    await expect(serveHealth(troubles, '127.0.0.1', health.port)).rejects.toMatchObject({ code: 'EADDRINUSE' })
  })
})
