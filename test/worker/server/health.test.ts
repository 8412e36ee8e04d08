import { afterEach, beforeEach, describe, expect, it } from 'vitest'

import { createLogger, LogLevels } from '../../../worker/server/log.ts'
import { createReadinessChecks, type Health, serveHealth, type ReadinessChecks } from '../../../worker/server/health.ts'

const levels = () => {
  const created = new LogLevels(createLogger('test', 'info'))
  created.of('watch')
  return created
}

let troubles: ReadinessChecks
let health: Health

beforeEach(async () => {
  troubles = createReadinessChecks()
  health = await serveHealth(troubles, '127.0.0.1', 0, { logLevels: levels() })
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
    const problem = `--health-port: port ${health.port} of 127.0.0.1 is in use; choose another port`
    await expect(serveHealth(troubles, '127.0.0.1', health.port)).rejects.toThrow(problem)
    const foreign = '--health-host: found 203.0.113.1; expected an address of this machine'
    await expect(serveHealth(troubles, '203.0.113.1', 0)).rejects.toThrow(foreign)
  })
})

describe('the log levels of a process', () => {
  const put = async (query: string): Promise<[number, unknown]> => {
    const response = await fetch(`http://${health.address}/loglevels?${query}`, { method: 'PUT' })
    return [response.status, await response.json()]
  }

  it('are shown and changed while it runs, by component or all together', async () => {
    expect(await ask('/loglevels')).toEqual([200, { process: 'info', watch: 'info' }])
    expect(await put('component=watch&level=debug')).toEqual([200, { process: 'info', watch: 'debug' }])
    expect(await put('level=warn')).toEqual([200, { process: 'warn', watch: 'warn' }])
  })

  it('are not changed by an unknown level or component', async () => {
    expect(await put('level=loud')).toEqual([
      400,
      { error: 'level: found "loud"; expected one of trace, debug, info, warn, error, fatal, silent' },
    ])
    expect(await put('component=x&level=debug')).toEqual([
      400,
      { error: 'component: found "x"; expected one of process, watch' },
    ])
    expect(await ask('/loglevels')).toEqual([200, { process: 'info', watch: 'info' }])
  })

  it('decide which lines a component writes', () => {
    const created = levels()
    expect(created.of('watch').isLevelEnabled('debug')).toBe(false)
    expect(created.set('debug', 'watch')).toBeUndefined()
    expect(created.of('watch').isLevelEnabled('debug')).toBe(true)
    expect(created.of('dispatcher').isLevelEnabled('debug')).toBe(false)
  })
})
