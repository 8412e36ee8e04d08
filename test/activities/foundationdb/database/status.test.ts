// The reader of `status json` against the recorded documents.

import { describe, expect, it } from 'vitest'

import { type DatabaseStatus, parseStatus } from '../../../../activities/foundationdb/database/status.ts'
import { hasRecordings, recordedStatusDocuments } from '../../../support/foundationdb/recordings.ts'

const documents = recordedStatusDocuments()

function documentAt(prefix: string): DatabaseStatus {
  const found = documents.find(({ name }) => name.replace(/^([^-/]+)[^/]*\//, '$1/').startsWith(prefix))
  if (found === undefined) throw new Error(`no recorded document ${prefix}`)
  return parseStatus(found.text)
}

describe.skipIf(!hasRecordings)('a recorded status document', () => {
  it.each([
    ['01/004', { isAvailable: false, hasQuorum: false, isUnconfigured: undefined, messages: ['quorum_not_reachable'] }],
    ['03/005', { isAvailable: false, hasQuorum: true, isUnconfigured: true, configuration: undefined }],
    ['05/005', { isAvailable: true, isHealthy: true, isUnconfigured: false, hasFullReplication: true }],
    ['07/024', { maintenanceZone: 'node-2' }],
    ['08/036', { exclusions: ['127.0.0.4'] }],
    ['08/058', { exclusions: ['locality_instance_id:storage-4'] }],
    ['11/007', { isAvailable: false, isUnconfigured: undefined, hasFullReplication: false }],
    ['13/005', { isAvailable: true, hasQuorum: true }],
    ['13/016', { hasQuorum: false }],
  ])('%s has the expected fields', (prefix, expected) => {
    expect(documentAt(prefix)).toMatchObject(expected)
  })

  it('has the processes with class, exclusion, localities and roles', () => {
    const process = documentAt('08/058').processes.find(({ locality }) => locality['instance_id'] === 'storage-4')
    expect(process).toMatchObject({
      address: '127.0.0.4:4501',
      processClass: 'storage',
      isExcluded: true,
      version: '7.1.67',
      locality: { zoneid: 'node-4' },
    })
    expect(process?.commandLine).toContain('--public_address=127.0.0.4:4501')
  })

  it('has replicas, logs and the time since the last recovery', () => {
    const { data, logs, recovery } = documentAt('05/005')
    expect(data).toMatchObject({ isHealthy: true, teams: [{ isPrimary: true, minReplicasRemaining: 2 }] })
    expect(logs).toEqual([
      { isCurrent: true, main: { faultTolerance: 1, replicationFactor: 2 }, remote: undefined, satellite: undefined },
    ])
    expect(recovery).toEqual({ name: 'fully_recovered', activeGenerations: 1, secondsSince: 35.4806 })
  })

  it('has no teams while data distribution initializes', () => {
    const initializing = documents
      .map(({ text }) => parseStatus(text).data)
      .filter(({ name }) => name === 'initializing')
    expect(initializing.length).toBeGreaterThan(10)
    expect(initializing.every(({ isHealthy, teams }) => isHealthy === undefined && teams.length === 0)).toBe(true)
  })

  it('keeps the number of its processes', () => {
    const differing = documents.filter(({ text }) => {
      const { cluster } = JSON.parse(text) as { readonly cluster?: { readonly processes?: object } }
      return parseStatus(text).processes.length !== Object.keys(cluster?.processes ?? {}).length
    })
    expect(differing).toEqual([])
  })
})

describe('the output of `status json`', () => {
  it('is read from its first brace', () => {
    const text = '\nThe database is available.\n{"client":{"database_status":{"available":true,"healthy":true}}}\n'
    expect(parseStatus(text)).toMatchObject({ isAvailable: true, processes: [] })
  })

  it('is an error without a document', () => {
    expect(() => parseStatus('ERROR')).toThrow('contains no JSON object')
  })
})
