import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { describe, expect, it } from 'vitest'

import { refreshApiKey } from '../../../worker/reconciler/temporal/connection.ts'
import { readConfig } from '../../../worker/server/config.ts'
import { readFlags } from '../../../worker/server/flags.ts'
import { connectionOptions, TEMPORAL_FLAGS, temporalTarget } from '../../../worker/server/temporal.ts'

const folder = mkdtempSync(join(tmpdir(), 'pawl-temporal-'))
function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}
const target = (given: Record<string, string> = {}, env: Record<string, string> = {}) =>
  temporalTarget('t:7233', readFlags(TEMPORAL_FLAGS, given), readConfig(env))

describe('the connection to Temporal', () => {
  it('uses TLS only if a setting requests it', () => {
    expect(target()).toEqual({ address: 't:7233', namespace: 'default', tls: undefined, apiKey: undefined })
    expect(connectionOptions(target())).toEqual({ address: 't:7233' })
    expect(connectionOptions(target({ 'temporal-tls': 'yes' }))).toEqual({ address: 't:7233', tls: {} })
    expect(connectionOptions(target({}, { TEMPORAL_TLS: 'true' }))).toMatchObject({ tls: {} })
  })

  it("reads files and names from flags, or from Temporal's variables", () => {
    const [ca, cert, key] = ['ca', 'cert', 'key'].map((name) => file(name, `pem of ${name}`)) as [
      string,
      string,
      string,
    ]
    const expected = {
      address: 't:7233',
      tls: {
        serverNameOverride: 'temporal.example',
        serverRootCACertificate: Buffer.from('pem of ca'),
        clientCertPair: { crt: Buffer.from('pem of cert'), key: Buffer.from('pem of key') },
      },
    }
    const flags = { 'temporal-tls-ca': ca, 'temporal-tls-cert': cert, 'temporal-tls-key': key }
    expect(connectionOptions(target({ ...flags, 'temporal-tls-server-name': 'temporal.example' }))).toEqual(expected)
    const env = { TEMPORAL_TLS_SERVER_CA_CERT_PATH: ca, TEMPORAL_TLS_CLIENT_CERT_PATH: cert }
    const rest = { TEMPORAL_TLS_CLIENT_KEY_PATH: key, TEMPORAL_TLS_SERVER_NAME: 'temporal.example' }
    expect(connectionOptions(target({}, { ...env, ...rest }))).toEqual(expected)
    expect(target({ 'temporal-namespace': 'a.b' }, { TEMPORAL_NAMESPACE: 'c' })).toMatchObject({ namespace: 'a.b' })
  })

  it('sends an API key only over TLS', () => {
    const path = file('api-key', ' secret\n')
    expect(connectionOptions(target({ 'temporal-api-key-file': path }))).toMatchObject({ apiKey: 'secret', tls: {} })
    expect(connectionOptions(target({}, { TEMPORAL_API_KEY: 'k' }))).toMatchObject({ apiKey: 'k', tls: {} })
    expect(() => target({ 'temporal-tls': 'no', 'temporal-api-key-file': path })).toThrow(
      '--temporal-tls: found no together with an API key',
    )
  })

  it.each([
    [{ 'temporal-tls-cert': 'x' }, '--temporal-tls-key is missing; --temporal-tls-cert needs it'],
    [{ 'temporal-tls-key': 'x' }, '--temporal-tls-cert is missing; --temporal-tls-key needs it'],
    [{ 'temporal-tls': 'maybe' }, '--temporal-tls: found "maybe"; expected yes or no'],
  ])('refuses %j', (given, message) => {
    expect(() => target(given as Record<string, string>)).toThrow(message)
  })

  it('names an empty file', () => {
    const path = file('empty', '\n')
    expect(() => connectionOptions(target({ 'temporal-api-key-file': path }))).toThrow(
      `${path}: the file is empty; expected an API key of Temporal`,
    )
  })

  it('applies a changed API key, and keeps the previous one while the file is missing', async () => {
    const path = file('rotating', 'one')
    const keys: string[] = []
    const setApiKey = (key: string) => Promise.resolve(void keys.push(key))
    const stop = new AbortController()
    const options = { log: pino({ level: 'silent' }), everyMs: 5 }
    const end = refreshApiKey({ setApiKey }, target({ 'temporal-api-key-file': path }), options, stop.signal)
    await expect.poll(() => keys).toEqual(['one'])
    file('rotating', '')
    file('rotating', 'two')
    await expect.poll(() => keys).toEqual(['one', 'two'])
    stop.abort()
    await end
  })
})
