import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

import { neededBinaries } from '../../../worker/dev/servers.ts'
import {
  dynamicConfig,
  PASSWORD_VARIABLE,
  serverConfig,
  SETTINGS,
  type TemporalPorts,
} from '../../../worker/dev/temporal-config.ts'

const PORTS: TemporalPorts = {
  temporal: 1,
  temporalHistory: 2,
  temporalMatching: 3,
  temporalInternal: 4,
  temporalFrontendRing: 5,
  temporalHistoryRing: 6,
  temporalMatchingRing: 7,
  temporalInternalRing: 8,
}

interface ServerConfig {
  readonly persistence: {
    readonly defaultStore: string
    readonly visibilityStore: string
    readonly numHistoryShards: number
    readonly datastores: Readonly<Record<string, { readonly sql: Readonly<Record<string, unknown>> }>>
  }
  readonly global: { readonly membership: object }
  readonly services: Readonly<Record<string, { readonly rpc: object }>>
  readonly publicClient: object
  readonly dynamicConfigClient: object
}

/** Reads the file as the server does: first as a template, then as YAML. */
function read(text: string, password: string): ServerConfig {
  return parse(text.replaceAll(`{{ env "${PASSWORD_VARIABLE}" | toJson }}`, JSON.stringify(password))) as ServerConfig
}

describe('the configuration of a Temporal server on PostgreSQL', () => {
  const store = { host: '127.0.0.1', port: 5432, user: 'o: "me"' }
  const text = serverConfig(store, PORTS, '/data/my "own"/settings.yaml')
  const config = read(text, 'p"w: 1')

  it('stores executions and visibility in separate databases', () => {
    const { defaultStore, visibilityStore, numHistoryShards, datastores } = config.persistence
    const place = { connectAddr: '127.0.0.1:5432', connectProtocol: 'tcp', user: store.user, password: 'p"w: 1' }
    expect(datastores[defaultStore]?.sql).toMatchObject({ ...place, databaseName: 'temporal' })
    expect(datastores[visibilityStore]?.sql).toMatchObject({ ...place, databaseName: 'temporal_visibility' })
    expect(numHistoryShards).toBe(4)
  })

  it('is a template that takes the password from the environment', () => {
    // The server looks for this mark in comments of the first kilobyte.
    expect(text.split('\n')[0]).toBe('# enable-template')
    expect(text.match(/password: .*/g)).toEqual(Array(2).fill(`password: {{ env "${PASSWORD_VARIABLE}" | toJson }}`))
  })

  it('runs all four services on their own loopback ports', () => {
    const rpc = (grpcPort: number, membershipPort: number) => ({
      rpc: { grpcPort, membershipPort, bindOnLocalHost: true },
    })
    expect(config.services).toEqual({ frontend: rpc(1, 5), history: rpc(2, 6), matching: rpc(3, 7), worker: rpc(4, 8) })
    expect(config.global.membership).toMatchObject({ broadcastAddress: '127.0.0.1' })
    expect(config.publicClient).toEqual({ hostPort: '127.0.0.1:1' })
  })

  it('contains the path of the settings file', () => {
    expect(config.dynamicConfigClient).toMatchObject({ filepath: '/data/my "own"/settings.yaml' })
  })
})

describe('the settings of a Temporal server on PostgreSQL', () => {
  it('are values without constraints, each below a comment with its reason', () => {
    const text = dynamicConfig()
    expect(parse(text)).toEqual(Object.fromEntries(SETTINGS.map(({ key, value }) => [key, [{ value }]])))
    const lines = text.split('\n')
    const reasons = SETTINGS.map(({ key }) => lines[lines.indexOf(`${key}:`) - 1])
    expect(reasons).toEqual(SETTINGS.map(({ why }) => `# ${why}`))
    expect(SETTINGS.filter(({ why }) => why.length < 20)).toEqual([])
  })
})

describe('the binaries of a set of servers', () => {
  const realServer = ['temporal-server', 'temporal-sql-tool']
  const temporal = (options: Parameters<typeof neededBinaries>[0]) =>
    neededBinaries(options).filter((name) => name.startsWith('temporal'))

  it('contain the development server of Temporal unless Temporal uses PostgreSQL', () => {
    expect(temporal({})).toEqual(['temporal'])
    expect(temporal({ temporalStore: 'sqlite' })).toEqual(['temporal'])
    expect(temporal({ temporalStore: 'postgres' })).toEqual(realServer)
  })

  it('contain no Temporal server if the user provides one', () => {
    expect(temporal({ own: { temporalAddress: 'temporal:7233' } })).toEqual([])
  })
})
